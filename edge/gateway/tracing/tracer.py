"""Sees what the gateway does with messages while a trace is on, and tells the steps of those that are traced.

It stands where messages pass (`Ingress`, `Fanout`, the tail, each `Connection`) as long as a trace is on; otherwise its
place there is None. A step is told once, with all traces that want it. No payload is looked at.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError
from confluent_kafka import Message as KafkaMessage

from contracts import headers as h
from contracts.errors import RecordError
from contracts.persisted_record import Message
from contracts.routed_record import Route, decode_route
from contracts.trace_record import TraceSwitch
from edge.gateway.kafka_clients import place_of, record_headers
from edge.mqtt.events import DeliveryCompleted, DeliveryOutcome
from edge.mqtt.message import OutgoingMessage

if TYPE_CHECKING:
    from edge.gateway.connection import Connection
    from edge.gateway.ingress import Held
    from edge.mqtt.packets import Publish

MOST_STEPS = 1_000
"""Told in a second; what is above that is only counted, so that a trace of everything floods nobody."""
_MOST_UNDER_WAY = 10_000
"""Messages whose next step is waited for; the oldest are forgotten."""

Tell = Callable[[dict[str, Any]], None]
Key = tuple[int, int]


class Tracer:
    """One for all traces that are on; used in the event loop alone."""

    def __init__(self, node: str, publishes: str, tell: Tell, clock: Callable[[], float] = time.time) -> None:
        """Prepare.

        Args:
            node: This gateway.
            publishes: The Kafka topic of all messages.
            tell: Takes each step.
            clock: Seconds since 1970.
        """
        self.switches: Collection[TraceSwitch] = ()
        """The traces that are on."""
        self._node, self._publishes = node, publishes
        self._tell, self._clock = tell, clock
        self._number = 0
        self._publishing: OrderedDict[int, tuple[Held, str]] = OrderedDict()
        self._sent: OrderedDict[Key, tuple[object, dict[str, Any]]] = OrderedDict()
        self._routed: tuple[KafkaMessage, Route, str] | None = None
        self._is_routed_told = False
        self._second, self._told, self._left_out = 0, 0, 0

    # a publish

    def received(self, held: Held) -> None:
        """A PUBLISH was taken."""
        packet, client_id = held.packet, held.connection.client_id
        if not (wanted := self._wanted(client_id, packet.topic)):
            return
        self._number += 1
        publish = f"{self._node}-{self._number}"
        _remember(self._publishing, id(held), (held, publish))
        self._step(
            "received", wanted, publish=publish, client=client_id, topic=packet.topic, qos=packet.qos,
            packet_id=packet.packet_id or None, bytes=len(packet.payload),
        )  # fmt: skip

    def appended(self, held: Held, error: KafkaError | None, message: KafkaMessage) -> None:
        """Kafka has it, or refuses it."""
        if (found := self._publishing.pop(id(held), None)) is None:
            return
        packet, client_id = held.packet, held.connection.client_id
        wanted, more = self._wanted(client_id, packet.topic), {"client": client_id, "topic": packet.topic}
        if error is not None:
            self._step("refused", wanted, publish=found[1], reason=error.str(), **more)
            return
        partition, offset = place_of(message)
        place = f"{partition}:{offset}" if message.topic() == self._publishes else None
        self._step(
            "appended", wanted, publish=found[1], message=place, qos=packet.qos, kafka=_kafka(message), **more
        )

    def turned_away(self, connection: Connection, packet: Publish, reason: str) -> None:
        """A PUBLISH goes nowhere, by this gateway's word."""
        if wanted := self._wanted(connection.client_id, packet.topic):
            self._step(
                "refused", wanted, client=connection.client_id, topic=packet.topic, qos=packet.qos,
                packet_id=packet.packet_id or None, reason=reason,
            )  # fmt: skip

    # a delivery by this node's downlink

    def taking(self, message: KafkaMessage) -> None:
        """A record of the downlink is about to be delivered."""
        self._routed, self._is_routed_told = None, False
        headers = record_headers(message)
        try:
            route = decode_route(headers)
        except RecordError:
            return
        publisher = h.first(headers, h.CLIENT_ID) or b""
        self._routed = message, route, publisher.decode(errors="replace")
        if wanted := self._wanted(self._routed[2], route.topic):
            self._tell_routed(wanted)

    def delivered(
        self, connection: Connection, outgoing: OutgoingMessage, qos: int, outcome: DeliveryOutcome
    ) -> None:
        """It was given to a client, or not."""
        if self._routed is None:
            return
        _, route, publisher = self._routed
        wanted = self._wanted(publisher, route.topic, connection.client_id)
        if not wanted:
            return
        if not self._is_routed_told:
            self._tell_routed(wanted)
        place = f"{route.partition}:{route.offset}"
        self._delivery(connection, id(outgoing), outgoing, wanted, outcome, place, route.topic, qos)

    def passed_over(self, connection: Connection, reason: str) -> None:
        """A client does not get it, for a reason of this gateway's."""
        if self._routed is None:
            return
        _, route, publisher = self._routed
        if wanted := self._wanted(publisher, route.topic, connection.client_id):
            self._step(
                "dropped", wanted, message=f"{route.partition}:{route.offset}", topic=route.topic,
                client=connection.client_id, qos=0, reason=reason,
            )  # fmt: skip

    def _tell_routed(self, wanted: list[str]) -> None:
        if self._routed is None:
            return
        message, route, _ = self._routed
        self._is_routed_told = True
        self._step(
            "routed", wanted, message=f"{route.partition}:{route.offset}", topic=route.topic, filter=route.filter,
            kafka=_kafka(message),
        )  # fmt: skip

    # a delivery by a client's log

    def kept(self, message: KafkaMessage, client_id: str) -> None:
        """A record stands in the log of a client that is connected here; it can be read."""
        headers = record_headers(message)
        route, publisher = decode_route(headers), h.first(headers, h.CLIENT_ID) or b""
        if wanted := self._wanted(publisher.decode(errors="replace"), route.topic, client_id):
            self._step(
                "routed", wanted, message=f"{route.partition}:{route.offset}", topic=route.topic,
                filter=route.filter, client=client_id, kafka=_kafka(message),
            )  # fmt: skip

    def sent(self, connection: Connection, message: Message, outcome: DeliveryOutcome, dup: bool) -> None:
        """It was sent to its client, or cannot be."""
        publisher = (h.first(message.headers, h.CLIENT_ID) or b"").decode(errors="replace")
        wanted = self._wanted(publisher, message.topic, connection.client_id)
        if wanted:
            place = f"{message.source_partition}:{message.source_offset}"
            key = message.offset
            self._delivery(connection, key, None, wanted, outcome, place, message.topic, None, dup or None)

    def completed(self, connection: Connection, event: DeliveryCompleted) -> None:
        """A client has acknowledged a delivery at QoS 1 or 2, or refused it."""
        tag = event.message.tag
        key = (id(connection), tag if isinstance(tag, int) else id(event.message))
        if (found := self._sent.pop(key, None)) is not None:
            reason = f"0x{event.reason_code:02x}" if event.reason_code >= 0x80 else None
            traces = found[1].pop("traces")
            self._step("acknowledged", traces, packet_id=event.packet_id, reason=reason, **found[1])

    def _delivery(
        self, connection: Connection, key: int, keep: object, wanted: list[str], outcome: DeliveryOutcome,
        place: str, topic: str, qos: int | None, dup: bool | None = None,
    ) -> None:  # fmt: skip
        about = {"message": place, "topic": topic, "client": connection.client_id, "qos": qos}
        if outcome is DeliveryOutcome.SENT or outcome is DeliveryOutcome.QUEUED:
            step = "sent" if outcome is DeliveryOutcome.SENT else "queued"
            self._step(step, wanted, dup=dup, **about)
            if qos != 0:  # the objects are kept, so that none of their ids is another's meanwhile
                _remember(
                    self._sent, (id(connection), key), ((connection, keep), {"traces": wanted, **about})
                )
        else:
            self._step("dropped", wanted, reason=outcome.name.lower().removeprefix("dropped_"), **about)

    # what is told

    def _wanted(self, publisher: str, topic: str, receiver: str | None = None) -> list[str]:
        """The traces that want a message."""
        return [
            switch.trace
            for switch in self.switches
            if switch.wants(publisher, topic) or (receiver is not None and switch.client_id == receiver)
        ]

    def _step(self, step: str, traces: list[str], **about: Any) -> None:
        now = self._clock()
        if int(now) != self._second:
            self._second, self._told = int(now), 0
        if self._told >= MOST_STEPS:
            self._left_out += 1
            return
        self._told += 1
        told = {"step": step, "node": self._node, "at_ms": round(now * 1_000, 3), "traces": traces, **about}
        if self._left_out:
            told["left_out"], self._left_out = self._left_out, 0
        self._tell(told)


def _kafka(message: KafkaMessage) -> Mapping[str, Any]:
    partition, offset = place_of(message)
    at_ms: Any = message.timestamp()[1]
    return {"topic": message.topic(), "partition": partition, "offset": offset, "at_ms": at_ms}


def _remember(waiting: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    waiting[key] = value
    if len(waiting) > _MOST_UNDER_WAY:
        waiting.popitem(last=False)
