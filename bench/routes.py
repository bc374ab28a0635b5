"""Routes by the thousand or million: subscription records written straight into Kafka, for a node of their own.

The node's Kafka topic exists, as it would for a gateway, so the router takes its routes for live ones.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from confluent_kafka import KafkaError, Message, Producer

from admin.kafka_topics import topic_administration
from contracts.kafka_topics import KafkaTopics, subscription_partition
from contracts.subscription_record import SubscriptionRecord, encode_key, encode_value

PARTITIONS = 2
"""Of `tbmq.client.subscriptions`: contracts' default, which the embedded stack uses."""
NODE = "bench"
"""The node that the routes belong to."""


def mixed_filters(count: int) -> Iterator[str]:
    """So many distinct filters as a fleet has them: most exact, some with a wildcard."""
    for number in range(count):
        device = f"fleet/{number // 500}/device/{number}"
        match number % 10:
            case 0:
                yield f"{device}/+"
            case 1:
                yield f"{device}/#"
            case _:
                yield f"{device}/state"


def write_routes(bootstrap: str, topics: KafkaTopics, routes: Iterable[tuple[str, str]]) -> int:
    """Write (filter, node) as one client's subscriptions each; the nodes' Kafka topics must exist.

    The filters hold nothing that JSON escapes.

    Returns:
        How many were written.

    Raises:
        RuntimeError: Kafka did not take all of them.
    """
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 500_000}
        # To be told of each costs more than to write it.
        | {"delivery.report.only.error": True}
    )
    refused: list[KafkaError] = []

    def written(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            refused.append(error)

    count = 0
    for filter, node in routes:
        client = f"client-{count}"
        before, after = _value_around(node)
        value = before + filter.encode() + after
        partition = subscription_partition(filter, PARTITIONS)
        while True:
            try:
                producer.produce(
                    topics.subscriptions,
                    value,
                    encode_key(client, filter),
                    partition,
                    written,
                )
                break
            except BufferError:
                producer.poll(0.1)
        count += 1
        if count % 1_000 == 0:
            producer.poll(0)
    if producer.flush(60) or refused:
        raise RuntimeError(f"Kafka did not take all {count} routes: {refused[:1]}")
    return count


@functools.cache
def _value_around(node: str) -> tuple[bytes, bytes]:
    """A record's value up to its filter and after it, since ten million are a minute less without JSON for each."""
    place = "\N{PLACE OF INTEREST SIGN}"
    before, _, after = encode_value(SubscriptionRecord("", place, node)).partition(place.encode())
    return before, after


def create_node(bootstrap: str, topics: KafkaTopics, node: str = NODE) -> None:
    """Create a node's Kafka topics."""
    with topic_administration(bootstrap) as administration:
        administration.create(topics.of_node(node))
