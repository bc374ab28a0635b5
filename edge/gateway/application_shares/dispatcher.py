"""A dispatcher: the thread that gives one group's messages, of those partitions that are here, to members here.

One round: poll, choose, and commit what was chosen with the consumer group's offsets in one Kafka transaction
(KIP-447). Whatever fails, all is begun anew from what Kafka has; nothing is repaired. With no member left it ends:
what comes waits in the entity, or for other gateways.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from contracts import shared_record
from contracts.application_shares import EntityMarks, consumer_group, share_target, source_of
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from contracts.topics import ShareFilter
from edge.gateway.application_shares.dispatch import Delivery, EntityPartition
from edge.gateway.application_shares.members import Members
from edge.gateway.counters import Counters
from edge.gateway.errors import KafkaNotReadyError
from edge.gateway.group_member import is_record
from edge.gateway.kafka_clients import (
    create_topics,
    member_config,
    place_of,
    record_headers,
    transaction_config,
)
from edge.gateway.shares.strategies import Strategies
from edge.gateway.shares.writing import append_record
from edge.gateway.state_reading import StaleStateError
from edge.gateway.transactional_offsets import send_offsets
from telemetry.librdkafka import QUIET, TOLD

log = logging.getLogger(__name__)

BATCH = 1_000  # records in one round
_IDLE = 0.2  # seconds that a poll may wait; how soon the partitions are free for other gateways depends on it
_STEP = 10.0  # seconds for one step of a transaction; without an answer, all of it is begun anew
_TIMEOUT_MS = 10_000  # after which Kafka rolls back by itself what a gateway that is gone has left open
_FIRST_PAUSE, _LONGEST_PAUSE = 0.3, 5.0  # seconds before what failed is tried again

_FAILURES = (KafkaException, BufferError, KafkaNotReadyError, StaleStateError)


@dataclass(frozen=True)
class EntitySetting:
    """What all dispatchers of a gateway work with."""

    kafka: str
    topics: KafkaTopics
    node: str
    name: str
    """Under which it is a member of consumer groups."""
    session_timeout_ms: int
    properties: Mapping[str, str]
    """Settings of applications' topics."""
    counters: Counters
    strategies: Strategies
    """By which members are chosen."""


class EntityDispatcher:
    """For one group; it runs from its making until `stop`."""

    def __init__(
        self, setting: EntitySetting, share: ShareFilter, members: Members, before: EntityDispatcher | None
    ) -> None:
        """Begin.

        Args:
            setting: The gateway's.
            share: The group and its filter.
            members: Those of them that are here.
            before: The group's last dispatcher here, which may not have ended yet.
        """
        self._setting = setting
        self._name = f"$share/{share.group}/{share.filter}"
        target = share_target(share.filter)
        self._topic = setting.topics.application_share_prefix + target
        self._group = consumer_group(setting.topics.prefix, share.group, target)
        self._share = share
        self._members = members
        self._before = before
        self._loop = asyncio.get_running_loop()
        self._partitions: dict[int, EntityPartition] = {}
        self._strategy = setting.strategies.of(self._name)
        self._topic_id = ""
        self._known: set[str] = set()
        self._pause = _FIRST_PAUSE
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"share-{self._group}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave the consumer group, soon."""
        self._stopping.set()

    def join(self) -> None:
        """Wait until it has left."""
        self._thread.join()

    def _run(self) -> None:
        if self._before is not None:
            self._before.join()
            self._before = None
        while not self._stopping.is_set():
            try:
                self._begin()
            except _FAILURES as error:
                log.warning("the dispatch of %s begins anew: %s", self._name, error)
            except Exception:
                log.exception("the dispatch of %s has failed, and begins anew", self._name)
            if not self._stopping.wait(self._pause):
                self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def _begin(self) -> None:
        setting = self._setting
        self._partitions.clear()
        self._known.clear()
        self._topic_id = _topic_id(setting.kafka, self._topic)
        config = transaction_config(setting.kafka, f"{self._group}@{setting.node}")
        producer = Producer(config | {"transaction.timeout.ms": _TIMEOUT_MS})
        producer.init_transactions(_STEP)
        consumer = Consumer(
            member_config(setting.kafka, self._group, setting.name, setting.session_timeout_ms) | TOLD
        )
        try:
            consumer.subscribe(
                [self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked
            )
            while not self._stopping.is_set():
                first = consumer.poll(_IDLE)
                batch = [] if first is None else [first, *consumer.consume(BATCH, 0)]
                records = [message for message in batch if is_record(message, f"dispatch of {self._topic}")]
                if records:
                    self._round(consumer, producer, records)
        finally:
            consumer.close()
            producer.purge(blocking=False)
            producer.poll(0)

    # the consumer group

    def _assigned(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        for place in consumer.committed(places, timeout=_STEP):
            if place.error is not None:
                raise KafkaException(place.error)
            number = place.partition
            low, high = consumer.get_watermark_offsets(TopicPartition(self._topic, number), timeout=_STEP)
            # A topic that was made anew may end before the group's place in the one before.
            begin = max(place.offset, low) if 0 <= place.offset <= high else low
            source = source_of(self._topic_id, self._share.group, number)
            self._partitions[number] = EntityPartition(number, source, begin, _marks(place.metadata))
        consumer.incremental_assign(
            [
                TopicPartition(self._topic, place.partition, self._partitions[place.partition].next_offset)
                for place in places
            ]
        )

    def _revoked(self, _consumer: Consumer, places: list[TopicPartition]) -> None:
        for place in places:
            self._partitions.pop(place.partition, None)

    # the work

    def _round(self, consumer: Consumer, producer: Producer, records: Sequence[Message]) -> None:
        with self._members.round() as members:
            if not members:
                self._stopping.set()  # whoever comes next makes another one
                return
            messages = []
            taking: dict[int, EntityPartition] = {}
            for record in records:
                number, offset = place_of(record)
                partition = self._partitions.get(number)
                if partition is None:
                    continue  # another gateway's by now
                if offset < partition.next_offset:
                    raise StaleStateError("what was read already comes once more, or of another topic")
                taking[number] = partition
                message = partition.take(offset, record.value(), record_headers(record))
                if message is not None:
                    messages.append(message)
            chosen = [Delivery(one, self._strategy.choose(one.origin, members)) for one in messages]
            self._expect_topics(chosen)
            self._commit(consumer, producer, chosen, taking.values())
        self._pause = _FIRST_PAUSE
        unreadable = 0
        for partition in taking.values():
            unreadable += partition.unreadable
            partition.unreadable = 0
        self._loop.call_soon_threadsafe(self._count, len(chosen), unreadable)

    def _commit(
        self,
        consumer: Consumer,
        producer: Producer,
        chosen: Sequence[Delivery],
        taking: Iterable[EntityPartition],
    ) -> None:
        read = [
            TopicPartition(self._topic, one.number, one.next_offset, one.marks.to_text()) for one in taking
        ]
        producer.begin_transaction()
        try:
            for delivery in chosen:
                self._write(producer, delivery)
            send_offsets(producer, read, consumer.consumer_group_metadata(), _STEP)
            producer.commit_transaction(_STEP)
        except KafkaException:
            # What stays open holds back the members' topics.
            with contextlib.suppress(KafkaException):
                producer.abort_transaction(_STEP)
            raise

    def _expect_topics(self, chosen: Sequence[Delivery]) -> None:
        # A member's topic may have been removed by hand; that must not stop the others.
        new = {one.member.client_id for one in chosen if one.is_into_session} - self._known
        if new:
            setting = self._setting
            wanted = [setting.topics.of_application(client_id, setting.properties) for client_id in new]
            create_topics(setting.kafka, wanted)
            self._known |= new

    def _write(self, producer: Producer, delivery: Delivery) -> None:
        message, member, topics = delivery.message, delivery.member, self._setting.topics
        is_direct = not delivery.is_into_session
        headers = shared_record.encode_dispatched(
            message.headers,
            message.source,
            message.offset,
            self._name,
            member.client_id if is_direct else None,
        )
        topic = (
            topics.share_downlink(self._setting.node) if is_direct else topics.application(member.client_id)
        )
        append_record(producer, topic, b"%d" % message.source, message.value, headers)

    def _count(self, deliveries: int, unreadable: int) -> None:
        self._setting.counters.application_shared_deliveries += deliveries
        self._setting.counters.poison_records += unreadable


def _topic_id(kafka: str, topic: str) -> str:
    admin = AdminClient(QUIET | {"bootstrap.servers": kafka})  # it must outlive its answer
    found = admin.describe_topics(TopicCollection([topic]), request_timeout=_STEP)
    return str(found[topic].result().topic_id)


def _marks(metadata: str | None) -> EntityMarks:
    try:
        return EntityMarks.from_text(metadata or "")
    except RecordError as error:
        log.warning("repeats cannot be told: %s", error)
        return EntityMarks()
