"""The SQL tables as they are now; `stores/migrations` is how they came about, docs/persistence.md what they hold."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text

METADATA = MetaData()

POSITIONS = Table(
    "persisted_position",
    METADATA,
    Column("kafka_partition", Integer, primary_key=True, autoincrement=False),
    Column("next_offset", BigInteger, nullable=False),
    Column("marks", Text, nullable=False),
    Column("dropped", BigInteger, nullable=False),
)
SEEN = Table(
    "persisted_seen",
    METADATA,
    Column("kafka_partition", Integer, primary_key=True, autoincrement=False),
    Column("client_id", Text, primary_key=True),
    Column("filters", Text, nullable=False),
)
MESSAGES = Table(
    "persisted_message",
    METADATA,
    Column("kafka_partition", Integer, primary_key=True, autoincrement=False),
    Column("client_id", Text, primary_key=True),
    Column("log_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("stored_at_ms", BigInteger, nullable=False),
    Column("headers", Text, nullable=False),
    Column("value", LargeBinary, nullable=False),
    Index("persisted_message_stored_at", "stored_at_ms"),
)
RECEIVED = Table(
    "persisted_received",
    METADATA,
    Column("kafka_partition", Integer, primary_key=True, autoincrement=False),
    Column("client_id", Text, primary_key=True),
    Column("log_offset", BigInteger, primary_key=True, autoincrement=False),
)
