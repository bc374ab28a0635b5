"""The timekeeper: a thread that publishes what is due in those partitions of `tbmq.msg.delayed` that the group gave it.

What is due is written to `tbmq.msg.all`, with the fresh routes of that moment, together with its tombstone in one
transaction: it is published once, whoever dies. Whatever fails, the partition is loaded again from what Kafka has.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from contracts import delayed_record, publish_record
from contracts.errors import RecordError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from contracts.wall_clock import epoch_ms
from edge.gateway.counters import Counters
from edge.gateway.delayed.fetching import Fetching
from edge.gateway.delayed.partition import DelayedPartition
from edge.gateway.fresh_headers import FreshHeaders, RoutesTooLargeError
from edge.gateway.group_member import is_record, stay_member
from edge.gateway.kafka_clients import member_config, place_of, record_headers
from edge.gateway.publications import Publication, publish
from edge.gateway.shares.writing import append_record
from edge.gateway.state_reading import StaleStateError

log = logging.getLogger(__name__)

BATCH = 1_000  # records taken in one round
PORTION = 500  # messages published in one transaction …
PORTION_BYTES = 8 << 20  # … and their bytes, which are in memory meanwhile
_IDLE = 0.5  # seconds that a poll may wait; only stopping depends on it
_LOADING = 0.05  # the same while partitions are loaded
_AGAIN = 0.3  # seconds before what failed is tried again
_POSTPONED_MS = 1_000  # for what can't carry its routes: the router's table is read about that often
_STEP = 10.0  # seconds for one step of a transaction

_FAILURES = (KafkaException, BufferError, StaleStateError)


@dataclass(frozen=True)
class TimekeeperSetting:
    """Where a timekeeper finds what it works with."""

    kafka: str
    topics: KafkaTopics
    name: str
    """Under which it is a member of the group."""
    session_timeout_ms: int
    counters: Counters

    @property
    def node(self) -> str:
        """The gateway: what is before its boot."""
        return self.name.partition(":")[0]


def timekeepers_group(prefix: str) -> str:
    """The name of the timekeepers' consumer group, one for each cluster that a Kafka serves."""
    return "sluicemq-delayed" if prefix == DEFAULT_PREFIX else f"sluicemq-delayed-{prefix}"


class Timekeeper:
    """Runs in a thread of its own."""

    def __init__(
        self, setting: TimekeeperSetting, headers: Callable[[Callable[[], bool]], FreshHeaders]
    ) -> None:
        """Args: `headers` makes what finds routes, given what asks whether to stop."""
        self._setting, self._topics = setting, setting.topics
        self._partitions: dict[int, DelayedPartition] = {}
        self._loading: dict[int, Future[None]] = {}
        self._pool = ThreadPoolExecutor(thread_name_prefix="delayed")
        self._stopping = threading.Event()
        self._headers = headers(self._stopping.is_set)
        self._fetching = Fetching(setting.kafka, self._topics.delayed)
        self._thread = threading.Thread(target=self._run, name="timekeeper", daemon=True)

    def start(self) -> None:
        """Join the group, and begin."""
        self._thread.start()

    def stop(self) -> None:
        """Leave the group: others take over at once."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown()
        self._headers.close()
        self._fetching.close()

    def _run(self) -> None:
        setting, group = self._setting, timekeepers_group(self._topics.prefix)
        config = member_config(setting.kafka, group, setting.name, setting.session_timeout_ms)
        stay_member("the timekeeper", config, self._stopping, self._keep_time, self._let_go_of_all)

    def _let_go_of_all(self) -> None:
        wait(self._loading.values())
        self._loading.clear()
        self._let_go(list(self._partitions))

    def _keep_time(self, consumer: Consumer) -> None:
        consumer.subscribe(
            [self._topics.delayed],
            on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked,
        )  # fmt: skip
        while not self._stopping.is_set():
            first = consumer.poll(self._patience())
            for message in [] if first is None else [first, *consumer.consume(BATCH, 0)]:
                self._take(message)
            self._load_all(consumer)
            for partition in list(self._partitions.values()):
                if partition.number not in self._loading and partition.is_loaded:
                    self._publish_due(partition)

    def _patience(self) -> float:
        if self._loading or not all(one.is_loaded for one in self._partitions.values()):
            return _LOADING
        due = [at for one in self._partitions.values() if (at := one.agenda.next_due_ms) is not None]
        return min(max(min(due) - epoch_ms(), 0) / 1_000, _IDLE) if due else _IDLE

    def _take(self, message: Message) -> None:
        if not is_record(message, "timekeeper"):
            return
        number, offset = place_of(message)
        partition = self._partitions.get(number)
        # What came of a partition that was not loaded yet is read again, from where it was loaded to.
        if partition is not None and number not in self._loading and offset >= partition.next_offset:
            partition.take(message)

    # the group

    def _assigned(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        for place in places:
            number = place.partition
            self._partitions[number] = DelayedPartition(self._setting.kafka, self._topics, number)
        consumer.incremental_assign(places)

    def _revoked(self, _consumer: Consumer, places: list[TopicPartition]) -> None:
        self._let_go([place.partition for place in places])

    def _let_go(self, numbers: list[int]) -> None:
        for number in numbers:
            if (partition := self._partitions.pop(number, None)) is not None:
                partition.close()

    def _load_all(self, consumer: Consumer) -> None:
        """Load partitions beside the others' work, however much waits there."""
        for number, loading in list(self._loading.items()):
            if not loading.done():
                continue
            loading.result()
            partition = self._partitions.get(number)
            if partition is not None and partition.is_loaded:
                place = TopicPartition(self._topics.delayed, number, partition.next_offset)
                try:
                    consumer.seek(place)
                except KafkaException as error:  # it has not begun to fetch yet
                    log.debug("delayed %d is not read yet: %s", number, error)
                    continue
                consumer.resume([place])
            del self._loading[number]
        for number, partition in self._partitions.items():
            if not partition.is_loaded and number not in self._loading:
                consumer.pause([TopicPartition(self._topics.delayed, number)])
                self._loading[number] = self._pool.submit(self._load, partition)

    def _load(self, partition: DelayedPartition) -> None:
        try:
            partition.load()
        except (KafkaException, StaleStateError) as error:
            log.warning("delayed %d is not to be had yet: %s", partition.number, error)
            partition.close()
            self._stopping.wait(_AGAIN)

    # the work

    def _publish_due(self, partition: DelayedPartition) -> None:
        due = partition.agenda.take_due(epoch_ms(), PORTION, PORTION_BYTES)
        if not due:
            return
        try:
            self._publish(partition, due)
        except _FAILURES as error:
            log.warning("a round of delayed messages has failed, and is done anew: %s", error)
            partition.close()
            self._stopping.wait(_AGAIN)

    def _publish(self, partition: DelayedPartition, due: list[tuple[bytes, int]]) -> None:
        records = self._fetching.fetch(partition.number, [offset for _, offset in due])
        messages = [records[offset] for _, offset in due if offset in records]
        wanted = [_topic_and_qos(message) for message in messages]
        headers = self._headers.of(wanted)
        producer, now_ms = partition.producer, epoch_ms()
        published: list[bytes] = [key for key, offset in due if offset not in records]
        publications: list[Publication] = []
        producer.begin_transaction()
        for message, (topic, _), routes in zip(messages, wanted, headers, strict=True):
            key, value = message.key() or b"", message.value() or b""
            if isinstance(routes, RoutesTooLargeError):
                _, offset = place_of(message)
                partition.agenda.put(key, now_ms + _POSTPONED_MS, offset, len(value))
                continue
            found = delayed_record.published_headers(record_headers(message), now_ms, self._setting.node)
            publications.append(Publication(topic.encode(), value, found, routes))
            append_record(producer, self._topics.delayed, key, None, [], partition.number)
            published.append(key)
        publish(producer, self._topics, publications, self._headers.subscriptions_read, _STEP)
        producer.commit_transaction(_STEP)
        for key in published:
            partition.agenda.remove(key)
        self._setting.counters.delayed_published += len(published)


def _topic_and_qos(message: Message) -> tuple[str, int]:
    topic, _ = delayed_record.decode_key(message.key())
    try:
        record = publish_record.decode(topic, b"", record_headers(message))
    except RecordError:  # whoever wrote it; the router does with it what it does with such records
        return topic.decode(errors="replace"), 2
    return record.topic, record.qos
