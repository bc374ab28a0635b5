"""Reads finished stretches of Kafka partitions for sessions that go on.

Of `tbmq.msg.persisted` that is what lies between the store, which is a little behind, and this gateway's tail; of
`tbmq.msg.all`, what was appended since a QoS 2 exchange began. It blocks, so it runs in a thread of its own; one
consumer serves one request after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event as Flag

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage

from contracts import delayed_record, persisted_record, probe_record
from contracts import headers as h
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopics
from contracts.persisted_log import Position, Repeats
from contracts.persisted_record import Event, Message
from contracts.publish_record import packet_id_header
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
        # Where a log ends is asked past what transactions have open: a `cleared`, or a message, may stand behind it.
        self._asking = Consumer(consumer_config(kafka) | {"isolation.level": "read_uncommitted"})
        self._stopping = Flag()
        self.thread = ThreadPoolExecutor(1, "persisted-stretch")
        """Where the methods are to be called."""

    def ends(self) -> dict[int, int]:
        """The end offset of each partition of the persisted log, whatever stands before it is committed or not.

        Raises:
            KafkaException: Kafka did not answer in time.
        """
        return end_offsets(self._asking, self._topics.persisted, self._partitions, _ASK_TIMEOUT)

    def read(
        self, partition: int, starts: Mapping[str, Position | None], end: int
    ) -> dict[str, list[Message | Event]]:
        """Clients' records in the persisted log, each from its own position to an offset (exclusive), without repeats.

        Args:
            partition: Where the clients' records stand.
            starts: Client id → where to begin, as the store has it; None for the beginning.
            end: Where to end.

        Raises:
            KafkaException: Kafka does not give them.
        """
        views: dict[int, Repeats] = {}
        for start in starts.values():
            # Of what was seen at its marks, a position names only what is this client's: together that is all it takes.
            views.setdefault(_begin(start), Repeats()).include(_repeats(start))
        found: dict[str, list[Message | Event]] = {client_id: [] for client_id in starts}
        for message in self._records(self._topics.persisted, partition, min(views, default=end), end):
            record = _decode(message)
            if record is None:
                continue
            new_from = {
                begin
                for begin, repeats in views.items()
                if record.offset >= begin
                and not (isinstance(record, Message) and _is_repeat(repeats, record))
            }
            if record.client_id in starts and _begin(starts[record.client_id]) in new_from:
                found[record.client_id].append(record)
        return found

    def find_published(
        self, begun: Collection[tuple[str, InboundExchange]]
    ) -> dict[tuple[str, int], KafkaMessage]:
        """Those QoS 2 exchanges whose message is in Kafka, by one look at each partition.

        Args:
            begun: (client id, exchange).

        Returns:
            (client id, packet id) → the message.

        Raises:
            KafkaException: Kafka does not answer.
        """
        wanted: dict[int, dict[tuple[bytes, bytes], tuple[str, InboundExchange]]] = {}
        for client_id, exchange in begun:
            _, packet_id = packet_id_header(exchange.packet_id)
            wanted.setdefault(exchange.source_partition, {})[client_id.encode(), packet_id] = (
                client_id, exchange
            )  # fmt: skip
        found: dict[tuple[str, int], KafkaMessage] = {}
        for source, here in wanted.items():
            floor = min(exchange.floor for _, exchange in here.values())
            topic, partition, partitions = self._source(source)
            ends = end_offsets(self._asking, topic, partitions, _ASK_TIMEOUT)
            for message in self._records(topic, partition, floor, ends[partition]):
                match = here.get(_exchange_of(message))
                if match is not None and place_of(message)[1] >= match[1].floor:
                    found[match[0], match[1].packet_id] = message
        return found

    def _source(self, source: int) -> tuple[str, int, int]:
        """The Kafka topic and partition of an exchange, and how many partitions there are at least."""
        if source >= delayed_record.SOURCES:
            partition = source - delayed_record.SOURCES
            return self._topics.delayed, partition, partition + 1
        return self._topics.publishes, source, self._sources

    def cancel(self) -> None:
        """Have whoever reads get no more; for another thread than theirs."""
        self._stopping.set()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self.thread.shutdown(wait=True, cancel_futures=True)
        self._consumer.close()
        self._asking.close()

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
                    _, offset = place_of(message)
                    if offset >= end:
                        return  # The last offsets hold no records. Else a transaction is open before the end.
                elif error.fatal():
                    raise KafkaException(error)


def _begin(start: Position | None) -> int:
    return start.next_offset if start else 0


def _repeats(start: Position | None) -> Repeats:
    return Repeats.from_json(start.repeats) if start else Repeats()


def _is_repeat(repeats: Repeats, message: Message) -> bool:
    return repeats.is_repeat(
        message.source_partition, message.source_offset, message.client_id, message.filter
    )


def _exchange_of(message: KafkaMessage) -> tuple[bytes, bytes]:
    """Client id and packet id of a QoS 2 publish of a lasting session; others have no packet id."""
    client_id = packet_id = b""
    for name, value in record_headers(message):
        if name == h.PACKET_ID:
            packet_id = value or b""
        elif name == h.CLIENT_ID:
            client_id = value or b""
    return client_id, packet_id


def _decode(message: KafkaMessage) -> Message | Event | None:
    _, offset = place_of(message)
    headers = record_headers(message)
    if probe_record.is_answer(headers):
        return None  # The router asks itself how far it has written.
    try:
        return persisted_record.decode(offset, message.key(), message.value(), headers)
    except RecordError:
        return None  # The tail has counted it.
