"""The plan: publishes ⋈ routes → routed records. The same for batch and stream, and for each trigger."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame

from contracts.kafka_topics import KafkaTopics
from contracts.topics import Shape
from routing.transforms.candidates import explode_candidates
from routing.transforms.publishes import read_publishes
from routing.transforms.routed import address_records
from routing.transforms.targets import join_routes


def route(
    publishes: DataFrame,
    routes: DataFrame,
    shapes: Sequence[Shape],
    topics: KafkaTopics,
    generation: int,
    quarantine: Collection[str] = (),
    exact_guard: bool = False,
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

    Returns:
        topic, key, value, headers: what Spark's Kafka sink takes. One row for each (message, filter, target) whose kind
        takes the message's QoS, and for a probe one for each partition of the subscription table.
    """
    candidates = explode_candidates(read_publishes(publishes, exact_guard), shapes)
    return address_records(join_routes(candidates, routes), topics, generation, quarantine)
