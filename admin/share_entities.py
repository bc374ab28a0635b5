"""What APPLICATIONs share, as Kafka has it and as the database of identity does: compared, and brought into agreement.

A Kafka topic counts where there is one: gateways serve from it, and its partitions can't become fewer. The database
says what there is to be, and which filter a name that is a hash stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from admin.errors import AdminError
from admin.kafka_topics import BROKER_DEFAULT, TopicAdministration
from contracts.application_shares import filter_of
from contracts.errors import ContractError
from contracts.kafka_topics import KafkaTopic, KafkaTopics, parse_topic_properties
from contracts.shared_record import is_group
from contracts.topics import canonical_filter, validate_filter

if TYPE_CHECKING:  # its libraries are loaded with the database, if there is one
    from identity.shared_subscriptions import SharedSubscription, SharedSubscriptions


@dataclass(frozen=True)
class ShareEntity:
    """One entity, in either of the two or in both."""

    topic: str
    """The Kafka topic's name."""
    filter: str | None
    """None where the name is a hash, and the database does not say of which filter."""
    in_kafka: int | None
    """Partitions of the Kafka topic; None: there is none."""
    in_database: int | None
    """Partitions that the database says; None: it does not know the filter."""

    @property
    def partitions(self) -> int:
        """Those that there are, or are to be."""
        return self.in_kafka or self.in_database or 0

    @property
    def difference(self) -> str:
        """What keeps the two from agreeing, for people to read; empty where they do."""
        if self.in_kafka is None:
            return "no Kafka topic"
        if self.in_database is None:
            return "not in the database"
        return "" if self.in_kafka == self.in_database else f"{self.in_database} partitions in the database"


def compare(
    names: KafkaTopics, topics: Iterable[KafkaTopic], stored: Iterable[SharedSubscription]
) -> list[ShareEntity]:
    """All entities that either has, by the Kafka topic's name.

    Args:
        names: Of the cluster.
        topics: Those Kafka topics whose names begin with `application_share_prefix`.
        stored: What the database has.
    """
    start = names.application_share_prefix
    in_kafka = {topic.name: topic.partitions for topic in topics}
    in_database = {names.application_share(one.filter): one for one in stored}
    found = []
    for topic in sorted(in_kafka.keys() | in_database.keys()):
        entity = in_database.get(topic)
        filter = entity.filter if entity else filter_of(topic.removeprefix(start))
        found.append(ShareEntity(topic, filter, in_kafka.get(topic), entity.partitions if entity else None))
    return found


DEFAULT_PARTITIONS = 4


def entity_topic(
    names: KafkaTopics, filter: str, partitions: int = DEFAULT_PARTITIONS, properties: str = ""
) -> KafkaTopic:
    """The Kafka topic of an entity, as it is to be made; `properties` are as `ShareEntities` has them.

    Raises:
        AdminError: The filter or a property cannot be.
    """
    if is_group(canonical_filter(filter)):
        raise AdminError(f"{filter} names a group: give the filter alone, all groups share what is made.")
    try:
        validate_filter(filter)
        settings = parse_topic_properties(properties)
    except ContractError as error:
        raise AdminError(f"{error}.") from error
    return names.of_application_share(filter, partitions, settings)


@dataclass(frozen=True)
class Mended:
    """What was done to bring the two into agreement."""

    made: list[str]
    """Filters whose Kafka topic was made."""
    stored: list[str]
    """Filters that the database has learned, or learned anew."""
    unknown: list[str]
    """Kafka topics whose filter nobody knows, as the name is a hash of it."""


@dataclass(frozen=True)
class ShareEntities:
    """Makes, lists and removes entities, in Kafka and in the database."""

    administration: TopicAdministration
    names: KafkaTopics
    stored: SharedSubscriptions | None = None
    """The database's; None: there is no database."""
    replication_factor: int = BROKER_DEFAULT
    properties: str = ""
    """Settings of Kafka topics that are made, `name:value;name:value`."""
    tell: Callable[[str], None] = field(default=lambda _: None)
    """Hears in a line what was done."""

    def list(self) -> list[ShareEntity]:
        """All that either of the two has, by the Kafka topic's name."""
        topics = self.administration.existing(prefix=self.names.application_share_prefix)
        return compare(self.names, topics, [] if self.stored is None else self.stored.list())

    def create(self, filter: str, partitions: int | None = None) -> KafkaTopic:
        """Make one, or have the database know the one that is there; it keeps its partitions.

        Args:
            filter: Without `$share/<group>/`.
            partitions: How many; None: what the database says, or `DEFAULT_PARTITIONS`.

        Returns:
            The Kafka topic as it is.

        Raises:
            AdminError: The filter cannot be, or Kafka refuses.
        """
        wanted = self._topic(filter, partitions or DEFAULT_PARTITIONS)
        if self.stored is not None and partitions is None:
            known = {one.filter: one.partitions for one in self.stored.list()}
            wanted = self._topic(filter, known.get(filter, wanted.partitions))
        self._make([wanted])
        present = next(iter(self.administration.existing([wanted.name])), wanted)
        self._store(filter, present.partitions)
        return present

    def mend(self) -> Mended:
        """Bring the two into agreement; nothing is removed."""
        differing = [one for one in self.list() if one.difference]
        made = [one for one in differing if one.in_kafka is None and one.filter is not None]
        self._make([self._topic(one.filter or "", one.partitions) for one in made])
        stored = [one for one in differing if one.filter is not None and one.in_database != one.partitions]
        for one in stored:
            self._store(one.filter or "", one.partitions)
        return Mended(
            [one.filter or "" for one in made],
            [one.filter or "" for one in stored],
            [one.topic for one in differing if one.filter is None],
        )

    def remove(self, filter: str) -> str | None:
        """Remove one, and all messages that no group has taken yet.

        Returns:
            The Kafka topic's name; None where neither of the two has it.

        Raises:
            AdminError: The filter cannot be, or Kafka refuses.
        """
        name = self._topic(filter).name
        was_stored = self._forget(filter)
        return name if self.administration.remove(name) or was_stored else None

    def _topic(self, filter: str, partitions: int = DEFAULT_PARTITIONS) -> KafkaTopic:
        return entity_topic(self.names, filter, partitions, self.properties)

    def _make(self, wanted: Iterable[KafkaTopic]) -> None:
        topics = tuple(wanted)
        created = self.administration.create(topics, self.replication_factor)
        for topic in topics:
            self.tell(
                f"Created {topic.name}" if topic.name in created else f"{topic.name} was there already."
            )

    def _store(self, filter: str, partitions: int) -> None:
        """Have the database say what Kafka has, and tell if it said something else."""
        if self.stored is None:
            return
        from identity.shared_subscriptions import SharedSubscription

        entity = SharedSubscription(filter, partitions)
        known = {one.filter: one for one in self.stored.list()}.get(filter)
        if known == entity:
            return
        self.stored.put(entity)
        before = "" if known is None else f", where it had {known.partitions}"
        self.tell(f"Stored {filter} with {partitions} partitions in the database{before}")

    def _forget(self, filter: str) -> bool:
        """Whether the database knew it."""
        if self.stored is None:
            return False
        from identity.errors import NotThereError

        try:
            self.stored.remove(filter)
        except NotThereError:
            return False
        return True
