"""The replay: devices on one gateway, nine subscribers on another, travellers, and every arrival noted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from admin.demo.client import Client
from admin.demo.readings import TOPICS, Reading
from admin.demo.traveller import Milestones, Stage, Traveller
from admin.demo.verdict import Arrival, Sent, Verdict, judge
from admin.stack.gateway import MqttAddress
from contracts.topics import matches
from edge.mqtt.packets import Connect, Publish, Subscription
from edge.mqtt.protocol import ProtocolVersion

FILTERS = (TOPICS[0], "weather/+/temperature", "weather/#")
"""One of each kind: exact, `+` and `#`. They share no client, so nothing here depends on overlapping filters."""
QOS = 2
"""Of the devices: then each subscriber's own QoS is the one that its messages must have."""
PATIENCE = 60.0
"""Seconds without any arrival after which what is missing counts as lost; a restart of the router takes 20."""

_END = b"end of the replay"

_EVERYTHING = FILTERS[-1]

Progress = Callable[[int, int, int], None]
"""Told now and then: messages published, messages acknowledged, deliveries."""


@dataclass
class Subscriber:
    """A subscriber and what it has got so far."""

    filter: str
    qos: int
    client: Client | None = None
    arrivals: list[Arrival] = field(default_factory=list)
    open_topics: set[str] = field(default_factory=set)
    """Those whose end has not come yet."""
    complete: asyncio.Event = field(default_factory=asyncio.Event)
    last_at: float = 0.0
    note: str = ""

    def take(self, message: Publish) -> None:
        """Note an arrival."""
        self.last_at = time.perf_counter()
        if message.payload == _END:
            self.open_topics.discard(message.topic)
            if not self.open_topics:
                self.complete.set()
            return
        self.arrivals.append(Arrival(message.topic, message.payload, message.qos, self.last_at))


@dataclass(frozen=True)
class Journey:
    """What a traveller does: a subscriber to everything at QoS 2, whose session outlives its connections."""

    name: str
    """Its client id, which may make it an APPLICATION."""
    start: MqttAddress
    stages: Sequence[Stage]
    tell: Callable[[str], None] = lambda _what: None


@dataclass(frozen=True)
class Outcome:
    """What the replay came to."""

    verdicts: list[Verdict]
    """One a subscriber, by filter and QoS."""
    published: int
    acknowledged: int
    """So many of them did the gateway acknowledge."""
    seconds: float
    """From the first message to the last arrival."""

    @property
    def holds(self) -> bool:
        """Whether every message was acknowledged, and every delivery is as it must be."""
        return self.acknowledged == self.published and all(verdict.holds for verdict in self.verdicts)

    @property
    def deliveries(self) -> int:
        """Over all subscribers."""
        return sum(verdict.delivered for verdict in self.verdicts)


async def replay(
    readings: Sequence[Reading],
    rate: float,
    publish_at: MqttAddress,
    subscribe_at: MqttAddress,
    progress: Progress = lambda _published, _acknowledged, _delivered: None,
    journeys: Sequence[Journey] = (),
    patience: float = PATIENCE,
) -> Outcome:
    """Publish all readings, so many a second, and wait until every subscriber has got the end of every topic.

    Each topic's last message is a mark; what the broker would deliver a second time or too late stands before it, since
    a topic's order is kept. So nothing is waited for by the clock but what never comes.

    Raises:
        ConnectionLostError: A gateway ended a connection other than a traveller's.
        OSError: A gateway can't be reached.
    """
    subscribers = [Subscriber(filter, qos) for filter in FILTERS for qos in (0, 1, 2)]
    milestones = Milestones()
    began_at = time.perf_counter()
    clients: list[Client] = []
    travellers: list[Traveller] = []
    travelling: list[asyncio.Task[None]] = []
    try:
        clients += [await _subscribe(subscriber, subscribe_at) for subscriber in subscribers]
        for journey in journeys:
            subscriber = Subscriber(_EVERYTHING, 2, open_topics=set(TOPICS), note=f"({journey.name})")
            subscribers.append(subscriber)
            traveller = Traveller(journey.name, _EVERYTHING, 2, subscriber.take)
            travellers.append(traveller)
            await traveller.begin(journey.start)
            travelling.append(asyncio.create_task(traveller.travel(journey.stages, milestones, journey.tell)))
        devices = {topic: await _connect(topic.split("/")[1], publish_at) for topic in TOPICS}
        clients += devices.values()

        def told(published: int, acknowledged: int, delivered: int) -> None:
            milestones.tell(published)
            progress(published, acknowledged, delivered)

        sent, acknowledgements = await _publish(readings, rate, devices, subscribers, told)
        milestones.tell(len(sent))
        await _wait_for_ends(subscribers, acknowledgements, patience)
    finally:
        for task in travelling:
            task.cancel()
        await asyncio.gather(*travelling, return_exceptions=True)
        clients += [traveller.client for traveller in travellers if traveller.client]
        for client in clients:
            client.drop()
    done = [future for future in acknowledgements if future.done() and not future.exception()]
    acknowledged = sum(not future.result() for future in done)
    progress(len(sent), acknowledged, _delivered(subscribers))
    last_at = max((subscriber.last_at for subscriber in subscribers), default=began_at)
    verdicts = [
        replace(judge(each.filter, each.qos, sent, each.arrivals), note=each.note) for each in subscribers
    ]
    return Outcome(verdicts, len(sent), acknowledged, last_at - (sent[0].at if sent else began_at))


def deliveries_of(readings: Sequence[Reading], travellers: int = 0) -> int:
    """How many deliveries these readings make, over all subscribers."""
    at_home = sum(3 for reading in readings for filter in FILTERS if matches(filter, reading.topic))
    return at_home + travellers * len(readings)


async def _connect(
    name: str, address: MqttAddress, on_message: Callable[[Publish], None] = lambda _message: None
) -> Client:
    packet = Connect(f"demo-{name}", ProtocolVersion.V5)
    return await Client.connect(address.host, address.port, packet, on_message)


async def _subscribe(subscriber: Subscriber, address: MqttAddress) -> Client:
    kind = "".join(c if c.isalnum() else {"+": "plus", "#": "all"}.get(c, "-") for c in subscriber.filter)
    subscriber.open_topics = {topic for topic in TOPICS if matches(subscriber.filter, topic)}
    client = await _connect(f"{kind}-{subscriber.qos}", address, subscriber.take)
    await client.subscribe(Subscription(subscriber.filter, subscriber.qos))
    return client


async def _publish(
    readings: Sequence[Reading],
    rate: float,
    devices: dict[str, Client],
    subscribers: Sequence[Subscriber],
    progress: Progress,
) -> tuple[list[Sent], list[asyncio.Future[int]]]:
    sent: list[Sent] = []
    acknowledgements: list[asyncio.Future[int]] = []
    began_at = told_at = time.perf_counter()
    for number, reading in enumerate(readings):
        wait = began_at + number / rate - time.perf_counter()
        # Sleeping is the pace; a message that is due already still lets arrivals in.
        await asyncio.sleep(max(0.0, wait))
        now = time.perf_counter()
        sent.append(Sent(reading.topic, reading.payload, now))
        acknowledgements.append(devices[reading.topic].publish(reading.topic, reading.payload, QOS))
        if now - told_at >= 0.1:
            told_at = now
            progress(len(sent), sum(map(asyncio.Future.done, acknowledgements)), _delivered(subscribers))
    for topic, device in devices.items():
        device.publish(topic, _END, QOS)
    return sent, acknowledgements


def _delivered(subscribers: Sequence[Subscriber]) -> int:
    return sum(len(subscriber.arrivals) for subscriber in subscribers)


async def _wait_for_ends(
    subscribers: Sequence[Subscriber], acknowledgements: Sequence[asyncio.Future[int]], patience: float
) -> None:
    ends = {asyncio.ensure_future(each.complete.wait()) for each in subscribers}
    waiting: set[asyncio.Future[Any]] = {*ends, *acknowledgements}
    before, now = None, (len(waiting), _delivered(subscribers))
    while waiting and before != now:
        _, waiting = await asyncio.wait(waiting, timeout=patience)
        before, now = now, (len(waiting), _delivered(subscribers))
    for end in ends:
        end.cancel()
