"""Ingress: takes publishes in, has each pass the barrier, appends it to `tbmq.msg.all`, and confirms it when durable.

Order is kept: releases come in the order of arrival, and one producer appends them (I3). Memory is bounded: what waits
is counted, per client and in all; a client over its share is not read from until Kafka has caught up (I1, I10).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message

from contracts.publish_record import (
    MAX_ROUTES_BYTES,
    QOS_HEADERS,
    RETAIN_HEADERS,
    MessageProperties,
    property_headers,
    routes_header,
)
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.counters import Counters
from edge.gateway.fresh_routes import FreshRoutes
from edge.mqtt.packets import Publish
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.reason_codes import ReasonCode

log = logging.getLogger(__name__)

Arrival = tuple[Connection, Publish]

_OVERHEAD = 512  # bytes that a waiting publish costs beside its payload
_CLIENT_SHARE = (
    16  # a client may hold this part of what all may hold: many slow publishers, or few quick ones
)
_STALL = 1.0  # seconds that Kafka may take nothing before QoS 0 gives way, so that clients are read (and pinged) again


class Ingress:
    """The way of a publish from a client to Kafka."""

    def __init__(
        self, topic: str, appender: Appender, fresh: FreshRoutes, counters: Counters, max_held_bytes: int
    ) -> None:
        self._topic = topic
        self._appender = appender
        self._fresh = fresh
        self._counters = counters
        self._max_held = max_held_bytes
        self._max_client = max_held_bytes // _CLIENT_SHARE
        self._held = 0
        self._paused: set[Connection] = set()
        self._ready: deque[Arrival] = deque()
        self._enter: Callable[[Arrival], None] = self._ready.append
        self._loop = asyncio.get_running_loop()
        self._progress_at = self._loop.time()

    def through(self, enter: Callable[[Arrival], None]) -> None:
        """Name the barrier's entrance; it calls `release` with what has passed."""
        self._enter = enter

    @property
    def held_bytes(self) -> int:
        """Bytes of publishes that wait for Kafka."""
        return self._held

    def submit(self, connection: Connection, packet: Publish) -> None:
        """Take a publish; it is confirmed to the connection's core once Kafka has it."""
        size = len(packet.payload) + _OVERHEAD
        if self._held + size > self._max_held or connection.held_bytes + size > self._max_client:
            if packet.qos == 0 and self._is_stalled:
                self._counters.dropped_publishes += 1
                return
            self._pause(connection)
        self._counters.publishes += 1
        self._held += size
        connection.held_bytes += size
        self._enter((connection, packet))

    def release(self, arrivals: list[Arrival]) -> None:
        """Append what has passed the barrier."""
        self._progress_at = self._loop.time()
        self._ready.extend(arrivals)
        self._append_ready()

    def _append_ready(self) -> None:
        ready = self._ready
        while ready:
            connection, packet = ready[0]
            try:
                self._append(connection, packet)
            except BufferError:
                self._appender.when_room(self._append_ready)
                return
            except KafkaException as error:
                self._refuse(connection, packet, error.args[0])
            ready.popleft()

    def _append(self, connection: Connection, packet: Publish) -> None:
        headers = [*connection.headers, QOS_HEADERS[packet.qos], RETAIN_HEADERS[packet.retain]]
        if packet.properties is not NO_PROPERTIES:
            headers += property_headers(message_properties(packet.properties))
        if hits := self._fresh.match(packet.topic):
            header = routes_header(hits)
            if len(header[1]) > MAX_ROUTES_BYTES:
                raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
            headers.append(header)
        if packet.qos:
            durable: Callable[..., None] = partial(self._durable, connection, packet)
        else:
            durable = partial(self._sent, connection, packet)
        self._appender.append(self._topic, packet.payload, packet.topic.encode(), headers, durable)

    def _durable(self, connection: Connection, packet: Publish, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._refuse(connection, packet, error)
            return
        self._counters.durable += 1
        if packet.packet_id:  # a will has none, nor anybody who waits for its confirmation
            connection.core.confirm_publish(packet.packet_id)
            connection.changed()
        self._settle(connection, packet)

    def _sent(self, connection: Connection, packet: Publish, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._counters.refused_publishes += 1
        self._settle(connection, packet)

    def _refuse(self, connection: Connection, packet: Publish, error: KafkaError) -> None:
        # Kafka will never take this record: say so, rather than acknowledge and lose it.
        log.warning("publish of %s on %r refused: %s", connection.client_id, packet.topic[:80], error)
        self._counters.refused_publishes += 1
        if packet.packet_id:
            connection.core.confirm_publish(packet.packet_id, ReasonCode.QUOTA_EXCEEDED)
            connection.react()
        self._settle(connection, packet)

    def _settle(self, connection: Connection, packet: Publish) -> None:
        size = len(packet.payload) + _OVERHEAD
        self._progress_at = self._loop.time()
        self._held -= size
        connection.held_bytes -= size
        if self._paused and self._held < self._max_held // 2:
            for paused in [c for c in self._paused if c.held_bytes <= self._max_client // 2]:
                self._paused.discard(paused)
                paused.resume_reading()

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
        published_at_ms=None if expiry is None else time.time_ns() // 1_000_000,
        payload_format=properties.payload_format_indicator,
        content_type=properties.content_type,
        response_topic=properties.response_topic,
        correlation_data=properties.correlation_data,
        user_properties=properties.user_properties,
    )
