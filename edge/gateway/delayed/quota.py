"""How many delayed messages wait in the whole cluster, as far as their log says; and whether one more may."""

from __future__ import annotations

from confluent_kafka import Message, TopicPartition

from edge.gateway.log_reader import LogReader


class Quota:
    """Counts by key: what this gateway has sent is counted at once, what others have when it is read here."""

    def __init__(self, most: int) -> None:
        """Args: `most` may wait."""
        self._most = most
        self._waiting: set[bytes] = set()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether no more may wait."""
        return len(self._waiting) >= self._most

    def add(self, key: bytes) -> None:
        """One more waits."""
        self._waiting.add(key)

    def remove(self, key: bytes) -> None:
        """It waits no more."""
        self._waiting.discard(key)

    def take(self, batch: list[Message]) -> None:
        """Take records of the log."""
        for message in batch:
            key = message.key() or b""
            if message.value() is None:
                self.remove(key)
            else:
                self.add(key)


def quota_reader(kafka: str, topic: str, partitions: int, quota: Quota) -> LogReader:
    """What keeps a quota up to date; it reads all delayed messages, so only a limit has one."""
    start = [TopicPartition(topic, number, 0) for number in range(partitions)]
    return LogReader(kafka, "delayed-quota", start, quota.take)
