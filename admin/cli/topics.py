"""`sluicemq topics`: create, check and describe the Kafka topics."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Column, Table

from admin.cli.console import out, tell
from admin.errors import AdminError
from admin.kafka_topics import BROKER_DEFAULT, Difference, topic_administration
from contracts.errors import ContractError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopic, KafkaTopics

app = typer.Typer(help="Create, check and describe the Kafka topics of a cluster.", no_args_is_help=True)

Kafka = Annotated[str, typer.Option(help="Kafka bootstrap servers, HOST:PORT,HOST:PORT.")]
Prefix = Annotated[str, typer.Option(help="First part of all Kafka topic names.")]
Nodes = Annotated[
    list[str] | None, typer.Option("--node", help="A gateway whose own topics to include; repeatable.")
]
Partitions = Annotated[int, typer.Option(min=1, help="Of the topic that all messages go through.")]
SubscriptionPartitions = Annotated[int, typer.Option(min=1, help="Of the topic of subscriptions.")]
SessionPartitions = Annotated[int, typer.Option(min=1, help="Of the two topics of sessions.")]
PersistedPartitions = Annotated[
    int, typer.Option(min=1, help="Of the topic of messages for persistent sessions.")
]
SharePartitions = Annotated[int, typer.Option(min=1, help="Of the topic of messages for share groups.")]


@app.command()
def create(
    kafka: Kafka,
    node: Nodes = None,
    partitions: Partitions = 4,
    subscription_partitions: SubscriptionPartitions = 2,
    session_partitions: SessionPartitions = 4,
    persisted_partitions: PersistedPartitions = 4,
    share_partitions: SharePartitions = 4,
    replication_factor: Annotated[
        int | None,
        typer.Option(min=1, help="Copies of each partition.", show_default="the cluster's default"),
    ] = None,
    topic_prefix: Prefix = DEFAULT_PREFIX,
) -> None:
    """Create the topics that are missing, and leave the others as they are.

    Exit status 1 when one that exists has other partitions or settings than it must have.
    """
    counts = (
        partitions, subscription_partitions, session_partitions, persisted_partitions, share_partitions
    )  # fmt: skip
    topics = _topics(topic_prefix, node, *counts)
    with topic_administration(kafka) as administration:
        created = administration.create(topics, replication_factor or BROKER_DEFAULT)
        differences = administration.differences(topics)
    for name in created:
        tell(f"Created {name}")
    if not created:
        tell("All topics were there already.")
    _report(differences)


@app.command()
def check(
    kafka: Kafka,
    node: Nodes = None,
    partitions: Partitions = 4,
    subscription_partitions: SubscriptionPartitions = 2,
    session_partitions: SessionPartitions = 4,
    persisted_partitions: PersistedPartitions = 4,
    share_partitions: SharePartitions = 4,
    topic_prefix: Prefix = DEFAULT_PREFIX,
) -> None:
    """Check that all topics exist with the right partitions and settings; exit status 1 when one does not."""
    counts = (
        partitions, subscription_partitions, session_partitions, persisted_partitions, share_partitions
    )  # fmt: skip
    topics = _topics(topic_prefix, node, *counts)
    with topic_administration(kafka) as administration:
        differences = administration.differences(topics)
    _report(differences)
    tell(f"All {len(topics)} topics are as they must be.")


@app.command()
def describe(kafka: Kafka, topic_prefix: Prefix = DEFAULT_PREFIX) -> None:
    """List the topics that exist, with their partitions and settings."""
    with topic_administration(kafka) as administration:
        topics = administration.existing(prefix=f"{topic_prefix}.")
    table = Table(Column("Kafka topic", no_wrap=True), "partitions", "settings")
    for topic in topics:
        table.add_row(
            topic.name, str(topic.partitions), "\n".join(f"{key}={topic.config[key]}" for key in topic.config)
        )
    out.print(table)


def _topics(prefix: str, nodes: list[str] | None, *partitions: int) -> list[KafkaTopic]:
    """The shared topics, their partitions in the order of `KafkaTopics.shared`, and those of the nodes."""
    try:
        names = KafkaTopics(prefix)
        own = [topic for node in nodes or [] for topic in names.of_node(node)]
    except ContractError as error:
        raise AdminError(f"{error}.") from error
    return [*names.shared(*partitions), *own]


def _report(differences: list[Difference]) -> None:
    if not differences:
        return
    table = Table(Column("Kafka topic", no_wrap=True), "setting", "must be", "is")
    for difference in differences:
        table.add_row(difference.topic, difference.setting, difference.wanted, difference.found)
    out.print(table)
    raise typer.Exit(1)
