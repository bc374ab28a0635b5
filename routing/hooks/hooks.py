"""Hooks, put together: what `route` applies to messages before it routes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.kafka_topics import KafkaTopics
from routing.columns.headers import HEADERS_DDL
from routing.errors import HooksError
from routing.hooks.analysis import lenient, said_of
from routing.hooks.configuration import HooksConfiguration, read_configuration
from routing.hooks.messages import as_messages, as_publishes
from routing.hooks.rules import apply_rules
from routing.hooks.transformations import load_lookup, transform
from routing.transforms.publishes import read_publishes

_RECORDS_DDL = (
    f"key binary, value binary, headers {HEADERS_DDL}, partition int, offset bigint, timestamp timestamp"
)


@dataclass(frozen=True)
class Hooks:
    """A configuration, ready to be applied."""

    configuration: HooksConfiguration

    @classmethod
    def load(cls, spark: SparkSession, file: Path, topics: KafkaTopics) -> Hooks:
        """Read a configuration and try it on an empty table, before any message is taken.

        Raises:
            HooksError: Something in it is wrong; says what to change.
        """
        hooks = cls(read_configuration(file))
        for rule in hooks.configuration.rules:
            if rule.kafka_topic is not None and rule.kafka_topic.startswith(f"{topics.prefix}."):
                raise HooksError(
                    f"rule {rule.name}: {rule.kafka_topic} is one of the broker's own Kafka topics; name another"
                )
        hooks._check_keys(spark)
        hooks._check_plan(spark)
        return hooks

    @property
    def makes_more(self) -> bool:
        """Whether some rule makes messages of messages."""
        return bool(self.configuration.rules)

    @property
    def kafka_topics(self) -> frozenset[str]:
        """Kafka topics of the user's that rules write to."""
        return frozenset(rule.kafka_topic for rule in self.configuration.rules if rule.kafka_topic)

    def publishes(self, records: DataFrame, exact_guard: bool) -> DataFrame:
        """Records of `tbmq.msg.all` → what `read_publishes` gives, with all transformations and rules applied.

        Raises:
            HooksError: A hook cannot be applied, or has what no hook may have.
        """
        found = read_publishes(records, exact_guard, ["timestamp"])
        with lenient(records.sparkSession):
            lookups = {one.name: load_lookup(records, one) for one in self.configuration.lookups}
            for transformation in self.configuration.transformations:
                messages, changed = transform(as_messages(found), transformation, lookups)
                found = as_publishes(messages, changed, exact_guard)
            if not self.configuration.rules:
                return found.drop("timestamp")
            return apply_rules(as_messages(found), self.configuration.rules, exact_guard)

    def _check_keys(self, spark: SparkSession) -> None:
        empty = spark.createDataFrame([], _RECORDS_DDL)
        for lookup in self.configuration.lookups:
            try:
                counted = load_lookup(empty, lookup).groupBy(*lookup.key).agg(F.count("*").alias("rows"))
                twice = counted.where("rows > 1").first()
            except PySparkException as error:
                raise HooksError(said_of(f"lookup {lookup.name}", error)) from None
            if twice is not None:
                key = ", ".join(map(str, twice[:-1]))
                raise HooksError(
                    f"lookup {lookup.name}: it has several rows for {key}; make its key tell rows apart"
                )

    def _check_plan(self, spark: SparkSession) -> None:
        """No shuffle, no Python: what the analyzed plan may not show, the physical one does."""
        row = {"key": b"t", "value": b"", "headers": [], "partition": 0, "offset": 0}
        plan = self.publishes(spark.createDataFrame([row], _RECORDS_DDL), exact_guard=False)
        physical = plan._jdf.queryExecution().executedPlan().toString()
        shuffles = physical.replace("BroadcastExchange", "")
        if "Exchange" in shuffles or "SortMergeJoin" in shuffles:
            raise HooksError(
                "the hooks need a shuffle of messages; join only declared lookups, with LEFT JOIN … ON …"
            )
        if "Python" in physical or "ArrowEval" in physical:
            raise HooksError(
                "the hooks run Python for each message; use functions of pyspark.sql or SQL instead"
            )
