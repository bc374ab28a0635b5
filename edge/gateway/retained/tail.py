"""This gateway's reading of `tbmq.msg.retained`: all of it into the view, and what stands in a wrong order put right.

Two gateways may append their records of one topic in another order than their publishes, and compaction keeps the
last. So the gateway that took the older publish appends the newer once more; and a gateway that starts does so for all
that it finds, whoever wrote it. What has expired gets its tombstone from the gateway that took it, or from one that
starts later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from confluent_kafka import KafkaError, Message, TopicPartition

from contracts import retained_record
from contracts.errors import RecordError
from contracts.retained_record import RetainedRecord
from contracts.wall_clock import epoch_ms
from edge.gateway.counters import Counters
from edge.gateway.kafka_clients import place_of, record_headers
from edge.gateway.log_barrier import Positions
from edge.gateway.log_reader import LogReader
from edge.gateway.retained.view import RetainedView, Verdict
from edge.gateway.retained.writing import RetainedWriter

log = logging.getLogger(__name__)

_GRACE_MS = 60_000  # how far clocks may differ before another gateway's message expires too soon for good
_LONGEST_TIMER = 3_600.0  # seconds; asyncio's timers are not for weeks


class RetainedTail:
    """Reads the log from its beginning and keeps up with it."""

    def __init__(
        self, kafka: str, topic: str, partitions: int, node: str, view: RetainedView, writer: RetainedWriter,
        counters: Counters, applied: Callable[[RetainedRecord], None],
    ) -> None:  # fmt: skip
        """Prepare to read; `applied` is told of each message that counts from now on."""
        self._node = node
        self._view = view
        self._writer = writer
        self._counters = counters
        self._applied = applied
        self._positions = Positions(partitions)
        self._wrong: dict[str, None] | None = {}
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        start = [TopicPartition(topic, partition, 0) for partition in range(partitions)]
        self._reader = LogReader(kafka, "retained", start, self._take_batch, with_ends=True)

    def start(self) -> None:
        """Begin to read."""
        self._reader.start()

    def stop(self) -> None:
        """Stop reading."""
        self._reader.stop()
        if self._timer:
            self._timer.cancel()

    def when_reached(self, ends: dict[int, int], reached: Callable[[], None]) -> None:
        """Call back, once, when every partition has been read up to these offsets; at once if it has."""
        self._positions.when_reached(ends, reached)

    def put_right(self) -> None:
        """All that was there at the start has been read: append what counts where something else stands last."""
        wrong, self._wrong = self._wrong or {}, None
        for topic in wrong:
            self._append_winner(topic)
        for gone in self._view.expire(epoch_ms()):
            if gone.record.node == self._node or _is_long_expired(gone):
                self._writer.append_again(gone, _unheard)
        self._watch_expiry()

    def _take_batch(self, batch: list[Message]) -> None:
        now_ms = epoch_ms()
        for message in batch:
            partition, offset = place_of(message)
            if message.error() is not None:
                self._positions.next[partition] = offset  # the end: also past offsets that hold no record
                continue
            self._positions.next[partition] = offset + 1
            try:
                record = retained_record.decode(message.key(), message.value(), record_headers(message))
            except RecordError as error:
                self._counters.poison_records += 1
                log.warning("retained record %d:%d is skipped: %s", partition, offset, error)
                continue
            self._take(record, now_ms)
        self._watch_expiry()
        self._positions.wake()

    def _take(self, record: RetainedRecord, now_ms: int) -> None:
        verdict = self._view.take(record, now_ms)
        if self._wrong is not None:
            if verdict is Verdict.STALE:
                self._wrong[record.topic] = None
            else:
                self._wrong.pop(record.topic, None)
        elif verdict is Verdict.STALE and record.record.node == self._node:
            self._append_winner(record.topic)
        elif verdict is Verdict.NEW and not record.is_deletion:
            self._applied(record)

    def _append_winner(self, topic: str) -> None:
        if (winner := self._view.winner(topic)) is not None:
            self._counters.retained_put_right += 1
            self._writer.append_again(winner, _unheard)

    def _watch_expiry(self) -> None:
        """One timer, for the next message that expires."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        expiry_ms = self._view.next_expiry_ms()
        if expiry_ms is not None and self._wrong is None:
            wait = max(0.0, (expiry_ms - epoch_ms()) / 1_000)
            self._timer = self._loop.call_later(min(wait, _LONGEST_TIMER), self._expire)

    def _expire(self) -> None:
        for gone in self._view.expire(epoch_ms()):
            if gone.record.node == self._node:
                self._writer.append_again(gone, _unheard)
        self._watch_expiry()


def _is_long_expired(gone: RetainedRecord) -> bool:
    said = gone.record.properties
    return (said.published_at_ms or 0) + (said.message_expiry or 0) * 1_000 + _GRACE_MS < epoch_ms()


def _unheard(error: KafkaError | None) -> None:
    if error is not None:
        log.warning("a retained message was not put right: %s", error)
