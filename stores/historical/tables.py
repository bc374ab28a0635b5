"""The statistics' tables as they are now; the migrations beside are how they came about."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, MetaData, Table, Text

from stores.log_positions import positions_table

METADATA = MetaData()

POSITIONS = positions_table("statistics_position", METADATA)
VALUES = Table(
    "statistics_value",
    METADATA,
    Column("node", Text, primary_key=True),
    Column("counter", Text, primary_key=True),
    Column("at_ms", BigInteger, primary_key=True, autoincrement=False),
    Column("value", BigInteger, nullable=False),
    Index("statistics_value_at", "at_ms"),
)
