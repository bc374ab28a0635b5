"""The message store: written partition by partition, read by topic or filter, offset or time."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, delete, insert, select, update

from contracts.headers import Headers
from contracts.topics import matches, shape_of, validate_filter
from stores import stored_headers
from stores.log_positions import LogDatabase
from stores.messages.tables import MESSAGES, POSITIONS, TOPICS

_MIGRATION_LOCK = 0x51_3E  # any number that all of SluiceMQ's processes take for PostgreSQL's advisory lock
_NAMES_AT_ONCE = 500
"""Values in one statement; databases have limits of some thousands."""


@dataclass(frozen=True, slots=True)
class ArrivedMessage:
    """A message as it stands in `tbmq.msg.all`."""

    offset: int
    """Its offset in its Kafka partition."""
    at_ms: int
    """The record's timestamp."""
    topic: str
    client_id: str
    qos: int
    headers: Sequence[tuple[str, bytes | None]]
    payload: bytes


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message as it is in the store."""

    topic: str
    offset: int
    """Its number among the messages of its topic, from 1."""
    at_ms: int
    """When Kafka's record was made, ms since 1970."""
    qos: int
    client_id: str
    """Who published it."""
    payload: bytes
    headers: Headers
    """All of the record's."""
    kafka: tuple[int, int]
    """Partition and offset in `tbmq.msg.all`."""


@dataclass(frozen=True, slots=True)
class MessageRange:
    """Which messages are wanted; the oldest first."""

    filter: str
    """A topic, or a filter with wildcards."""
    from_offset: int | None = None
    """Of each topic; the first that is wanted."""
    to_offset: int | None = None
    """The first that is not wanted any more."""
    from_ms: int | None = None
    to_ms: int | None = None
    """The same as times, ms since 1970."""
    limit: int = 100
    newest: bool = False
    """Whether the limit keeps the newest instead of the oldest."""


class MessageStore:
    """The store. All methods block; each raises StoreUnavailableError when the database does not answer."""

    def __init__(self, url: str) -> None:
        """Open it; see `LogDatabase`."""
        self._database = LogDatabase(url, files("stores.messages.migrations"), _MIGRATION_LOCK, POSITIONS)
        self.positions = self._database.positions
        self.close = self._database.close

    def write(
        self, partition: int, begins: int | None, next_offset: int, messages: Sequence[ArrivedMessage]
    ) -> None:
        """Write messages, in the order of their offsets, and that the partition is in up to `next_offset`.

        Raises:
            StalePositionError: The partition does not stand at `begins`; nothing is written.
        """
        self._database.advance(
            partition, begins, next_offset, lambda connection: _insert(connection, partition, messages)
        )

    def find(self, wanted: MessageRange) -> list[FoundMessage]:
        """Messages of a topic by their offsets, those of a filter with wildcards by time.

        Raises:
            TopicError: The filter is none.
        """
        validate_filter(wanted.filter)
        with self._database.reading() as connection:
            topics = _topics(connection, wanted.filter)
            ids = list(topics)
            found = [
                # Read to the end within the transaction.
                connection.execute(_range(wanted, ids[first : first + _NAMES_AT_ONCE])).all()
                for first in range(0, len(ids), _NAMES_AT_ONCE)
            ]
        order = _number if shape_of(wanted.filter) is None else _place
        merged = heapq.merge(*found, key=order, reverse=wanted.newest)
        rows = list(itertools.islice(merged, wanted.limit))
        return [_found(topics[row.topic_id], row) for row in (reversed(rows) if wanted.newest else rows)]

    def last_offset(self, topic: str) -> int:
        """The offset of a topic's newest message, deleted or not; 0 where there was none."""
        with self._database.reading() as connection:
            return connection.scalar(select(TOPICS.c.last_offset).filter_by(topic=topic)) or 0

    def drop_older(self, before_ms: int) -> int:
        """Delete messages from before a time; how many went. The offsets of their topics go on."""
        with self._database.writing() as connection:
            return connection.execute(delete(MESSAGES).where(MESSAGES.c.at_ms < before_ms)).rowcount


def _insert(connection: Connection, partition: int, messages: Sequence[ArrivedMessage]) -> None:
    if not messages:
        return
    known = _lock_topics(connection, {message.topic for message in messages})
    rows = []
    for message in messages:
        topic_id, last = known[message.topic]
        known[message.topic] = (topic_id, last + 1)
        rows.append(
            {
                "topic_id": topic_id,
                "topic_offset": last + 1,
                "at_ms": message.at_ms,
                "kafka_partition": partition,
                "kafka_offset": message.offset,
                "qos": message.qos,
                "client_id": message.client_id,
                "headers": stored_headers.encode(message.headers),
                "payload": message.payload,
            }
        )
    connection.execute(insert(MESSAGES), rows)
    moved = update(TOPICS).where(TOPICS.c.id == bindparam("topic_id")).values(last_offset=bindparam("last"))
    connection.execute(moved, [{"topic_id": topic_id, "last": last} for topic_id, last in known.values()])


def _lock_topics(connection: Connection, topics: set[str]) -> dict[str, tuple[int, int]]:
    """Topic → (id, last offset), for this transaction alone; those that are new are made.

    Always in one order, so that two partitions that share topics, as after partitions were added, wait for one another.
    """
    found: dict[str, tuple[int, int]] = {}
    ordered = sorted(topics)
    for attempt in range(2):
        missing = [topic for topic in ordered if topic not in found]
        if attempt and missing:
            connection.execute(insert(TOPICS), [{"topic": topic, "last_offset": 0} for topic in missing])
        for first in range(0, len(missing), _NAMES_AT_ONCE):
            some = missing[first : first + _NAMES_AT_ONCE]
            locked = select(TOPICS).where(TOPICS.c.topic.in_(some)).order_by(TOPICS.c.topic).with_for_update()
            found |= {row.topic: (row.id, row.last_offset) for row in connection.execute(locked)}
    return found


def _topics(connection: Connection, filter: str) -> dict[int, str]:
    """Id → topic, of those that a filter matches."""
    literal = "/".join(itertools.takewhile(lambda level: level not in ("+", "#"), filter.split("/")))
    topics = select(TOPICS.c.id, TOPICS.c.topic)
    if literal == filter:
        topics = topics.where(TOPICS.c.topic == filter)
    elif literal:
        topics = topics.where(TOPICS.c.topic.startswith(literal, autoescape=True))
    return {row.id: row.topic for row in connection.execute(topics) if matches(filter, row.topic)}


def _range(wanted: MessageRange, topic_ids: Sequence[int]) -> Select[Any]:
    columns = MESSAGES.c
    conditions: list[ColumnElement[bool]] = [columns.topic_id.in_(topic_ids)]
    if wanted.from_offset is not None:
        conditions.append(columns.topic_offset >= wanted.from_offset)
    if wanted.to_offset is not None:
        conditions.append(columns.topic_offset < wanted.to_offset)
    if wanted.from_ms is not None:
        conditions.append(columns.at_ms >= wanted.from_ms)
    if wanted.to_ms is not None:
        conditions.append(columns.at_ms < wanted.to_ms)
    by_time = (columns.at_ms, columns.kafka_partition, columns.kafka_offset)
    order = (columns.topic_offset,) if shape_of(wanted.filter) is None else by_time
    found = select(MESSAGES).where(*conditions).limit(wanted.limit)
    return found.order_by(*(each.desc() if wanted.newest else each.asc() for each in order))


def _number(row: Any) -> int:
    return int(row.topic_offset)


def _place(row: Any) -> tuple[int, int, int]:
    return row.at_ms, row.kafka_partition, row.kafka_offset


def _found(topic: str, row: Any) -> FoundMessage:
    headers = [(name, value or b"") for name, value in stored_headers.decode(row.headers)]
    return FoundMessage(
        topic, row.topic_offset, row.at_ms, row.qos, row.client_id, row.payload, headers,
        (row.kafka_partition, row.kafka_offset),
    )  # fmt: skip
