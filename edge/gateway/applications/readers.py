"""Readers for any number of applications: each has some hundreds of them, and there are as many as it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from confluent_kafka import Message

from edge.gateway.applications.reader import SharedReader, Step

TOPICS_PER_READER = 500
"""A consumer has some five threads of its own. But each fetch names all its topics, so many of them cost Kafka time."""
_FETCH_WAIT_MS = 100
"""Of the first reader's fetches. The second one's wait for twice as long and so on: a gateway with some applications
begins to read for one at once, and one with ten thousand asks Kafka 40 times a second in all, not 200 times."""
_LONGEST_FETCH_WAIT_MS = 1_000


class Taker(Protocol):
    """Who wants a topic's records."""

    def take(self, record: Message) -> None:
        """The next record, in the order of the topic."""

    def pump(self) -> None:
        """There are no more for now."""


@dataclass(slots=True)
class _Entry:
    reader: SharedReader
    taker: Taker
    number: int
    """Of the command that began it: what was read before that is not for this taker."""


class Readers:
    """Topic → who reads it, and for whom."""

    def __init__(self, kafka: str, topics_per_reader: int = TOPICS_PER_READER) -> None:
        self._kafka = kafka
        self._topics_per_reader = topics_per_reader
        self._loads: dict[SharedReader, int] = {}
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._loads)

    def begin(self, topic: str, offset: int, taker: Taker) -> None:
        """Read a topic from an offset on, for a taker; nobody else may be reading it."""
        reader = min(self._loads, key=self._loads.__getitem__, default=None)
        if reader is None or self._loads[reader] >= self._topics_per_reader:
            number = len(self._loads) + 1
            wait = min(number * _FETCH_WAIT_MS, _LONGEST_FETCH_WAIT_MS)
            reader = SharedReader(self._kafka, f"applications-{number}", wait, self._take)
            self._loads[reader] = 0
        self._loads[reader] += 1
        self._entries[topic] = _Entry(reader, taker, reader.command(Step.BEGIN, topic, offset))

    def hold(self, topic: str, is_held: bool) -> None:
        """Hold the reading of a topic, or let it go on; what was read already still comes."""
        entry = self._entries.get(topic)
        if entry is not None:
            entry.reader.command(Step.HOLD if is_held else Step.GO_ON, topic)

    def end(self, topic: str) -> None:
        """Read a topic no more."""
        entry = self._entries.pop(topic)
        entry.reader.command(Step.END, topic)
        self._loads[entry.reader] -= 1

    def stop(self) -> None:
        """End all readers."""
        for reader in self._loads:
            reader.stop()

    def _take(self, reader: SharedReader, obeyed: int, batch: list[Message]) -> None:
        takers: dict[int, Taker] = {}
        for message in batch:
            entry = self._entries.get(message.topic() or "")
            if entry is not None and entry.reader is reader and entry.number <= obeyed:
                entry.taker.take(message)
                takers[id(entry)] = entry.taker
        for taker in takers.values():
            taker.pump()
