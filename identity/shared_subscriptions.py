"""Entities of shared subscriptions: what APPLICATIONs share, one Kafka topic for each filter.

Here stands what there is to be; `sluicemq share` makes the Kafka topics.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, exc, select

from contracts.errors import TopicError
from contracts.topics import parse_share, validate_filter
from identity.credentials_row import key_of
from identity.database import Database, Group
from identity.errors import AlreadyThereError, InvalidError, NotThereError
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

    def add(self, entity: SharedSubscription) -> None:
        """Store a new one.

        Raises:
            InvalidError: It cannot be.
            AlreadyThereError: There is one for that filter.
        """
        try:
            validate_filter(entity.filter)
            if parse_share(entity.filter) is not None:
                raise InvalidError(
                    f"{entity.filter!r} names a group: give the filter alone, all groups share it"
                )
        except TopicError as error:
            raise InvalidError(str(error)) from None
        if entity.partitions < 1:
            raise InvalidError(f"{entity.partitions} partitions cannot be: give it one at least")
        with self._database.changing(Group.SHARED_SUBSCRIPTIONS) as (session, _):
            session.add(
                SharedSubscriptionRow(
                    filter_key=key_of(entity.filter), filter=entity.filter, partitions=entity.partitions
                )
            )
            try:
                session.flush()
            except exc.IntegrityError:
                raise AlreadyThereError(
                    f"there is a shared subscription for {entity.filter!r} already"
                ) from None

    def remove(self, filter: str) -> None:
        """Remove the one of a filter.

        Raises:
            NotThereError: There is none.
        """
        with self._database.changing(Group.SHARED_SUBSCRIPTIONS) as (session, _):
            gone = delete(SharedSubscriptionRow).where(SharedSubscriptionRow.filter_key == key_of(filter))
            if not session.scalars(gone.returning(SharedSubscriptionRow.partitions)).all():
                raise NotThereError(f"there is no shared subscription for {filter!r}")
