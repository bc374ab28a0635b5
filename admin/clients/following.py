"""Follows Kafka topics from their beginning: what a view has read, how much there is still, and whether Kafka answers.

It runs in a thread of its own, and tries again for as long as it takes: the administration may be there before Kafka.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from contracts.errors import RecordError
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.kafka_clients import (
    consumer_config,
    end_offsets,
    partition_count,
    place_of,
    record_headers,
)
from telemetry.librdkafka import TOLD

log = logging.getLogger(__name__)

LOADING, UP, UNREACHABLE = "loading", "up", "unreachable"
"""How a view may stand."""

_BATCH = 500  # records that are taken under the lock at a time: some 10 ms, for which who asks has to wait
_IDLE = 0.5  # seconds that a poll may wait; only looking and stopping depend on it
_LOOK = 1.0  # seconds between looks at the ends of the topics
_ANSWER = 3.0  # seconds for Kafka to tell them
_SILENT = 6.0  # seconds without an answer after which Kafka is said to be gone
_AGAIN = 1.0  # seconds before what failed is tried again
_STOP = 5.0  # seconds for the thread to end; it may be waiting for Kafka


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of a followed topic."""

    partition: int
    offset: int
    at_ms: int
    """When it was written, ms since 1970."""
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a view stands."""

    state: str
    """`LOADING`, `UP` or `UNREACHABLE`."""
    detail: str = ""
    """For people; empty where all is well."""
    records_read: int = 0
    records_behind: int = 0
    """Places of the topics that are not read yet, as of a second ago."""
    loaded_in_ms: int | None = None
    """How long it took to read what there was at the start; None until then."""


class Follows(Protocol):
    """What a view asks of what follows for it."""

    def standing(self) -> Standing:
        """How the view stands."""

    def wait_for(self, is_so: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is so in the view, which is asked under its lock; False if it was not in time."""


Take = Callable[[Entry], None]


class Following:
    """Hands records to views, under one lock that whoever reads these has to take."""

    def __init__(self, kafka: str, views: Mapping[str, Take], lock: threading.RLock) -> None:
        """Prepare to follow.

        Args:
            kafka: Bootstrap servers.
            views: Kafka topic → what takes its records, in each partition's order.
            lock: Held while records are taken.
        """
        self._kafka, self._views = kafka, views
        self._changed = threading.Condition(lock)
        self._positions: dict[tuple[str, int], int] = {}
        self._ends: dict[tuple[str, int], int] = {}
        self._first_ends: dict[tuple[str, int], int] | None = None
        self._read = 0
        self._began_at = time.monotonic()
        self._answered_at: float | None = None
        self._trouble = ""
        self._loaded_in_ms: int | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="view", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_STOP)

    def standing(self) -> Standing:
        """How the view stands."""
        with self._changed:
            behind = sum(max(0, end - self._positions.get(place, 0)) for place, end in self._ends.items())
            answered_at = self._began_at if self._answered_at is None else self._answered_at
            silent = time.monotonic() - answered_at
            if silent > _SILENT or (self._answered_at is None and self._trouble):
                state = UNREACHABLE
                detail = self._trouble or f"Kafka at {self._kafka} has not answered for {silent:.0f} s"
            elif self._loaded_in_ms is None:
                state = LOADING
                detail = f"the cluster is still being read: {self._read} records, {behind} to go"
            else:
                state, detail = UP, ""
            return Standing(state, detail, self._read, behind, self._loaded_in_ms)

    def wait_for(self, is_so: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is so in the views, which is asked under the lock; False if it was not in time."""
        with self._changed:
            return self._changed.wait_for(is_so, max(0.0, seconds))

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow()
            except (KafkaException, KafkaNotReadyError) as error:
                trouble = error.args[0].str() if isinstance(error, KafkaException) else str(error)
                if trouble != self._trouble:
                    log.warning("the cluster is not to be seen: %s", trouble)
                with self._changed:
                    self._trouble = trouble
                    self._changed.notify_all()
                self._stopping.wait(_AGAIN)

    def _follow(self) -> None:
        counts = {topic: partition_count(self._kafka, topic) for topic in self._views}
        consumer = Consumer(consumer_config(self._kafka) | TOLD | {"enable.partition.eof": True})
        asking = Consumer(consumer_config(self._kafka))
        try:
            consumer.assign(
                [
                    TopicPartition(topic, partition, self._positions.get((topic, partition), 0))
                    for topic, count in counts.items()
                    for partition in range(count)
                ]
            )
            look_at = 0.0
            while not self._stopping.is_set():
                if time.monotonic() >= look_at:
                    self._look(asking, counts)
                    look_at = time.monotonic() + _LOOK
                first = consumer.poll(_IDLE)
                if first is not None:
                    self._take([first, *consumer.consume(_BATCH, 0)])
        finally:
            consumer.close()
            asking.close()

    def _look(self, consumer: Consumer, counts: Mapping[str, int]) -> None:
        """Ask where the topics end.

        Raises:
            KafkaException: Kafka does not tell; who comes back begins with new clients, for one that has seen Kafka
                go may believe for long what it knew before.
        """
        ends = {
            (topic, partition): end
            for topic, count in counts.items()
            for partition, end in end_offsets(consumer, topic, count, _ANSWER).items()
        }
        with self._changed:
            self._ends, self._answered_at, self._trouble = ends, time.monotonic(), ""
            if self._first_ends is None:
                self._first_ends = ends
            self._note_loaded()
            self._changed.notify_all()

    def _take(self, batch: list[Message]) -> None:
        with self._changed:
            for message in batch:
                topic = cast(str, message.topic())
                error = message.error()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    log.warning("the view of the cluster: %s", error)  # librdkafka goes on by itself
                    continue
                partition, offset = place_of(message)
                if error is not None:
                    self._positions[topic, partition] = offset  # the end: also past what holds no record
                    continue
                self._positions[topic, partition] = offset + 1
                self._read += 1
                entry = Entry(
                    partition, offset, message.timestamp()[1], message.key(), message.value(), record_headers(message)
                )  # fmt: skip
                try:
                    self._views[topic](entry)
                except RecordError as wrong:
                    log.warning("record %d:%d of %s is skipped: %s", partition, offset, topic, wrong)
            self._note_loaded()
            self._changed.notify_all()

    def _note_loaded(self) -> None:
        if self._loaded_in_ms is None and self._first_ends is not None:
            ends = self._first_ends.items()
            if all(self._positions.get(place, 0) >= end for place, end in ends):
                self._loaded_in_ms = round((time.monotonic() - self._began_at) * 1_000)
