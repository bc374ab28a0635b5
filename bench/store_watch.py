"""What the store of a stack has done and has, asked from outside: commands, memory, and how far it is in the log."""

from __future__ import annotations

import time
from typing import Any

import redis
from confluent_kafka import Consumer, TopicPartition

from contracts.kafka_topics import KafkaTopics
from stores import open_store

_NOT_OPERATIONS = ("info", "ping", "hello", "client", "config", "select", "command")
"""Commands that neither read nor write what is stored."""
_LOOK = 0.2


class StoreWatch:
    """Looks at a Redis or Valkey store; also a context manager."""

    def __init__(self, store: str, kafka: str, topics: KafkaTopics | None = None) -> None:
        """Look at the store with this URL, of a stack with this Kafka."""
        self._topic = (topics or KafkaTopics()).persisted
        self._server: Any = redis.Redis.from_url(store)
        self._store = open_store(store)
        self._consumer = Consumer(
            {"bootstrap.servers": kafka, "group.id": "bench", "enable.auto.commit": False}
        )

    def __enter__(self) -> StoreWatch:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        self._store.close()
        self._consumer.close()

    def commands(self) -> dict[str, int]:
        """How often each command that reads or writes data was called so far, within scripts too."""
        found: dict[str, dict[str, int]] = self._server.info("commandstats")
        names = {name.removeprefix("cmdstat_"): figures["calls"] for name, figures in found.items()}
        return {name: calls for name, calls in names.items() if not name.startswith(_NOT_OPERATIONS)}

    def used_bytes(self) -> int:
        """Memory that the data take, as the server counts it."""
        return int(self._server.info("memory")["used_memory"])

    def ends(self) -> dict[int, int]:
        """The end of each partition of the persisted log."""
        partitions = self._consumer.list_topics(self._topic, 10).topics[self._topic].partitions
        return {
            partition: self._consumer.get_watermark_offsets(TopicPartition(self._topic, partition), 10)[1]
            for partition in partitions
        }

    def wait_until_stored(self, ends: dict[int, int], seconds: float) -> None:
        """Wait until the store stands at these ends.

        Raises:
            RuntimeError: It does not in so many seconds.
        """
        deadline = time.monotonic() + seconds
        behind = dict(ends)
        while behind:
            for partition, end in list(behind.items()):
                position = self._store.partition_position(partition)
                if end == 0 or (position is not None and position.next_offset >= end):
                    del behind[partition]
            if behind:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"the sink has not stored {behind} within {seconds:.0f} s")
                time.sleep(_LOOK)  # It tells nobody how far it is.


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """How often each command was called in between."""
    return {name: calls - before.get(name, 0) for name, calls in after.items() if calls > before.get(name, 0)}
