"""A stream of messages through the router alone, without gateways: written into Kafka, read from a node's downlink."""

from __future__ import annotations

import struct
import threading
import time
from types import TracebackType

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.statistics import Sample
from contracts import probe_record
from contracts.kafka_topics import KafkaTopics
from contracts.publish_record import PublishRecord, encode_headers

FILTER = "bench/stream/+"
"""What the node has to be subscribed to."""
TOPICS = 16
"""As many, so that all partitions are used."""
_STAMP = struct.Struct(">QQ")
"""Which stream, which message."""
_PAYLOAD = 256


class RoutedStream:
    """Messages at a steady rate from the start of its block to its end, each timed by one clock, at both ends."""

    def __init__(self, bootstrap: str, topics: KafkaTopics, node: str, rate: float = 100.0) -> None:
        """Prepare; messages are routed to `node` if it is subscribed to `FILTER`.

        Args:
            bootstrap: Kafka's address.
            topics: The names of the Kafka topics.
            node: Whose downlink is read, from its end on.
            rate: Messages a second. They leave by a schedule, whether or not earlier ones have arrived.
        """
        self._topics, self._rate = topics, rate
        self._mark = time.monotonic_ns()
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 0, "log_level": 2}
        )
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "bench", "fetch.wait.max.ms": 10}
        )
        downlink = TopicPartition(topics.downlink(node), 0)
        downlink.offset = self._consumer.get_watermark_offsets(downlink, 30.0)[1]
        self._consumer.assign([downlink])
        self._over = threading.Event()
        self._first = threading.Event()
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._publish, self._read)]
        self.sent: list[float] = []
        """When each message was written, on the monotonic clock."""
        self.arrived: dict[int, float] = {}
        """When it was read first, by its number."""
        self.answered: dict[int, float] = {}
        """When a generation of the router first answered a probe, by its number."""

    def __enter__(self) -> RoutedStream:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._consumer.close()

    def wait_first(self, seconds: float) -> None:
        """Wait until the first message has arrived.

        Raises:
            RuntimeError: None did in so many seconds.
        """
        if not self._first.wait(seconds):
            raise RuntimeError(f"the router routed nothing within {seconds:.0f} s")

    def samples(self) -> list[Sample]:
        """All that have arrived so far."""
        return [
            Sample(self.sent[number], at - self.sent[number]) for number, at in list(self.arrived.items())
        ]

    def _publish(self) -> None:
        headers = encode_headers(PublishRecord("", b"", "bench", "bench", 1))
        padding = bytes(_PAYLOAD - _STAMP.size)
        began_at = time.monotonic()
        while not self._over.wait(max(0.0, began_at + len(self.sent) / self._rate - time.monotonic())):
            number = len(self.sent)
            key, payload = f"bench/stream/{number % TOPICS}", _STAMP.pack(self._mark, number) + padding
            self.sent.append(time.monotonic())
            self._producer.produce(self._topics.publishes, payload, key.encode(), headers=list(headers))
            self._producer.poll(0)
        self._producer.flush(30)

    def _read(self) -> None:
        while not self._over.is_set():
            message = self._consumer.poll(0.2)
            if message is None or message.error() is not None:
                continue
            now, headers = time.monotonic(), message.headers() or []
            if probe_record.is_answer(headers):  # type: ignore[arg-type] # invariance only
                answer = probe_record.decode_answer(headers)  # type: ignore[arg-type] # invariance only
                self.answered.setdefault(answer.generation, now)
                continue
            mark, number = _STAMP.unpack_from(message.value() or b"")
            if mark == self._mark:  # not what a stream before this one has left
                self.arrived.setdefault(number, now)
                self._first.set()
