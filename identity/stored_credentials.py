"""MQTT credentials in the database: what providers look up, and what the administration lists and changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Select, bindparam, delete, exc, select
from sqlalchemy.orm import Session

from identity.answers import Rules
from identity.credentials import (
    BasicCredentials,
    Credentials,
    Kind,
    ScramCredentials,
    X509Credentials,
    check_credentials,
)
from identity.credentials_row import basic_key, read, scram_key, write
from identity.database import Database, Group
from identity.errors import AlreadyThereError, InvalidError, NotThereError
from identity.models import CredentialsRow, RevisionRow

# Made once, and without the mapping: at each CONNECT, making them would take longer than the database does.
_BASIC = (
    select(RevisionRow.revision.label("of_all"), *CredentialsRow.__table__.columns)
    .select_from(RevisionRow)
    .outerjoin(
        CredentialsRow,
        CredentialsRow.lookup_key.in_([bindparam("both"), bindparam("client"), bindparam("user")]),
    )
    .where(RevisionRow.table_group == Group.CREDENTIALS.value)
)


class StoredCredentials:
    """The credentials of a database.

    Blocking: call it in a thread. Every method raises `DatabaseUnavailableError` where the database does not answer.
    """

    def __init__(self, database: Database) -> None:
        """Of this database."""
        self._database = database

    def revision(self) -> int:
        """Grows with each change of any credentials; one small query."""
        return self._database.revisions()[Group.CREDENTIALS]

    def basic(self, client_id: str, username: str | None) -> tuple[int, list[BasicCredentials]]:
        """The revision, and the basic credentials for a client, the most specific first.

        That is: those for both its names, then for its client id, then for its user name.
        """
        keys = [
            basic_key(client_id, username) if client_id and username else None,
            basic_key(client_id, None) if client_id else None,
            basic_key(None, username) if username else None,
        ]
        with self._database.asking() as connection:
            rows = connection.execute(_BASIC, {"both": keys[0], "client": keys[1], "user": keys[2]}).all()
        # Without credentials it is one row, with the revision alone.
        found = {row.lookup_key: read(row) for row in rows if row.lookup_key is not None}
        ordered = [found[key] for key in keys if key in found]
        return rows[0].of_all, [one for one in ordered if isinstance(one, BasicCredentials)]

    def x509(self) -> Sequence[X509Credentials]:
        """All of this kind, exact names before patterns, each by name."""
        chosen = select(CredentialsRow).where(CredentialsRow.kind == Kind.X509)
        with self._database.reading() as session:
            rows = session.scalars(chosen.order_by(CredentialsRow.is_pattern, CredentialsRow.name)).all()
            found = [read(row) for row in rows]
        return [one for one in found if isinstance(one, X509Credentials)]

    def scram(self, username: str) -> ScramCredentials | None:
        """Those of a user name; None where there are none."""
        key = scram_key(username)
        with self._database.reading() as session:
            row = session.scalars(select(CredentialsRow).filter_by(lookup_key=key)).one_or_none()
            found = None if row is None else read(row)
        return found if isinstance(found, ScramCredentials) else None

    def by_ids(self, ids: Iterable[int]) -> dict[int, Credentials]:
        """Those of these ids that there still are: for a gateway whose connected clients' rules may have changed."""
        wanted = list(ids)
        found: dict[int, Credentials] = {}
        with self._database.reading() as session:
            for start in range(0, len(wanted), 500):  # SQLite takes so many values in one statement, and more
                chosen = select(CredentialsRow).where(CredentialsRow.id.in_(wanted[start : start + 500]))
                found |= {row.id: read(row) for row in session.scalars(chosen)}
        return found

    def list(self) -> list[Credentials]:
        """All, by name."""
        with self._database.reading() as session:
            return [
                read(row) for row in session.scalars(select(CredentialsRow).order_by(CredentialsRow.name))
            ]

    def get(self, name: str) -> Credentials:
        """Those of a name.

        Raises:
            NotThereError: There are none.
        """
        with self._database.reading() as session:
            row = session.scalars(_named(name)).one_or_none()
            if row is None:
                raise _not_there(name)
            return read(row)

    def add(self, credentials: Credentials) -> Credentials:
        """Store new ones; returned as they are stored.

        Raises:
            InvalidError: They cannot be.
            AlreadyThereError: Their name, or the client that they are for, has some.
        """
        check_credentials(credentials)
        with self._database.changing(Group.CREDENTIALS) as (session, revision):
            return _insert(session, credentials, revision)

    def put(self, many: Iterable[Credentials], *, allow_no_password: bool = False) -> tuple[int, int]:
        """Store many, all or none: those whose name is there replace what it has. Returns (added, replaced).

        Basic credentials without a password keep the one of those that they replace. Where there is none to keep, they
        let in whoever gives their names, which must be meant: `allow_no_password`.

        Raises:
            InvalidError: Some cannot be.
            AlreadyThereError: The client that some are for has others, under another name.
        """
        ready = list(many)
        for credentials in ready:
            check_credentials(credentials)
        added = 0
        with self._database.changing(Group.CREDENTIALS) as (session, revision):
            for credentials in ready:
                row = session.scalars(_named(credentials.name)).one_or_none()
                stored = None if row is None else read(row)
                kept = _with_password_of(stored, credentials)
                if (
                    isinstance(kept, BasicCredentials)
                    and kept.password_hash is None
                    and not allow_no_password
                ):
                    raise InvalidError(f"the credentials {kept.name!r} have no password: give them one")
                if row is None:
                    _insert(session, kept, revision)
                    added += 1
                else:
                    write(row, kept, revision)
                    _flush(session, kept.name)
        return added, len(ready) - added

    def remove(self, name: str) -> None:
        """Remove those of a name.

        Raises:
            NotThereError: There are none; no revision is raised.
        """
        with self._database.changing(Group.CREDENTIALS) as (session, _):
            gone = delete(CredentialsRow).where(CredentialsRow.name == name).returning(CredentialsRow.id)
            if not session.scalars(gone).all():
                raise _not_there(name)

    def change_rules(self, changes: Mapping[str, Callable[[Rules], Rules]]) -> dict[str, Credentials]:
        """Change the rules of some, by name, all or none; returned as they are stored now.

        Raises:
            InvalidError: The new rules cannot be.
            NotThereError: There are none of a name.
        """
        changed: dict[str, Credentials] = {}
        with self._database.changing(Group.CREDENTIALS) as (session, revision):
            for name, change in changes.items():
                row = session.scalars(_named(name)).one_or_none()
                if row is None:
                    raise _not_there(name)
                stored = read(row)
                changed[name] = replace(stored, rules=change(stored.rules), revision=revision)
                check_credentials(changed[name])
                write(row, changed[name], revision)
        return changed


def _named(name: str) -> Select[CredentialsRow]:
    return select(CredentialsRow).where(CredentialsRow.name == name)


def _insert(session: Session, credentials: Credentials, revision: int) -> Credentials:
    row = CredentialsRow()
    write(row, credentials, revision)
    session.add(row)
    _flush(session, credentials.name)
    return read(row)


def _with_password_of(stored: Credentials | None, credentials: Credentials) -> Credentials:
    if isinstance(stored, BasicCredentials) and isinstance(credentials, BasicCredentials):
        return replace(credentials, password_hash=credentials.password_hash or stored.password_hash)
    return credentials


def _flush(session: Session, name: str) -> None:
    try:
        session.flush()
    except exc.IntegrityError:
        raise AlreadyThereError(
            f"{name!r} cannot be stored: there are credentials of that name, or for the same client, already"
        ) from None


def _not_there(name: str) -> NotThereError:
    return NotThereError(
        f"there are no credentials {name!r}: `sluicemq credentials list` shows what there is"
    )
