"""Publishers and subscribers of a run: each a roamer with something to do."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping

from admin.demo.client import Client, ConnectionLostError
from bench.chaos.plan import Options, PublisherPlan, SubscriberPlan
from bench.chaos.roamer import Habits, Roamer, Run
from bench.chaos.verdict import Arrival, Stretch
from edge.mqtt.packets import Publish, Subscription
from edge.mqtt.reason_codes import ReasonCode

_PADDING = b" " + b"x" * 64
_TAKEN = (
    ReasonCode.SUCCESS,
    ReasonCode.NO_MATCHING_SUBSCRIBERS,
    # The answer to a PUBREL that is sent again after its PUBCOMP was lost: no error during recovery (section 3.7.2.1).
    ReasonCode.PACKET_IDENTIFIER_NOT_FOUND,
)
"""What a broker answers that has the message."""
_PUBLISHERS = Habits(stay=(10.0, 60.0), away=(0.0, 1.0))
_SUBSCRIBERS = Habits(stay=(2.0, 20.0), away=(0.0, 8.0))


class Publisher:
    """Publishes numbers, each topic's in order; what is not acknowledged goes out again on its next connection."""

    def __init__(
        self,
        run: Run,
        plan: PublisherPlan,
        published: dict[str, int],
        options: Options,
        choice: random.Random,
    ) -> None:
        """Make one; it counts its messages in `published`, by topic."""
        self.plan = plan
        self.refused = 0
        """Messages that were acknowledged with a reason code that says no."""
        self.roamer = Roamer(run, plan.name, plan.version, choice, is_persistent=True, habits=_PUBLISHERS)
        self._run = run
        self._published = published
        self._options = options
        self._under_way: set[asyncio.Future[int]] = set()
        self._stopping = asyncio.Event()

    @property
    def under_way(self) -> int:
        """Messages that wait for their acknowledgement."""
        return len(self._under_way)

    async def publish(self) -> None:
        """Publish at the rate, on one topic after the other, until told to stop."""
        turn = 0
        while not self._stopping.is_set():
            await self.roamer.is_in.wait()
            if len(self._under_way) < self._options.window:
                topic, qos = self.plan.topics[turn % len(self.plan.topics)]
                turn += self.publish_next(topic, qos)
            try:  # The wait is the pace.
                await asyncio.wait_for(self._stopping.wait(), 1.0 / self._options.rate)
            except TimeoutError:
                pass

    def publish_next(self, topic: str, qos: int) -> bool:
        """Publish a topic's next number; False when there is no connection."""
        client = self.roamer.client
        if client is None:
            return False
        number = self._published[topic]
        try:
            done = client.publish(topic, b"%d" % number + _PADDING, qos)
        except ConnectionLostError:
            return False
        self._published[topic] = number + 1
        self._under_way.add(done)
        done.add_done_callback(self._completed)
        return True

    def stop(self) -> None:
        """Publish nothing more."""
        self._stopping.set()

    def _completed(self, done: asyncio.Future[int]) -> None:
        self._run.moves += 1
        self._under_way.discard(done)
        if done.cancelled() or done.exception() or done.result() not in _TAKEN:
            self.refused += 1


class Subscriber:
    """Notes all that comes."""

    def __init__(
        self, run: Run, plan: SubscriberPlan, published: Mapping[str, int], topics: Mapping[str, int],
        choice: random.Random,
    ) -> None:  # fmt: skip
        """Make one; `published` is how many numbers of each topic there are, which grows."""
        self.plan = plan
        self.wanted = plan.wanted(topics)
        self.stretches: list[Stretch] = []
        self.roamer = Roamer(
            run, plan.name, plan.version, choice, is_persistent=plan.is_persistent, habits=_SUBSCRIBERS
        )
        self.roamer.on_message = self._take
        self.roamer.on_arrival = self._subscribe
        self._run = run
        self._published = published
        self._highest = dict.fromkeys(self.wanted, -1)

    @property
    def is_complete(self) -> bool:
        """Whether the last number of each topic has come to the present connection's stretch.

        Numbers come in order; those that are missing below it do not come any more, and the verdict will name them.
        """
        return self.roamer.is_in.is_set() and all(
            self._highest[topic] >= self._published[topic] - 1
            for topic in self.wanted
            if self.stretches[-1].begins[topic] < self._published[topic]
        )

    async def _subscribe(self, client: Client, session_present: bool) -> None:
        if self.plan.is_persistent and self.stretches and session_present:
            return
        if not self.plan.is_persistent or not self.stretches:
            self.stretches.append(Stretch({}))
            self._highest = dict.fromkeys(self.wanted, -1)
        stretch = self.stretches[-1]
        granted = await client.subscribe(Subscription(self.plan.filter, self.plan.qos))
        if granted != (self.plan.qos,):
            raise ConnectionLostError(f"{self.plan.name} was granted {granted}.")
        if not stretch.begins:
            # What is published from now on must come. What was sent before and is not there yet may.
            stretch.begins = {topic: self._published[topic] for topic in self.wanted}

    def _take(self, message: Publish) -> None:
        text = message.payload.partition(b" ")[0]
        number = int(text) if text.isdigit() and message.payload[len(text) :] == _PADDING else -1
        topic = message.topic
        if number > self._highest.get(topic, number):
            self._highest[topic] = number
        self.stretches[-1].arrivals.append(
            Arrival(topic, number, message.qos, message.dup, self._run.now(), self.roamer.attempts)
        )
