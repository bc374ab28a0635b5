"""`sluicemq share`: what applications share; a Kafka topic for each filter, made before anybody can subscribe.

With a database of identity each also stands there, and the commands keep the two in agreement.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column, Table
from rich.text import Text

from admin.cli.cells import plain
from admin.cli.console import out, tell
from admin.cli.identity_database import OptionalDatabaseUrl, identity_database
from admin.cli.topics import Kafka, Prefix
from admin.errors import AdminError, UsageError
from admin.kafka_topics import BROKER_DEFAULT, topic_administration
from admin.share_entities import DEFAULT_PARTITIONS, ShareEntities, entity_topic
from contracts.errors import ContractError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics

if TYPE_CHECKING:  # imported when a database is opened: without one, its libraries are not waited for
    from identity.shared_subscriptions import SharedSubscriptions

app = typer.Typer(
    help="Make, list and remove what APPLICATIONs share: $share/GROUP/FILTER.", no_args_is_help=True
)

Filter = Annotated[str, typer.Argument(help="The topic filter, without $share/GROUP/.")]
ReplicationFactor = Annotated[
    int | None,
    typer.Option(min=1, help="Copies of each partition.", show_default="the cluster's default"),
]
Properties = Annotated[
    str,
    typer.Option(
        envvar="TB_KAFKA_APP_PERSISTED_MSG_TOPIC_PROPERTIES",
        help="Settings of the Kafka topic, name:value;name:value.",
    ),
]


@app.command()
def create(
    filter: Filter,
    kafka: Kafka,
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many gateways can share the work. It must not change later.",
            show_default=f"{DEFAULT_PARTITIONS}, or what the database says",
        ),
    ] = None,
    replication_factor: ReplicationFactor = None,
    properties: Properties = "",
    topic_prefix: Prefix = DEFAULT_PREFIX,
    database: OptionalDatabaseUrl = None,
) -> None:
    """Make what applications need to share subscriptions to a filter; all groups on it use the same."""
    entity_topic(
        _names(topic_prefix), filter, properties=properties
    )  # what can't be is told before Kafka is asked
    with _opened(kafka, topic_prefix, database, replication_factor, properties) as entities:
        present = entities.create(filter, partitions)
    if partitions is not None and present.partitions != partitions:
        tell(f"It has {present.partitions} partitions, not {partitions}, and keeps them.")


@app.command("list")
def list_entities(
    kafka: Kafka, topic_prefix: Prefix = DEFAULT_PREFIX, database: OptionalDatabaseUrl = None
) -> None:
    """List what there is; where a filter's name is a hash, only a database knows the filter."""
    with _opened(kafka, topic_prefix, database) as entities:
        found, stored = entities.list(), entities.stored
    columns: list[str | Column] = ["filter", "partitions", Column("Kafka topic", no_wrap=True)]
    table = Table(*columns) if stored is None else Table(*columns, "amiss")
    for one in found:
        cells: list[str | Text] = [plain(one.filter or "?"), str(one.partitions), one.topic]
        table.add_row(*cells) if stored is None else table.add_row(*cells, one.difference)
    out.print(table)
    if stored is not None and any(one.difference for one in found):
        tell("Kafka and the database differ: `sluicemq share mend` brings them into agreement.")


@app.command()
def mend(
    kafka: Kafka,
    replication_factor: ReplicationFactor = None,
    properties: Properties = "",
    topic_prefix: Prefix = DEFAULT_PREFIX,
    database: OptionalDatabaseUrl = None,
) -> None:
    """Bring Kafka and the database into agreement; nothing is removed.

    Kafka topics that are missing are made. Those that the database does not know, or knows with another number of
    partitions, are written there as they are. Exit status 1 when the filter of one cannot be known.
    """
    if database is None:
        raise UsageError("There is no database to agree with: set SLUICEMQ_DATABASE, or give --database.")
    with _opened(kafka, topic_prefix, database, replication_factor, properties) as entities:
        mended = entities.mend()
    if mended.unknown:
        raise AdminError(
            f"The filter of {', '.join(mended.unknown)} is not known, as the name is a hash of it:"
            " `sluicemq share create FILTER` stores it."
        )
    if not mended.made and not mended.stored:
        tell("Kafka and the database agree.")


@app.command()
def remove(
    filter: Filter, kafka: Kafka, topic_prefix: Prefix = DEFAULT_PREFIX, database: OptionalDatabaseUrl = None
) -> None:
    """Remove it, and all messages that no group has taken yet; who has subscribed gets no more."""
    entity_topic(_names(topic_prefix), filter)
    with _opened(kafka, topic_prefix, database) as entities:
        name = entities.remove(filter)
    if name is None:
        raise AdminError(f"There is nothing for {filter}: `sluicemq share list` shows what there is.")
    tell(f"Removed {name}")


@contextmanager
def _stored(url: str | None) -> Iterator[SharedSubscriptions | None]:
    """The database's entities; None without a database."""
    if url is None:
        yield None
        return
    with identity_database(url) as repositories:
        yield repositories.shared


@contextmanager
def _opened(
    kafka: str, prefix: str, database: str | None, replication_factor: int | None = None, properties: str = ""
) -> Iterator[ShareEntities]:
    names = _names(prefix)
    with _stored(database) as stored, topic_administration(kafka) as administration:
        yield ShareEntities(
            administration, names, stored, replication_factor or BROKER_DEFAULT, properties, tell
        )


def _names(prefix: str) -> KafkaTopics:
    try:
        return KafkaTopics(prefix)
    except ContractError as error:
        raise AdminError(f"{error}.") from error
