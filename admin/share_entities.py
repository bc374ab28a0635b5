"""What APPLICATIONs share, as Kafka has it and as the database of identity does: compared, and brought into agreement.

A Kafka topic counts where there is one: gateways serve from it, and its partitions can't become fewer. The database
says what there is to be, and which filter a name that is a hash stands for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contracts.application_shares import filter_of
from contracts.kafka_topics import KafkaTopic, KafkaTopics

if TYPE_CHECKING:  # its libraries are loaded with the database, if there is one
    from identity.shared_subscriptions import SharedSubscription


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
