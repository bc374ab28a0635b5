"""Replay for notebooks.

replay = Replay(spark, "127.0.0.1:9092")
records = replay.messages("2026-11-29T10:00Z", "2026-11-29T11:00Z")
table = replay.table(add=[{"client_id": "new", "filter": "city/+", "node": "gw1"}])
replay.explain(records, table).show()
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from contracts.kafka_topics import KafkaTopics
from routing.moments import EARLIEST, LATEST, Moment
from routing.pipeline import route
from routing.replay.records import read_archive, read_range
from routing.replay.table import ChosenTable, Rows, assume, choose_table
from routing.routes.kafka import RouteLog
from routing.transforms.explained import explain_clients, explain_targets
from routing.transforms.in_band import drop_in_band
from routing.transforms.messages import without_probes

GENERATION = 0
"""No generation of the router has this number; probes, the only ones to be told it, are not replayed anyhow."""


@dataclass(frozen=True)
class Replay:
    """Messages and tables of one cluster. Nothing is read before a DataFrame is used, but offsets."""

    spark: SparkSession
    kafka: str
    """Bootstrap servers."""
    topics: KafkaTopics = field(default_factory=KafkaTopics)
    archive: str | None = None
    """Where to read messages from instead of Kafka: the folder of an archive."""

    def messages(self, start: str = EARLIEST, end: str = LATEST) -> DataFrame:
        """The records between two moments (routing.moments), as Spark's Kafka source gives them.

        `read_messages` shows them with typed columns. From an archive they come in no order.

        Raises:
            MomentError: A moment is none, or not in the log.
        """
        first, last = Moment.parse(start), Moment.parse(end)
        if self.archive is not None:
            return read_archive(self.spark, self.archive, first, last)
        log = RouteLog(self.kafka, self.topics.publishes)
        return read_range(self.spark, self.kafka, self.topics, first.resolve(log), last.resolve(log))

    def table(
        self, as_of: str = LATEST, add: Rows = (), remove: Rows = (), is_part_enough: bool = False
    ) -> ChosenTable:
        """The subscription table as of a moment, changed if you like.

        Args:
            as_of: The moment, in the subscription log.
            add: Subscriptions to assume: client_id, filter, node, and what else is wanted.
            remove: Subscriptions to assume gone: client_id, filter.
            is_part_enough: Whether to take what compaction has left of that moment; else that is an error.

        Raises:
            MomentError: The moment is none.
            ChangeError: A change is none.
        """
        return choose_table(self.spark, self.kafka, self.topics, as_of, assume(add, remove), is_part_enough)

    def route(
        self, records: DataFrame, table: ChosenTable, into: KafkaTopics, in_band: bool = True
    ) -> DataFrame:
        """The records that the router would write, under another prefix: topic, key, value, headers.

        Args:
            records: What `messages` gives, or a part of it.
            table: What `table` gives.
            into: The names of the Kafka topics; not those that gateways read.
            in_band: Whether in-band routes count (`replayed`).
        """
        given = replayed(records, table.assumed, in_band)
        return route(given, table.routes, table.shapes, into, GENERATION)

    def explain(self, records: DataFrame, table: ChosenTable, in_band: bool = True) -> DataFrame:
        """Who would get each message, and why (routing.transforms.explained.explain_clients)."""
        targets = explain_targets(replayed(records, table.assumed, in_band), table.routes, table.shapes)
        return explain_clients(targets, table.subscriptions)


def replayed(records: DataFrame, assumed: frozenset[str], in_band: bool) -> DataFrame:
    """Records as a replay routes them: without probes, and with the in-band routes that count.

    In-band routes are a part of what happened, so they count. Of filters that assumptions name they do not: about these
    the changed table alone decides, or a subscription that is assumed gone would still get what was carried for it.
    """
    messages = without_probes(records)
    if not in_band:
        return drop_in_band(messages)
    return drop_in_band(messages, assumed) if assumed else messages
