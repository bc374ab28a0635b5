"""Entities of shared subscriptions: what APPLICATIONs share, one Kafka topic for each filter.

Here stands what there is to be; `sluicemq share` makes the Kafka topics, by which gateways serve them, and keeps the
two in agreement.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, select

from contracts.errors import TopicError
from contracts.topics import parse_share, validate_filter
from identity.credentials_row import key_of
from identity.database import Database, Group
from identity.errors import InvalidError, NotThereError
from identity.models import SharedSubscriptionRow


@dataclass(frozen=True, slots=True)
class SharedSubscription:
    """One entity."""

    filter: str
    """Without `$share/<group>/`: all groups use the same."""
    partitions: int


class SharedSubscriptions:
    """The entities of a database.

    Blocking: call it in a thread. Every method raises `DatabaseUnavailableError` where the database does not answer.
    """

    def __init__(self, database: Database) -> None:
        """Of this database."""
        self._database = database

    def list(self) -> list[SharedSubscription]:
        """All, by filter."""
        with self._database.reading() as session:
            rows = session.scalars(select(SharedSubscriptionRow).order_by(SharedSubscriptionRow.filter))
            return [SharedSubscription(row.filter, row.partitions) for row in rows]

    def put(self, *entities: SharedSubscription) -> None:
        """Store these, all or none; one that is there for the same filter takes the new number of partitions.

        Raises:
            InvalidError: One cannot be.
        """
        for entity in entities:
            _check(entity)
        with self._database.changing(Group.SHARED_SUBSCRIPTIONS) as (session, _):
            for entity in entities:
                key = key_of(entity.filter)
                session.merge(
                    SharedSubscriptionRow(filter_key=key, filter=entity.filter, partitions=entity.partitions)
                )

    def remove(self, filter: str) -> None:
        """Remove the one of a filter.

        Raises:
            NotThereError: There is none.
        """
        with self._database.changing(Group.SHARED_SUBSCRIPTIONS) as (session, _):
            gone = delete(SharedSubscriptionRow).where(SharedSubscriptionRow.filter_key == key_of(filter))
            if not session.scalars(gone.returning(SharedSubscriptionRow.partitions)).all():
                raise NotThereError(f"there is no shared subscription for {filter!r}")


def _check(entity: SharedSubscription) -> None:
    try:
        validate_filter(entity.filter)
        is_group = parse_share(entity.filter) is not None
    except TopicError as error:
        raise InvalidError(str(error)) from None
    if is_group:
        raise InvalidError(f"{entity.filter!r} names a group: give the filter alone, all groups share it")
    if entity.partitions < 1:
        raise InvalidError(f"{entity.partitions} partitions cannot be: give it one at least")
