"""Subscribing: SUBSCRIBE and UNSUBSCRIBE, from the client to `tbmq.client.subscriptions` and back.

A filter is served locally as soon as it is asked for, and acknowledged only once Kafka has its record: from then on
every gateway's barrier sees it (I2).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from confluent_kafka import KafkaError, Message

from contracts import subscription_record
from contracts.kafka_topics import subscription_partition
from contracts.subscription_record import SubscriptionRecord
from contracts.topics import SHARE_PREFIX
from edge.gateway.appender import Appender
from edge.gateway.connection import Connection
from edge.gateway.local_subscriptions import LocalSubscriptions, Subscription
from edge.gateway.source_marks import SourceMarks
from edge.mqtt import packets
from edge.mqtt.events import SubscribeReceived, UnsubscribeReceived
from edge.mqtt.reason_codes import ReasonCode

log = logging.getLogger(__name__)


class _Acknowledgement:
    """Waits for all records of one packet, then confirms it."""

    __slots__ = ("confirm", "left", "reasons")

    def __init__(self, reasons: list[int], confirm: Callable[[list[int]], None]) -> None:
        self.reasons = reasons
        self.confirm = confirm
        self.left = 1

    def expect(self, position: int) -> Callable[[KafkaError | None, Message], None]:
        """The callback for the record that stands behind this position's reason code."""
        self.left += 1

        def durable(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                self.reasons[position] = ReasonCode.UNSPECIFIED_ERROR
            self.done()

        return durable

    def done(self) -> None:
        """One less to wait for."""
        self.left -= 1
        if not self.left:
            self.confirm(self.reasons)


class Subscribing:
    """Keeps the local subscriptions and their records in Kafka in step."""

    def __init__(
        self, topic: str, partitions: int, node: str, appender: Appender, marks: SourceMarks,
        local: LocalSubscriptions[Connection],
    ) -> None:  # fmt: skip
        self._topic, self._partitions, self._node = topic, partitions, node
        self._appender = appender
        self._marks = marks
        self._local = local

    def subscribe(self, connection: Connection, event: SubscribeReceived) -> None:
        """Serve each filter, and confirm the packet when all their records are durable."""
        packet = event.packet

        def confirm(reasons: list[int]) -> None:
            connection.core.confirm_subscribe(packet.packet_id, reasons)
            connection.changed()

        granted: list[int] = [wanted.qos for wanted in packet.subscriptions]
        waiting = _Acknowledgement(granted, confirm)
        identifiers = packet.properties.subscription_identifiers
        for position, wanted in enumerate(packet.subscriptions):
            if wanted.filter.startswith(SHARE_PREFIX):
                granted[position] = ReasonCode.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED
                continue
            self._add(connection, wanted, identifiers[0] if identifiers else None, waiting.expect(position))
        waiting.done()

    def unsubscribe(self, connection: Connection, event: UnsubscribeReceived) -> None:
        """Stop serving each filter, and confirm the packet when all their tombstones are durable."""
        packet = event.packet

        def confirm(reasons: list[int]) -> None:
            connection.core.confirm_unsubscribe(packet.packet_id, reasons)
            connection.changed()

        reasons: list[int] = [ReasonCode.SUCCESS] * len(packet.filters)
        waiting = _Acknowledgement(reasons, confirm)
        for position, filter in enumerate(packet.filters):
            if not self._local.holds(connection, filter):
                reasons[position] = ReasonCode.NO_SUBSCRIPTION_EXISTED
                continue
            if self._local.remove(connection, filter):  # [MQTT-3.10.4-2]
                self._marks.forget(filter)
            self._tombstone(connection.client_id, filter, waiting.expect(position))
        waiting.done()

    def drop(self, connection: Connection) -> None:
        """End all subscriptions of a connection whose session ends with it."""
        for filter, was_last in self._local.drop(connection):
            if was_last:
                self._marks.forget(filter)
            self._tombstone(connection.client_id, filter, _unheard)

    def bury(self, keys: Iterable[bytes]) -> None:
        """Write the tombstones of subscriptions that an earlier life of this node left behind."""
        for key in keys:
            self._tombstone(*subscription_record.decode_key(key), _unheard)

    def _add(
        self,
        connection: Connection,
        wanted: packets.Subscription,
        identifier: int | None,
        durable: Callable[[KafkaError | None, Message], None],
    ) -> None:
        options = Subscription(wanted.qos, wanted.no_local, wanted.retain_as_published, identifier)
        if self._local.add(connection, wanted.filter, options):
            self._marks.hold(wanted.filter)
        record = SubscriptionRecord(
            client_id=connection.client_id,
            filter=wanted.filter,
            node=self._node,
            qos=wanted.qos,
            no_local=wanted.no_local,
            retain_as_published=wanted.retain_as_published,
            retain_handling=wanted.retain_handling,
            subscription_id=identifier,
        )
        self._append(connection.client_id, wanted.filter, subscription_record.encode_value(record), durable)

    def _tombstone(
        self, client_id: str, filter: str, durable: Callable[[KafkaError | None, Message], None]
    ) -> None:
        self._append(client_id, filter, None, durable)

    def _append(
        self,
        client_id: str,
        filter: str,
        value: bytes | None,
        durable: Callable[[KafkaError | None, Message], None],
    ) -> None:
        key = subscription_record.encode_key(client_id, filter)
        partition = subscription_partition(filter, self._partitions)

        def append() -> None:
            try:
                self._appender.append(self._topic, value, key, [], durable, partition)
            except BufferError:
                self._appender.when_room(append)

        append()


def _unheard(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        log.warning("a tombstone was not written: %s", error)
