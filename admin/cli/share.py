"""`sluicemq share`: what applications share; a Kafka topic for each filter, made before anybody can subscribe."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Column, Table

from admin.cli.console import out, tell
from admin.cli.topics import Kafka, Prefix
from admin.errors import AdminError
from admin.kafka_topics import BROKER_DEFAULT, topic_administration
from contracts.application_shares import filter_of
from contracts.errors import ContractError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopic, KafkaTopics, parse_topic_properties
from contracts.shared_record import is_group
from contracts.topics import canonical_filter, validate_filter

app = typer.Typer(
    help="Make, list and remove what APPLICATIONs share: $share/<group>/<filter>.", no_args_is_help=True
)

Filter = Annotated[str, typer.Argument(help="The topic filter, without $share/<group>/.")]


@app.command()
def create(
    filter: Filter,
    kafka: Kafka,
    partitions: Annotated[
        int, typer.Option(min=1, help="How many gateways can share the work. It must not change later.")
    ] = 4,
    replication_factor: Annotated[
        int | None,
        typer.Option(min=1, help="Copies of each partition.", show_default="the cluster's default"),
    ] = None,
    properties: Annotated[
        str,
        typer.Option(
            envvar="TB_KAFKA_APP_PERSISTED_MSG_TOPIC_PROPERTIES",
            help="Settings of the Kafka topic, name:value;name:value.",
        ),
    ] = "",
    topic_prefix: Prefix = DEFAULT_PREFIX,
) -> None:
    """Make what applications need to share subscriptions to a filter; all groups on it use the same."""
    wanted = _entity(topic_prefix, filter, partitions, properties)
    with topic_administration(kafka) as administration:
        if administration.create([wanted], replication_factor or BROKER_DEFAULT):
            tell(f"Created {wanted.name}")
        else:
            tell(f"{wanted.name} was there already.")


@app.command("list")
def list_entities(kafka: Kafka, topic_prefix: Prefix = DEFAULT_PREFIX) -> None:
    """List what there is; where a filter's name is a hash, the filter is not known."""
    start = _names(topic_prefix).application_share_prefix
    with topic_administration(kafka) as administration:
        topics = administration.existing(prefix=start)
    table = Table("filter", "partitions", Column("Kafka topic", no_wrap=True))
    for topic in topics:
        table.add_row(filter_of(topic.name.removeprefix(start)) or "?", str(topic.partitions), topic.name)
    out.print(table)


@app.command()
def remove(filter: Filter, kafka: Kafka, topic_prefix: Prefix = DEFAULT_PREFIX) -> None:
    """Remove it, and all messages that no group has taken yet; who has subscribed gets no more."""
    name = _entity(topic_prefix, filter).name
    with topic_administration(kafka) as administration:
        if not administration.remove(name):
            raise AdminError(f"There is no {name}: `sluicemq share list` shows what there is.")
    tell(f"Removed {name}")


def _names(prefix: str) -> KafkaTopics:
    try:
        return KafkaTopics(prefix)
    except ContractError as error:
        raise AdminError(f"{error}.") from error


def _entity(prefix: str, filter: str, partitions: int = 4, properties: str = "") -> KafkaTopic:
    if is_group(canonical_filter(filter)):
        raise AdminError(f"{filter} names a group: give the filter alone, all groups share what is made.")
    try:
        validate_filter(filter)
        settings = parse_topic_properties(properties)
    except ContractError as error:
        raise AdminError(f"{error}.") from error
    return _names(prefix).of_application_share(filter, partitions, settings)
