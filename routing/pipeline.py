"""The plan: publishes ⋈ routes → routed records. The same for batch and stream, and for each trigger."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from contracts.kafka_topics import KafkaTopics
from contracts.topics import Shape
from routing.transforms.candidates import explode_candidates
from routing.transforms.publishes import read_publishes
from routing.transforms.routed import address_records
from routing.transforms.targets import join_routes


class Hooking(Protocol):
    """What a user's own hooks do before routing (routing.hooks)."""

    @property
    def makes_more(self) -> bool:
        """Whether some rule makes messages of messages."""

    @property
    def kafka_topics(self) -> frozenset[str]:
        """Kafka topics of the user's that rules write to."""

    def publishes(self, records: DataFrame, exact_guard: bool) -> DataFrame:
        """What `read_publishes` gives, with the hooks applied."""


def route(
    publishes: DataFrame,
    routes: DataFrame,
    shapes: Sequence[Shape],
    topics: KafkaTopics,
    generation: int,
    quarantine: Collection[str] = (),
    exact_guard: bool = False,
    hooks: Hooking | None = None,
) -> DataFrame:
    """Route messages to the nodes and persistent clients that want them.

    Args:
        publishes: Records of `tbmq.msg.all` with headers, as Spark's Kafka source gives them.
        routes: The route table (contracts.route_table), as the `mqtt_routes` data source gives it.
        shapes: The shapes of filters to look for. Routes of other shapes are not found but in-band.
        topics: The names of the Kafka topics.
        generation: The router's generation, for answers to probes.
        quarantine: Kafka topics not to write to, because they are known to be missing.
        exact_guard: Whether to measure each record wholly before it is written (see `read_publishes`).
        hooks: A user's own transformations and rules; with None the plan has no trace of them.

    Returns:
        topic, key, value, headers: what Spark's Kafka sink takes. One row for each (message, filter, target) whose kind
        takes the message's QoS, and for a probe one for each partition of the subscription table.
    """
    if hooks is None:
        candidates = explode_candidates(read_publishes(publishes, exact_guard), shapes)
        return address_records(join_routes(candidates, routes), topics, generation, quarantine)
    candidates = explode_candidates(hooks.publishes(publishes, exact_guard), shapes)
    targets = join_routes(candidates, routes, hooks.kafka_topics)
    return address_records(targets, topics, generation, quarantine, hooks.makes_more, hooks.kafka_topics)
