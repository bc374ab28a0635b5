"""Reads finished stretches of Kafka partitions for sessions that go on.

Of `tbmq.msg.persisted` that is what lies between the store, which is a little behind, and this gateway's tail; of
`tbmq.msg.all`, what was appended since a QoS 2 exchange began. It blocks, so it runs in a thread of its own; one
consumer serves one request after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event as Flag

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage

from contracts import headers as h
from contracts import persisted_record
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from contracts.persisted_log import Position, Repeats
from contracts.persisted_record import Event, Message
from contracts.publish_record import QOS_HEADERS, packet_id_header
from contracts.session_event import InboundExchange
from edge.gateway.kafka_clients import consumer_config, end_offsets, place_of, record_headers

_BATCH = 2_000  # records taken from librdkafka at once
_WAIT = 0.5  # seconds between looks at whether to stop
_ASK_TIMEOUT = 5.0  # seconds for Kafka to tell its end offsets


class StretchReader:
    """A consumer in a thread of its own."""

    def __init__(self, kafka: str, topics: KafkaTopics, partitions: int, sources: int) -> None:
        """Prepare to read; `partitions` are those of the persisted log, `sources` those of `tbmq.msg.all`."""
        self._topics = topics
        self._partitions = partitions
        self._sources = sources
        self._consumer = Consumer(
            consumer_config(kafka) | {"enable.partition.eof": True, "fetch.wait.max.ms": 10}
        )
        self._stopping = Flag()
        self.thread = ThreadPoolExecutor(1, "persisted-stretch")
        """Where the methods are to be called."""

    def ends(self) -> dict[int, int]:
        """The end offset of each partition of the persisted log.

        Raises:
            KafkaException: Kafka did not answer in time.
        """
        return end_offsets(self._consumer, self._topics.persisted, self._partitions, _ASK_TIMEOUT)

    def read(self, partition: int, start: Position | None, end: int, client_id: str) -> list[Message | Event]:
        """A client's records in the persisted log from a position to an offset (exclusive), without repeats.

        Raises:
            KafkaException: Kafka does not give them.
        """
        # Of what was seen at its marks, a position of the store names only what is this client's. That is all it takes.
        repeats = Repeats.from_json(start.repeats) if start else Repeats()
        begin = start.next_offset if start else 0
        found: list[Message | Event] = []
        for message in self._records(self._topics.persisted, partition, begin, end):
            _, offset = place_of(message)
            try:
                record = persisted_record.decode(
                    offset, message.key(), message.value(), record_headers(message)
                )
            except RecordError:
                continue  # The tail has counted it.
            is_new = not isinstance(record, Message) or not repeats.is_repeat(
                record.source_partition, record.source_offset, record.client_id, record.filter
            )
            if is_new and record.client_id == client_id:
                found.append(record)
        return found

    def has_message(self, client_id: str, exchange: InboundExchange) -> bool:
        """Whether the message of a QoS 2 exchange is in `tbmq.msg.all`.

        Raises:
            KafkaException: Kafka does not answer.
        """
        partition = exchange.source_partition
        end = end_offsets(self._consumer, self._topics.publishes, self._sources, _ASK_TIMEOUT)[partition]
        wanted = {(h.CLIENT_ID, client_id.encode()), QOS_HEADERS[2], packet_id_header(exchange.packet_id)}
        return any(
            wanted <= set(record_headers(message))
            for message in self._records(self._topics.publishes, partition, exchange.floor, end)
        )

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self.thread.shutdown(wait=True, cancel_futures=True)
        self._consumer.close()

    def _records(self, topic: str, partition: int, begin: int, end: int) -> Iterator[KafkaMessage]:
        if end <= begin:
            return
        self._consumer.assign([TopicPartition(topic, partition, begin)])
        try:
            yield from self._until(end)
        finally:
            self._consumer.unassign()

    def _until(self, end: int) -> Iterator[KafkaMessage]:
        while not self._stopping.is_set():
            first = self._consumer.poll(_WAIT)
            if first is None:
                continue
            for message in (first, *self._consumer.consume(_BATCH, 0)):
                error = message.error()
                if error is None:
                    _, offset = place_of(message)
                    if offset < end:
                        yield message
                    if offset >= end - 1:
                        return
                elif error.code() == KafkaError._PARTITION_EOF:
                    return  # The last offsets may hold no records.
                elif error.fatal():
                    raise KafkaException(error)
