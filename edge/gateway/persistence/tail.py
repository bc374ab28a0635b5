"""This gateway's reading of `tbmq.msg.persisted`: all of it, from where the store stands, for clients that are here.

Every gateway reads every partition, so a client may come to any of them and nothing has to be handed over; what is for
clients that are not here costs a look at it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from confluent_kafka import Message, TopicPartition

from contracts import persisted_record, probe_record
from contracts.errors import RecordError
from contracts.persisted_log import Position, Repeats
from contracts.persisted_record import Event
from contracts.persisted_record import Message as PersistedMessage
from contracts.shared_record import is_of_dispatcher
from edge.gateway.counters import Counters
from edge.gateway.kafka_clients import place_of, record_headers
from edge.gateway.log_reader import LogReader
from edge.gateway.source_marks import SourceMarks
from edge.gateway.tracing.tracer import Tracer

log = logging.getLogger(__name__)


class Taker(Protocol):
    """Who wants a client's records."""

    def take(self, record: PersistedMessage | Event) -> None:
        """The next record of the client, in the order of the log."""


class PersistedTail:
    """Reads on and on, and hands each client's records to whoever asked for them."""

    def __init__(
        self, kafka: str, topic: str, starts: Mapping[int, Position | None], marks: SourceMarks, counters: Counters
    ) -> None:  # fmt: skip
        """Prepare to read each partition from where the store stands; from the beginning where it knows nothing."""
        self._marks = marks
        self._counters = counters
        self._positions = {partition: at.next_offset if at else 0 for partition, at in starts.items()}
        self._repeats = {
            partition: Repeats.from_json(at.repeats) if at else Repeats() for partition, at in starts.items()
        }
        self._takers: dict[str, Taker] = {}
        self._watches: dict[int, list[tuple[int, Callable[[], None]]]] = {}
        start = [TopicPartition(topic, partition, at) for partition, at in self._positions.items()]
        self.tracer: Tracer | None = None
        """There while a trace is on."""
        self._reader = LogReader(kafka, "persisted", start, self._take_batch, with_ends=True)

    def start(self) -> None:
        """Begin to read."""
        self._reader.start()

    def stop(self) -> None:
        """Stop reading."""
        self._reader.stop()

    def subscribe(self, client_id: str, partition: int, taker: Taker) -> int:
        """Hand over the client's records from now on; returns the offset of the first that can come."""
        self._takers[client_id] = taker
        return self._positions[partition]

    def unsubscribe(self, client_id: str, taker: Taker) -> None:
        """Hand over no more to this taker."""
        if self._takers.get(client_id) is taker:
            del self._takers[client_id]

    def when_reached(self, partition: int, end: int, reached: Callable[[], None]) -> None:
        """Call back, once, when all below an offset has been handed over; at once if it has."""
        if self._positions[partition] >= end:
            reached()
        else:
            self._watches.setdefault(partition, []).append((end, reached))

    def _take_batch(self, batch: list[Message]) -> None:
        moved = set()
        for message in batch:
            partition, offset = place_of(message)
            moved.add(partition)
            if message.error() is not None:
                self._positions[partition] = offset  # the end: also past offsets that hold no record
                continue
            headers = record_headers(message)
            if probe_record.is_answer(headers):
                self._positions[partition] = offset + 1
                continue  # The router asks itself how far it has written.
            try:
                self._take(partition, offset, message, headers)
            except RecordError as error:
                self._counters.poison_records += 1
                log.warning(
                    "persisted record %s:%s is skipped: %s", partition, offset, error,
                    extra={"partition": partition, "offset": offset},
                )  # fmt: skip
            self._positions[partition] = offset + 1
        for partition in moved & self._watches.keys():
            self._wake(partition)

    def _take(
        self, partition: int, offset: int, message: Message, headers: Sequence[tuple[str, bytes | None]]
    ) -> None:
        record = persisted_record.decode(offset, message.key(), message.value(), headers)
        if isinstance(record, PersistedMessage):
            if not is_of_dispatcher(record.source_partition):  # those have a number space of their own
                self._marks.see(record.source_partition, record.source_offset)
            if self._repeats[partition].is_repeat(
                record.source_partition, record.source_offset, record.client_id, record.filter
            ):
                self._counters.repeated_records += 1
                return
        taker = self._takers.get(record.client_id)
        if taker is not None:
            if self.tracer is not None and isinstance(record, PersistedMessage):
                self.tracer.kept(message, record.client_id)
            taker.take(record)

    def _wake(self, partition: int) -> None:
        position = self._positions[partition]
        waiting = self._watches.pop(partition)
        later = [watch for watch in waiting if watch[0] > position]
        if later:
            self._watches[partition] = later
        for end, reached in waiting:
            if end <= position:
                reached()
