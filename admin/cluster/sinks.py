"""How far the databases of sinks have the logs: a sink is no consumer group, its place stands with what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from contracts.kafka_topics import KafkaTopics
from stores import StoreError, open_store
from stores.historical import StatisticsStore
from stores.messages import MessageStore
from stores.port import Store

Positions = Callable[[Iterable[int]], dict[int, int | None]]
"""Partitions → the next offset of each; None where nothing of it is there."""


@dataclass(frozen=True)
class Sink:
    """One sink's database."""

    name: str
    topic: str
    """The Kafka topic that it reads."""
    positions: Positions
    close: Callable[[], None]


@dataclass(frozen=True)
class SinkUrls:
    """Where the sinks' databases are; None: it was not told."""

    store: str | None = None
    """Of persistent sessions."""
    messages: str | None = None
    statistics: str | None = None


class Sinks:
    """Opens each database when it is asked first: one that does not answer keeps nobody from the others."""

    def __init__(self, urls: SinkUrls, topics: KafkaTopics) -> None:
        """Nothing is opened yet."""
        self._urls = urls
        self._topics = topics
        self._statistics: StatisticsStore | None = None
        self._opened: dict[str, Sink] = {}

    @property
    def has_statistics(self) -> bool:
        """Whether it was told where the statistics are."""
        return self._urls.statistics is not None

    def statistics(self) -> StatisticsStore:
        """The statistics; blocking.

        Raises:
            StoreError: They are not there, or their database does not answer.
        """
        if self._statistics is None:
            self._statistics = StatisticsStore(self._urls.statistics or "")
        return self._statistics

    def names(self) -> dict[str, str]:
        """The sinks whose database is known, with the Kafka topic that each reads."""
        urls, topics = self._urls, self._topics
        told = {
            "sink of persistent sessions": (urls.store, topics.persisted),
            "sink of messages": (urls.messages, topics.publishes),
            "sink of statistics": (urls.statistics, topics.historical),
        }
        return {name: topic for name, (url, topic) in told.items() if url is not None}

    def positions(self, name: str, partitions: Iterable[int]) -> dict[int, int | None] | None:
        """How far a sink is; None while its database does not answer."""
        try:
            if name not in self._opened:
                self._opened[name] = self._open(name)
            return self._opened[name].positions(partitions)
        except StoreError:
            return None

    def close(self) -> None:
        """Let go of the databases."""
        for sink in self._opened.values():
            sink.close()
        if self._statistics is not None:
            self._statistics.close()

    def _open(self, name: str) -> Sink:
        topic = self.names()[name]
        if topic == self._topics.historical:
            return Sink(name, topic, self.statistics().positions, lambda: None)
        if topic == self._topics.publishes:
            messages = MessageStore(self._urls.messages or "")
            return Sink(name, topic, messages.positions, messages.close)
        store = open_store(self._urls.store or "", prefix=self._topics.prefix)
        return Sink(name, topic, lambda partitions: _persisted(store, partitions), store.close)


def _persisted(store: Store, partitions: Iterable[int]) -> dict[int, int | None]:
    found = {partition: store.partition_position(partition) for partition in partitions}
    return {
        partition: None if position is None else position.next_offset for partition, position in found.items()
    }
