"""What the route table asks of Kafka: metadata, end offsets, and the tail of a partition.

Clients are kept for the life of the process: Spark uses its Python workers again, and a connection costs more than a
batch of a quiet table.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]

from routing.errors import RouteTableError
from routing.routes.changes import Latest
from telemetry.librdkafka import QUIET

SECONDS_TO_ANSWER = 10.0
"""How long Kafka may take for a metadata request; the job waits for a Kafka that is gone, a reader does not."""
BLOCK_RECORDS = 100_000
"""Records in a block of changes: bounds what is held as Python objects to some 50 MB."""
_FETCH_RECORDS = 10_000
_NO_LEADER = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_PARTITION,
)
_SETTINGS = QUIET | {
    "group.id": "unused",  # The client insists on one; nothing is ever committed.
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "allow.auto.create.topics": False,
    # The end of a partition is told when a fetch comes back empty: it must not wait the usual 500 ms.
    "fetch.wait.max.ms": 10,
    "topic.metadata.refresh.interval.ms": 2_000,
    "reconnect.backoff.max.ms": 1_000,
}


class RouteLog:
    """`tbmq.client.subscriptions`, or another Kafka topic, as a log."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap = bootstrap
        self.topic = topic

    def partitions(self) -> int:
        """How many partitions it has.

        Raises:
            RouteTableError: There is no such Kafka topic, or Kafka does not answer.
        """
        try:
            found = _consumer(self.bootstrap).list_topics(self.topic, SECONDS_TO_ANSWER).topics[self.topic]
        except KafkaException as error:
            raise self._failed(error) from None
        if found.error is not None or not found.partitions:
            raise RouteTableError(f"Kafka topic {self.topic} is missing: create it with `sluicemq topics`")
        return len(found.partitions)

    def bounds(self, partition: int, read_to: int = 0) -> tuple[int, int]:
        """The first offset and the end offset of a partition.

        Args:
            partition: Which.
            read_to: The end is known to be no less than this. A Kafka broker that tells less (seen of a topic that was
                made a moment ago: empty, though it had been read) is asked again.

        Raises:
            RouteTableError: Kafka does not answer, or insists on an end below `read_to`.
        """
        until = time.monotonic() + SECONDS_TO_ANSWER
        while True:
            try:
                low, end = _consumer(self.bootstrap).get_watermark_offsets(
                    TopicPartition(self.topic, partition), SECONDS_TO_ANSWER
                )
            except KafkaException as error:
                # A topic that was just created, or whose leader moves, has none for a moment.
                if error.args[0].code() not in _NO_LEADER or time.monotonic() > until:
                    raise self._failed(error) from None
            else:
                if end >= read_to:
                    return low, end
                if time.monotonic() > until:
                    _consumer.cache_clear()
                    raise RouteTableError(
                        f"Kafka says that partition {partition} of {self.topic} ends at {end}, and it was read up to "
                        f"{read_to} before"
                    )
            time.sleep(0.05)

    def offset_at(self, partition: int, at_ms: int) -> int:
        """The first offset whose record is of this time (ms since 1970) or later; the end where there is none."""
        try:
            [found] = _consumer(self.bootstrap).offsets_for_times(
                [TopicPartition(self.topic, partition, at_ms)], SECONDS_TO_ANSWER
            )
        except KafkaException as error:
            raise self._failed(error) from None
        if found.error is not None:
            raise self._failed(KafkaException(found.error))
        return found.offset if found.offset >= 0 else self.bounds(partition)[1]

    def setting(self, name: str) -> str:
        """A setting of the Kafka topic."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, self.topic)
        try:
            found = _admin(self.bootstrap).describe_configs([resource], request_timeout=SECONDS_TO_ANSWER)
            return str(found[resource].result()[name].value)
        except KafkaException as error:
            raise self._failed(error) from None

    def identity(self) -> tuple[str, str]:
        """(cluster id, topic id)."""
        return _identity(self.bootstrap, self.topic)

    def existing_topics(self) -> set[str]:
        """The names of all Kafka topics there are now."""
        try:
            return set(_consumer(self.bootstrap).list_topics(timeout=SECONDS_TO_ANSWER).topics)
        except KafkaException as error:
            raise self._failed(error) from None

    def tail(self, partition: int, start: int, end: int) -> Iterator[Latest]:
        """Read from `start` up to `end`, in blocks of the last record of each key. Offsets may have gaps."""
        consumer = _consumer(self.bootstrap)
        consumer.assign([TopicPartition(self.topic, partition, start)])
        try:
            latest: Latest = {}
            for message in self._messages(consumer, end):
                latest[message.key() or b""] = (message.offset() or 0, message.value())
                if len(latest) >= BLOCK_RECORDS:
                    yield latest
                    latest = {}
            if latest:
                yield latest
        finally:
            consumer.unassign()

    def records(self, partition: int, start: int, end: int) -> Iterator[Message]:
        """All records from `start` up to `end`, one by one; whoever takes them may stop at any."""
        if start >= end:
            return
        # A client of its own: the one that is kept may be assigned anew while these are still taken.
        consumer = Consumer(_SETTINGS | {"bootstrap.servers": self.bootstrap})
        try:
            consumer.assign([TopicPartition(self.topic, partition, start)])
            yield from self._messages(consumer, end)
        finally:
            consumer.close()

    def _messages(self, consumer: Consumer, end: int) -> Iterator[Message]:
        while True:
            first = consumer.poll(SECONDS_TO_ANSWER)
            if first is None:
                raise RouteTableError(f"Kafka gave no records of {self.topic} for {SECONDS_TO_ANSWER:.0f} s")
            # Only what is there already: consume would wait until it has as many as asked for.
            for message in [first, *consumer.consume(_FETCH_RECORDS, 0)]:
                error = message.error()
                if error is None:
                    if (message.offset() or 0) < end:
                        yield message
                    if (message.offset() or 0) >= end - 1:
                        return
                elif error.code() == KafkaError._PARTITION_EOF:
                    return  # The last offsets may be transaction markers, which nobody is shown.
                else:
                    raise self._failed(KafkaException(error))

    def _failed(self, error: KafkaException) -> RouteTableError:
        # A client that asked while a broker started was told that the topic is unknown, and goes on believing it for
        # minutes: the next attempt gets a new one.
        _consumer.cache_clear()
        return RouteTableError(f"Kafka at {self.bootstrap} does not give {self.topic}: {error.args[0]}")


@functools.cache
def _consumer(bootstrap: str) -> Consumer:
    return Consumer(_SETTINGS | {"bootstrap.servers": bootstrap})


def _identity(bootstrap: str, topic: str) -> tuple[str, str]:
    try:
        admin = _admin(bootstrap)
        found = admin.describe_topics(TopicCollection([topic]), request_timeout=SECONDS_TO_ANSWER)
        # The client writes ids in base64 with characters that Kafka avoids because they mean something in a path.
        topic_id = str(found[topic].result().topic_id).replace("/", "_").replace("+", "-")
        return _cluster(bootstrap), topic_id
    except KafkaException as error:
        raise RouteTableError(f"Kafka at {bootstrap} does not describe {topic}: {error.args[0]}") from None


@functools.cache
def _admin(bootstrap: str) -> AdminClient:
    return AdminClient(QUIET | {"bootstrap.servers": bootstrap})


@functools.cache
def _cluster(bootstrap: str) -> str:
    return str(_admin(bootstrap).describe_cluster(request_timeout=SECONDS_TO_ANSWER).result().cluster_id)
