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
from admin.kafka_topics import BROKER_DEFAULT, TopicAdministration, topic_administration
from admin.share_entities import ShareEntity, compare
from contracts.errors import ContractError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopic, KafkaTopics, parse_topic_properties
from contracts.shared_record import is_group
from contracts.topics import canonical_filter, validate_filter

if TYPE_CHECKING:  # imported when a database is opened: without one, its libraries are not waited for
    from identity.shared_subscriptions import SharedSubscriptions

app = typer.Typer(
    help="Make, list and remove what APPLICATIONs share: $share/GROUP/FILTER.", no_args_is_help=True
)
DEFAULT_PARTITIONS = 4

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
    wanted = _entity(topic_prefix, filter, partitions or DEFAULT_PARTITIONS, properties)
    with _stored(database) as stored, topic_administration(kafka) as administration:
        if stored is not None and partitions is None:
            known = {one.filter: one.partitions for one in stored.list()}
            wanted = _entity(topic_prefix, filter, known.get(filter, wanted.partitions), properties)
        _make(administration, [wanted], replication_factor)
        present = next(iter(administration.existing([wanted.name])), wanted)
        if stored is not None:
            _store(stored, filter, present.partitions)
    if partitions is not None and present.partitions != partitions:
        tell(f"It has {present.partitions} partitions, not {partitions}, and keeps them.")


@app.command("list")
def list_entities(
    kafka: Kafka, topic_prefix: Prefix = DEFAULT_PREFIX, database: OptionalDatabaseUrl = None
) -> None:
    """List what there is; where a filter's name is a hash, only a database knows the filter."""
    names = _names(topic_prefix)
    with _stored(database) as stored, topic_administration(kafka) as administration:
        found = _found(names, administration, stored)
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
    names = _names(topic_prefix)
    with _stored(database) as stored, topic_administration(kafka) as administration:
        if stored is None:
            raise UsageError("There is no database to agree with: set SLUICEMQ_DATABASE, or give --database.")
        differing = [one for one in _found(names, administration, stored) if one.difference]
        missing = [
            _entity(topic_prefix, one.filter, one.partitions, properties)
            for one in differing
            if one.in_kafka is None and one.filter is not None
        ]
        _make(administration, missing, replication_factor)
        for one in differing:
            if one.filter is not None and one.in_database != one.partitions:
                _store(stored, one.filter, one.partitions)
    nameless = [one.topic for one in differing if one.filter is None]
    if nameless:
        raise AdminError(
            f"The filter of {', '.join(nameless)} is not known, as the name is a hash of it:"
            " `sluicemq share create FILTER` stores it."
        )
    if not differing:
        tell("Kafka and the database agree.")


@app.command()
def remove(
    filter: Filter, kafka: Kafka, topic_prefix: Prefix = DEFAULT_PREFIX, database: OptionalDatabaseUrl = None
) -> None:
    """Remove it, and all messages that no group has taken yet; who has subscribed gets no more."""
    name = _entity(topic_prefix, filter).name
    with _stored(database) as stored, topic_administration(kafka) as administration:
        was_stored = stored is not None and _forget(stored, filter)
        if not administration.remove(name) and not was_stored:
            raise AdminError(f"There is no {name}: `sluicemq share list` shows what there is.")
    tell(f"Removed {name}")


@contextmanager
def _stored(url: str | None) -> Iterator[SharedSubscriptions | None]:
    """The database's entities; None without a database."""
    if url is None:
        yield None
        return
    with identity_database(url) as repositories:
        yield repositories.shared


def _found(
    names: KafkaTopics, administration: TopicAdministration, stored: SharedSubscriptions | None
) -> list[ShareEntity]:
    topics = administration.existing(prefix=names.application_share_prefix)
    return compare(names, topics, [] if stored is None else stored.list())


def _make(
    administration: TopicAdministration, wanted: list[KafkaTopic], replication_factor: int | None
) -> None:
    created = administration.create(wanted, replication_factor or BROKER_DEFAULT)
    for topic in wanted:
        tell(f"Created {topic.name}" if topic.name in created else f"{topic.name} was there already.")


def _store(stored: SharedSubscriptions, filter: str, partitions: int) -> None:
    """Have the database say what Kafka has, and tell if it said something else."""
    from identity.shared_subscriptions import SharedSubscription

    entity = SharedSubscription(filter, partitions)
    known = {one.filter: one for one in stored.list()}.get(filter)
    if known == entity:
        return
    stored.put(entity)
    before = "" if known is None else f", where it had {known.partitions}"
    tell(f"Stored {filter} with {partitions} partitions in the database{before}")


def _forget(stored: SharedSubscriptions, filter: str) -> bool:
    """Whether the database knew it."""
    from identity.errors import NotThereError

    try:
        stored.remove(filter)
    except NotThereError:
        return False
    return True


def _names(prefix: str) -> KafkaTopics:
    try:
        return KafkaTopics(prefix)
    except ContractError as error:
        raise AdminError(f"{error}.") from error


def _entity(
    prefix: str, filter: str, partitions: int = DEFAULT_PARTITIONS, properties: str = ""
) -> KafkaTopic:
    if is_group(canonical_filter(filter)):
        raise AdminError(f"{filter} names a group: give the filter alone, all groups share what is made.")
    try:
        validate_filter(filter)
        settings = parse_topic_properties(properties)
    except ContractError as error:
        raise AdminError(f"{error}.") from error
    return _names(prefix).of_application_share(filter, partitions, settings)
