"""A publish to `$delayed/<seconds>/<topic>`, on its way into `tbmq.msg.delayed`."""

from __future__ import annotations

import uuid
from dataclasses import replace

from confluent_kafka import Message

from contracts import delayed_record
from contracts.errors import TopicError
from contracts.partitioner import partition_of
from contracts.wall_clock import epoch_ms
from edge.gateway.counters import Counters
from edge.gateway.delayed.quota import Quota
from edge.gateway.ingress import Detour
from edge.gateway.kafka_clients import place_of
from edge.mqtt.packets import Publish
from edge.mqtt.reason_codes import ReasonCode


class Delaying:
    """Says which may be delayed, and where they go."""

    def __init__(self, topic: str, partitions: int, counters: Counters, quota: Quota | None) -> None:
        """Args: `topic` is `tbmq.msg.delayed`; without a `quota` any number may wait."""
        self._topic, self._partitions = topic, partitions
        self._counters = counters
        self._quota = quota
        self._ends: dict[int, int] = {}  # by partition, behind what is known to stand there

    def refusal(self, packet: Publish) -> ReasonCode | None:
        """Why a publish can't be delayed, which is counted; None when it can."""
        reason = None
        try:
            delayed_record.parse_delayed(packet.topic)
        except TopicError:
            reason = ReasonCode.TOPIC_NAME_INVALID
        else:
            if self._quota is not None and self._quota.is_full:
                reason = ReasonCode.QUOTA_EXCEEDED
        self._counters.delayed_refused += reason is not None
        return reason

    def detour(self, packet: Publish) -> tuple[Publish, Detour]:
        """The message as it will be published, and where it waits.

        Raises:
            TopicError: There was a `refusal`.
        """
        seconds, topic = delayed_record.parse_delayed(packet.topic)
        key = delayed_record.encode_key(topic, uuid.uuid4().hex)
        # By topic, so that what is due at the same time on one topic is published in the order in which it came.
        partition = partition_of(topic.encode(), self._partitions)
        due = delayed_record.due_header(epoch_ms() + seconds * 1_000)
        self._counters.delayed_accepted += 1
        if self._quota is not None:
            self._quota.add(key)
        return replace(packet, topic=topic), Detour(
            self._topic, partition, key, due, lambda message: self._done(key, message)
        )

    def place(self, topic: str) -> tuple[int, int]:
        """Where a message that is begun now will stand: its source partition, and an offset that is not above it."""
        partition = partition_of(delayed_record.parse_delayed(topic).topic.encode(), self._partitions)
        return delayed_record.SOURCES + partition, self._ends.get(partition, 0)

    def _done(self, key: bytes, message: Message | None) -> None:
        if message is not None:
            partition, offset = place_of(message)
            self._ends[partition] = max(self._ends.get(partition, 0), offset + 1)
        elif self._quota is not None:
            self._quota.remove(key)
