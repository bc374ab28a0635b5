"""Ingress: takes publishes in, has each pass the barrier, appends it to `tbmq.msg.all`, and confirms it when durable.

What is to be retained goes on to `tbmq.msg.retained` then, and is confirmed when it is durable there too (I9).
Order is kept: releases come in the order of arrival, and one producer appends them (I3). Memory is bounded: what waits
is counted, per client and in all; a client over its share is not read from until Kafka has caught up (I1, I10).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message

from contracts.headers import Headers
from contracts.publish_record import (
    MAX_ROUTES_BYTES,
    QOS_HEADERS,
    RETAIN_HEADERS,
    MessageProperties,
    packet_id_header,
    property_headers,
)
from contracts.wall_clock import epoch_ms
from contracts.will_record import will_header
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.fresh_routes import FreshRoutes
from edge.gateway.kafka_clients import place_of
from edge.gateway.retained.writing import RetainedWriter
from edge.gateway.tracing.tracer import Tracer
from edge.mqtt.packets import Publish
from edge.mqtt.payload_format import is_as_indicated
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode

log = logging.getLogger(__name__)

_OVERHEAD = 512  # bytes that a waiting publish costs beside its payload
_CLIENT_SHARE = (
    16  # a client may hold this part of what all may hold: many slow publishers, or few quick ones
)
_STALL = 1.0  # seconds that Kafka may take nothing before QoS 0 gives way, so that clients are read (and pinged) again


class Detour(NamedTuple):
    """Where a publish goes instead of `tbmq.msg.all`."""

    topic: str
    partition: int
    key: bytes
    header: tuple[str, bytes]
    """Added to its headers."""
    done: Callable[[Message | None], None]
    """Called when Kafka has it, with what it has; with None when it never will."""


class Held:
    """A publish between its client and Kafka."""

    __slots__ = ("connection", "detour", "is_settled", "packet", "refusal", "retained", "size")

    def __init__(self, connection: Connection, packet: Publish, detour: Detour | None = None) -> None:
        self.connection = connection
        self.packet = packet
        self.detour = detour
        self.size = len(packet.payload) + _OVERHEAD
        self.is_settled = False
        self.refusal: ReasonCode | None = None
        self.retained: Headers | None = None
        """Of a publish that is to be retained: the headers of that record."""


class Ingress:
    """The way of a publish from a client to Kafka."""

    def __init__(
        self, topic: str, appender: Appender, fresh: FreshRoutes, counters: Counters, max_held_bytes: int,
        *, check_payload_format: bool = False,
    ) -> None:  # fmt: skip
        """Args: `check_payload_format` has messages refused that say that they are UTF-8 text, and are not."""
        self._topic = topic
        self._appender = appender
        self._append_record = appender.append
        self._fresh = fresh
        self._counters = counters
        self._max_held = max_held_bytes
        self._checks_format = check_payload_format
        self._max_client = max_held_bytes // _CLIENT_SHARE
        self._held = 0
        self._paused: set[Connection] = set()
        self._ready: deque[Held] = deque()
        self._is_full = False
        self._enter: Callable[[Held], None] = self._ready.append
        self._loop = asyncio.get_running_loop()
        self._progress_at = self._loop.time()
        self.confirmed: Callable[[Connection, int], None] = lambda *_: None
        """Told, with the packet id, of each QoS 2 message of a kept session that Kafka has."""
        self.retaining: RetainedWriter | None = None
        """Where what is to be retained goes."""
        self.tracer: Tracer | None = None
        """There while a trace is on."""

    def through(self, enter: Callable[[Held], None]) -> None:
        """Name the barrier's entrance; it calls `release` with what has passed."""
        self._enter = enter

    @property
    def held_bytes(self) -> int:
        """Bytes of publishes that wait for Kafka."""
        return self._held

    def submit(self, connection: Connection, packet: Publish, detour: Detour | None = None) -> None:
        """Take a publish; it is confirmed to the connection's core once Kafka has it."""
        held = Held(connection, packet, detour)
        if self._checks_format and not is_as_indicated(packet):
            self._counters.refused_publishes += 1  # its publisher is told, but at QoS 0 (section 3.3.2.3.2)
            self.turn_away(connection, packet, ReasonCode.PAYLOAD_FORMAT_INVALID)
            return
        size = held.size
        if self._held + size > self._max_held or connection.held_bytes + size > self._max_client:
            if packet.qos == 0 and self._is_stalled:
                self._counters.dropped_publishes += 1
                if self.tracer is not None:
                    self.tracer.turned_away(connection, packet, "Kafka stalls")
                if detour is not None:
                    detour.done(None)
                return
            self._pause(connection)
        self._counters.publishes += 1
        self._held += size
        connection.held_bytes += size
        if packet.packet_id:  # a will has none, nor anybody who waits for its confirmation
            connection.unconfirmed.append(held)
        if self.tracer is not None:
            self.tracer.received(held)
        self._enter(held)

    def turn_away(self, connection: Connection, packet: Publish, reason: ReasonCode) -> None:
        """Take a publish that goes nowhere; its acknowledgement, when it is its turn, says why.

        MQTT 3.x has no word for it: there it is acknowledged as if it had gone on [MQTT-3.3.5-2] of 3.1.1, rather than
        the connection ended, which the client would only open again to send the same.
        """
        if self.tracer is not None:
            self.tracer.turned_away(connection, packet, reason.name.lower())
        if packet.packet_id:
            held = Held(connection, packet)
            held.is_settled = True
            held.refusal = reason if connection.core.version is ProtocolVersion.V5 else None
            connection.unconfirmed.append(held)
            self._confirm(connection)

    def release(self, held: list[Held]) -> None:
        """Append what has passed the barrier."""
        self._progress_at = self._loop.time()
        self._ready.extend(held)
        if not self._is_full:
            self._append_ready()

    def _append_ready(self) -> None:
        ready = self._ready
        self._is_full = False
        while ready:
            held = ready[0]
            is_will = held.packet is held.connection.will
            if held.connection.is_given_up and (held.packet.packet_id or is_will):
                ready.popleft()  # The client sends it again, wherever it is now; here it might come twice (I5).
                held.connection.is_will_left |= is_will  # … and the owner publishes it (I8)
                self._settle(held)
                continue
            try:
                self._append(held)
            except BufferError:
                self._is_full = True
                self._appender.when_room(self._append_ready)
                return
            except KafkaException as error:
                self._refuse(held, error.args[0])
                self._settle(held)
            ready.popleft()

    def _append(self, held: Held) -> None:
        packet = held.packet
        headers = [*held.connection.headers, QOS_HEADERS[packet.qos], RETAIN_HEADERS[packet.retain]]
        if packet.properties is not NO_PROPERTIES:
            headers += property_headers(message_properties(packet.properties))
        if (
            packet.retain and held.detour is None and self.retaining is not None
        ):  # [MQTT-3.3.1-5], and without it not [MQTT-3.3.1-8]
            held.retained = [*headers, self.retaining.read_header()]
        if packet.qos == 2 and held.connection.is_kept:
            headers.append(packet_id_header(packet.packet_id))
        if packet is held.connection.will and held.connection.seat is not None:
            headers.append(will_header(held.connection.seat.id))
        if (detour := held.detour) is not None:
            headers.append(detour.header)
            self._append_record(
                detour.topic,
                packet.payload,
                detour.key,
                headers,
                partial(self._durable, held),
                detour.partition,
            )
            return
        if header := self._fresh.header(packet.topic, packet.qos):
            if len(header[1]) > MAX_ROUTES_BYTES:
                raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
            headers.append(header)
        self._append_record(
            self._topic, packet.payload, packet.topic.encode(), headers, partial(self._durable, held)
        )

    def _durable(self, held: Held, error: KafkaError | None, message: Message) -> None:
        if self.tracer is not None:
            self.tracer.appended(held, error, message)
        if error is None and held.detour is not None:
            held.detour.done(message)
        if error is None and held.retained is not None and self.retaining is not None:
            packet = held.packet  # Where it stands, is known only now.
            self.retaining.append(
                packet.topic, packet.payload, held.retained, *place_of(message), partial(self._finish, held)
            )
        else:
            self._finish(held, error)

    def _finish(self, held: Held, error: KafkaError | None) -> None:
        if error is not None:
            self._refuse(held, error)
        elif held.packet.qos:
            self._counters.durable += 1
            if held.packet.qos == 2 and held.connection.is_kept:
                self.confirmed(held.connection, held.packet.packet_id)
        self._settle(held)

    def _refuse(self, held: Held, error: KafkaError) -> None:
        # Kafka will never take this record: say so, rather than acknowledge and lose it.
        log.warning(
            "publish of %s on %r refused: %s", held.connection.client_id, held.packet.topic[:80], error,
            extra={"client": held.connection.client_id, "topic": held.packet.topic},
        )  # fmt: skip
        self._counters.refused_publishes += 1
        held.refusal = ReasonCode.QUOTA_EXCEEDED
        if held.detour is not None:
            held.detour.done(None)

    def _settle(self, held: Held) -> None:
        connection, size = held.connection, held.size
        held.is_settled = True
        self._progress_at = self._loop.time()
        self._held -= size
        connection.held_bytes -= size
        if connection.settled is not None and not connection.held_bytes:
            connection.settled()
        if self._paused and self._held < self._max_held // 2:
            for paused in [c for c in self._paused if c.held_bytes <= self._max_client // 2]:
                self._paused.discard(paused)
                paused.resume_reading()
        if held.packet.packet_id:
            self._confirm(connection)

    def _confirm(self, connection: Connection) -> None:
        # Partitions settle in any order; the acknowledgements go out in that of the publishes
        # [MQTT-4.6.0-2], [MQTT-4.6.0-3].
        unconfirmed = connection.unconfirmed
        while unconfirmed and unconfirmed[0].is_settled:
            held = unconfirmed.popleft()
            if held.refusal is None:
                connection.core.confirm_publish(held.packet.packet_id)
            else:
                connection.core.confirm_publish(held.packet.packet_id, held.refusal)
                connection.react()
        connection.changed()

    @property
    def _is_stalled(self) -> bool:
        return self._loop.time() - self._progress_at > _STALL

    def _pause(self, connection: Connection) -> None:
        if connection not in self._paused:
            connection.pause_reading()
            self._paused.add(connection)
            self._loop.call_later(_STALL, self._read_on, connection)

    def _read_on(self, connection: Connection) -> None:
        # Kafka stalls. A client must be read to be pinged, so it is read on; what it sends at QoS 0 meanwhile is
        # dropped, and what it sends at QoS 1 and 2 may at most double what is held.
        if connection in self._paused:
            if (
                self._is_stalled
                and connection.held_bytes < 2 * self._max_client
                and self._held < 2 * self._max_held
            ):
                self._paused.discard(connection)
                connection.resume_reading()
            else:
                self._loop.call_later(_STALL, self._read_on, connection)


def message_properties(properties: Properties) -> MessageProperties:
    """The part of a PUBLISH's properties that is forwarded, as the record holds it."""
    expiry = properties.message_expiry_interval
    return MessageProperties(
        message_expiry=expiry,
        published_at_ms=None if expiry is None else epoch_ms(),
        payload_format=properties.payload_format_indicator,
        content_type=properties.content_type,
        response_topic=properties.response_topic,
        correlation_data=properties.correlation_data,
        user_properties=properties.user_properties,
    )
