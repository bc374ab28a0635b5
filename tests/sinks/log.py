"""A test's side of the persisted log: write it as router and gateways do, and say what the store must then hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from contracts import headers as h
from contracts import persisted_record, publish_record
from contracts.errors import RecordError
from contracts.kafka_topics import KafkaTopic, KafkaTopics
from contracts.persisted_log import Backlog, Repeats
from contracts.persisted_record import EventKind
from contracts.publish_record import PublishRecord
from contracts.routed_record import TOPIC, encode_id
from tests.new_topics import await_leaders


@dataclass
class Log:
    """One log, and all that was written to it."""

    bootstrap: str
    topics: KafkaTopics
    partitions: int
    """How many to create it with; 0: it exists."""
    written: list[tuple[int, int, bytes | None, bytes | None, h.Headers]] = field(default_factory=list)
    """Partition, offset, key, value, headers."""
    _source_offset: int = 0

    def __post_init__(self) -> None:
        self.producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "partitioner": "murmur2_random",
                "linger.ms": 2,
                "log_level": 2,
            }
        )
        if not self.partitions:
            return
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        name = self.topics.persisted
        admin.create_topics([NewTopic(name, self.partitions, 1)])[name].result(60)
        await_leaders(self.bootstrap, [KafkaTopic(name, self.partitions)])

    def message(
        self, client: str, payload: bytes = b"", source: tuple[int, int] | None = None, filter: str = "a/#"
    ) -> int:
        """Write a message as the router does; its offset."""
        if source is None:
            self._source_offset += 1
            source = (0, self._source_offset)
        publish = PublishRecord("a/b", payload, "publisher", "gw1", 1)
        headers = publish_record.encode_headers(publish)
        headers += [(TOPIC, b"a/b"), (h.ID, encode_id(*source)), (h.FILTER, filter.encode())]
        return self.write(client.encode(), payload, headers)

    def messages(self, client: str, count: int) -> list[int]:
        """Write so many messages; their offsets."""
        return [self.message(client, b"%d" % number) for number in range(count)]

    def acked(self, client: str, *offsets: int) -> None:
        self._event(client, EventKind.ACKED, offsets)

    def received(self, client: str, *offsets: int) -> None:
        self._event(client, EventKind.RECEIVED, offsets)

    def cleared(self, client: str) -> None:
        self._event(client, EventKind.CLEARED, ())

    def _event(self, client: str, kind: EventKind, offsets: Sequence[int]) -> None:
        value, headers = persisted_record.encode_event(kind, offsets)
        self.write(client.encode(), value, headers)

    def write(self, key: bytes | None, value: bytes | None, headers: h.Headers, partition: int = -1) -> int:
        """Write a record and wait until it is there; its offset."""
        arrived: list[Message] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            arrived.append(message)

        self.producer.produce(
            self.topics.persisted, key=key, value=value, headers=list(headers), partition=partition,
            on_delivery=delivered,
        )  # fmt: skip
        while not arrived:
            self.producer.poll(1)
        place, offset = arrived[0].partition(), arrived[0].offset()
        assert place is not None
        assert offset is not None
        self.written.append((place, offset, key, value, headers))
        return offset

    def ends(self) -> dict[int, int]:
        """Where each partition with records ends."""
        return {partition: offset + 1 for partition, offset, *_ in self.written}

    def owed(self) -> dict[str, tuple[list[int], set[int]]]:
        """What each client is owed by the whole log, told from the plainest rules: pending offsets, received ones."""
        repeats = {partition: Repeats() for partition in range(self.partitions)}
        clients: dict[str, tuple[int, Backlog[None]]] = {}
        for partition, offset, key, value, headers in self.written:
            try:
                record = persisted_record.decode(offset, key, value, headers)
            except RecordError:
                continue
            backlog = clients.setdefault(record.client_id, (partition, Backlog()))[1]
            if isinstance(record, persisted_record.Event):
                backlog.apply(record)
            elif not repeats[partition].is_repeat(
                record.source_partition, record.source_offset, record.client_id, record.filter
            ):
                backlog.add(offset, None)
        return {
            client: (list(found.pending), found.received_offsets) for client, (_, found) in clients.items()
        }

    def partition_of(self, client: str) -> int:
        """The partition of all of a client's records."""
        return next(partition for partition, _, key, *_ in self.written if key == client.encode())
