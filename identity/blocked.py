"""Blocked clients in the database."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import delete, select

from identity.block_list import Block, Subject
from identity.credentials_row import key_of
from identity.database import Database, Group
from identity.errors import NotThereError
from identity.models import BlockedRow


class BlockedClients:
    """The blocked clients of a database.

    Blocking: call it in a thread. Every method raises `DatabaseUnavailableError` where the database does not answer.
    """

    def __init__(self, database: Database) -> None:
        """Of this database."""
        self._database = database

    def list(self) -> list[Block]:
        """All, expired ones too, by subject and value."""
        with self._database.reading() as session:
            rows = session.scalars(select(BlockedRow).order_by(BlockedRow.subject, BlockedRow.value))
            return [
                Block(Subject(row.subject), row.value, row.is_pattern, row.reason, row.expires_at)
                for row in rows
            ]

    def put(self, blocks: Iterable[Block]) -> int:
        """Add some, all or none; one for the same subject and value is replaced. Returns how many there were.

        Raises:
            InvalidError: One cannot be.
        """
        checked = [block.checked() for block in blocks]
        now = self._database.now_ms()
        with self._database.changing(Group.BLOCKED) as (session, _):
            for block in checked:
                row = BlockedRow(entry_key=_key(block), created_at=now)
                row.subject, row.value, row.is_pattern = block.subject, block.value, block.is_pattern
                row.reason, row.expires_at = block.reason, block.expires_at_ms
                session.merge(row)
        return len(checked)

    def remove(self, block: Block) -> None:
        """Let in again whom an entry keeps out; its reason and expiry do not matter.

        Raises:
            InvalidError: There can be no such entry.
            NotThereError: There is no such entry.
        """
        with self._database.changing(Group.BLOCKED) as (session, _):
            gone = delete(BlockedRow).where(BlockedRow.entry_key == _key(block.checked()))
            if not session.scalars(gone.returning(BlockedRow.value)).all():
                raise NotThereError(
                    f"{block.value!r} is not blocked by {block.subject}{' pattern' if block.is_pattern else ''}: "
                    "`sluicemq blocked list` shows who is"
                )

    def drop_expired(self) -> int:
        """Remove what has expired; returns how many. Nobody is let in by it, so no revision is raised."""
        with self._database.writing() as session:
            gone = delete(BlockedRow).where(BlockedRow.expires_at <= self._database.now_ms())
            return len(session.scalars(gone.returning(BlockedRow.entry_key)).all())


def _key(block: Block) -> str:
    return key_of(block.subject, block.value, block.is_pattern)
