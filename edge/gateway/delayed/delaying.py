"""A publish to `$delayed/<seconds>/<topic>`, on its way into `tbmq.msg.delayed`."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace

from contracts import delayed_record
from contracts.errors import TopicError
from contracts.partitioner import partition_of
from edge.gateway.counters import Counters
from edge.gateway.delayed.quota import Quota
from edge.gateway.ingress import Detour
from edge.mqtt.packets import Publish
from edge.mqtt.reason_codes import ReasonCode


class Delaying:
    """Says which may be delayed, and where they go."""

    def __init__(self, topic: str, partitions: int, counters: Counters, quota: Quota | None) -> None:
        """Args: `topic` is `tbmq.msg.delayed`; without a `quota` any number may wait."""
        self._topic, self._partitions = topic, partitions
        self._counters = counters
        self._quota = quota

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
        due = delayed_record.due_header(time.time_ns() // 1_000_000 + seconds * 1_000)
        self._counters.delayed_accepted += 1
        quota = self._quota
        if quota is not None:
            quota.add(key)
        failed = _nothing if quota is None else lambda: quota.remove(key)
        return replace(packet, topic=topic), Detour(self._topic, partition, key, due, failed)


def _nothing() -> None:
    """Nobody counts."""
