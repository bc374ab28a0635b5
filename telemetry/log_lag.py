"""How far whoever reads a Kafka topic is behind it, by the times of its records.

Offsets alone do not tell: where transactions are written, the end of a partition may be offsets behind its last record,
for ever. So where the offsets differ, the record that would come next is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from telemetry.librdkafka import QUIET

_SECONDS_TO_ANSWER = 4.0
_LATEST = -1
"""As a time: what Kafka takes for its latest."""


class LogLag:
    """Asks Kafka about one topic; its methods block, and are for one thread at a time."""

    def __init__(self, kafka: str, topic: str) -> None:
        """Nothing is asked yet; `kafka` is the bootstrap servers."""
        self.topic = topic
        self._consumer = Consumer(
            QUIET
            | {
                "bootstrap.servers": kafka,
                "group.id": "sluicemq-telemetry",  # librdkafka wants a name; nothing is ever committed under it
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 10,  # how long the end of a partition takes to be told
                "fetch.message.max.bytes": 65_536,  # one record is looked at
                "queued.max.messages.kbytes": 256,
                "reconnect.backoff.max.ms": 1_000,
                "topic.metadata.refresh.interval.ms": 2_000,
            }
        )

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()

    def partitions(self) -> int:
        """How many there are.

        Raises:
            KafkaException: Kafka does not answer, or has no such topic.
        """
        found = self._consumer.list_topics(self.topic, _SECONDS_TO_ANSWER).topics[self.topic]
        if found.error is not None:
            raise KafkaException(found.error)
        return len(found.partitions)

    def ends(self, partitions: int) -> dict[int, int]:
        """By partition, where the next record will stand.

        Raises:
            KafkaException: Kafka does not answer.
        """
        return self._offsets_at(range(partitions), _LATEST)

    def oldest_missing(self, positions: Mapping[int, int | None], before_ms: int) -> int | None:
        """The time, ms since 1970, of the oldest record from before a time that is not behind somebody's positions.

        Args:
            positions: By partition, the next offset; None: nothing is done.
            before_ms: What is newer than this does not count.

        Returns:
            None where there is none.

        Raises:
            KafkaException: Kafka does not answer.
        """
        bounds = self._offsets_at(positions, before_ms)
        found = [
            self._record_time(partition, OFFSET_BEGINNING if at is None else at)
            for partition, at in positions.items()
            if (at or 0) < bounds[partition]
        ]
        times = [at_ms for at_ms in found if at_ms is not None and at_ms < before_ms]
        return min(times, default=None)

    def _offsets_at(self, partitions: Iterable[int], at_ms: int) -> dict[int, int]:
        wanted = [TopicPartition(self.topic, partition, at_ms) for partition in partitions]
        found: dict[int, int] = {}
        behind: list[int] = []
        for one in self._consumer.offsets_for_times(wanted, timeout=_SECONDS_TO_ANSWER):
            if one.error is not None:
                raise KafkaException(one.error)
            found[one.partition] = one.offset
            if one.offset < 0:  # nothing is as new as that
                behind.append(one.partition)
        return found | self._offsets_at(behind, _LATEST) if behind else found

    def _record_time(self, partition: int, offset: int) -> int | None:
        """The time of the first record from an offset on; None where there is none."""
        self._consumer.assign([TopicPartition(self.topic, partition, offset)])
        try:
            message = self._consumer.poll(_SECONDS_TO_ANSWER)
        finally:
            self._consumer.unassign()
        if message is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        if (error := message.error()) is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                return None
            raise KafkaException(error)
        return int(message.timestamp()[1])
