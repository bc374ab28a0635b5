"""The message store's tables as they are now; the migrations beside are how they came about."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, SmallInteger, Table, Text

from stores.log_positions import positions_table

METADATA = MetaData()

POSITIONS = positions_table("message_position", METADATA)
TOPICS = Table(
    "message_topic",
    METADATA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("topic", Text, nullable=False, unique=True),
    Column("last_offset", BigInteger, nullable=False),
)
"""An MQTT topic, and the offset of its newest message; it stays when the message goes, so offsets go on."""
MESSAGES = Table(
    "message",
    METADATA,
    Column("topic_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("topic_offset", BigInteger, primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("kafka_partition", Integer, nullable=False),
    Column("kafka_offset", BigInteger, nullable=False),
    Column("qos", SmallInteger, nullable=False),
    Column("client_id", Text, nullable=False),
    Column("headers", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Index("message_at", "at_ms"),
)
