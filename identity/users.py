"""Users of the administration. There is none until the first is added: no password is ever given by default."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, exc, func, select
from sqlalchemy.orm import Session

from identity.credentials import check_name
from identity.database import Database, Group
from identity.errors import AlreadyThereError, InvalidError, LastAdministratorError, NotThereError
from identity.models import LoginRow, UserCredentialsRow, UserRow
from identity.passwords import hash_password, is_password, spend_a_check
from identity.roles import Role

MIN_PASSWORD = 8
"""Characters of a user's password."""


@dataclass(frozen=True, slots=True)
class User:
    """One who may use the administration."""

    name: str
    created_at_ms: int
    """Since 1970."""
    role: Role


class Users:
    """The users of a database.

    Blocking: call it in a thread. Every method raises `DatabaseUnavailableError` where the database does not answer.
    """

    def __init__(self, database: Database) -> None:
        """Of this database."""
        self._database = database

    def list(self) -> list[User]:
        """All, by name."""
        with self._database.reading() as session:
            rows = session.scalars(select(UserRow).order_by(UserRow.name)).all()
            return [_user(row) for row in rows]

    def count(self) -> int:
        """How many there are; none: nobody can log in."""
        with self._database.reading() as session:
            return session.scalars(select(func.count()).select_from(UserRow)).one()

    def add(self, name: str, password: str, role: Role = Role.ADMINISTRATOR) -> User:
        """Add a user.

        Raises:
            InvalidError: Name or password cannot be.
            AlreadyThereError: There is one of that name.
            LastAdministratorError: It would be the first user, and no administrator: nobody could add others.
        """
        check_name(name, "user's name", 255)
        password_hash = _hash(password)
        now = self._database.now_ms()
        with self._database.changing(Group.USERS) as (session, _):
            row = UserRow(name=name, created_at=now, role=role)
            session.add(row)
            try:
                session.flush()
            except exc.IntegrityError:
                raise AlreadyThereError(
                    f"there is a user {name!r} already: `sluicemq users password` changes a password"
                ) from None
            session.add(UserCredentialsRow(user_id=row.id, password_hash=password_hash, changed_at=now))
            _check_administrator_is_left(session, name)
        return User(name, now, role)

    def set_password(self, name: str, password: str) -> None:
        """Give a user another password, which logs it out everywhere; its tokens go, too.

        Raises:
            InvalidError: The password cannot be.
            NotThereError: There is no such user.
        """
        password_hash = _hash(password)
        with self._database.changing(Group.USERS) as (session, _):
            user_id = session.scalars(select(UserRow.id).filter_by(name=name)).one_or_none()
            if user_id is None:
                raise _not_there(name)
            row = session.get_one(UserCredentialsRow, user_id)
            row.password_hash = password_hash
            row.changed_at = self._database.now_ms()
            session.execute(delete(LoginRow).where(LoginRow.user_id == user_id))

    def set_role(self, name: str, role: Role) -> None:
        """Give a user another role, from the next request on.

        Raises:
            NotThereError: There is no such user.
            LastAdministratorError: Nobody could add users any more.
        """
        with self._database.changing(Group.USERS) as (session, _):
            row = session.scalars(select(UserRow).filter_by(name=name)).one_or_none()
            if row is None:
                raise _not_there(name)
            row.role = role
            session.flush()
            _check_administrator_is_left(session, name)

    def remove(self, name: str, *, even_last: bool = False) -> None:
        """Remove a user, and with it its tokens.

        Args:
            name: Whose.
            even_last: Also the last administrator, for one who has the database itself.

        Raises:
            NotThereError: There is none of that name.
            LastAdministratorError: Nobody could add users any more.
        """
        with self._database.changing(Group.USERS) as (session, _):
            user_id = session.scalars(select(UserRow.id).filter_by(name=name)).one_or_none()
            if user_id is None:
                raise _not_there(name)
            for table in (UserCredentialsRow, LoginRow):
                session.execute(delete(table).where(table.user_id == user_id))
            session.execute(delete(UserRow).where(UserRow.id == user_id))
            if not even_last:
                _check_administrator_is_left(session, name)

    def authenticate(self, name: str, password: str) -> User | None:
        """The user whose name and password these are; it takes as long where there is no such user."""
        chosen = (
            select(UserRow, UserCredentialsRow.password_hash)
            .join(UserCredentialsRow, UserCredentialsRow.user_id == UserRow.id)
            .where(UserRow.name == name)
        )
        with self._database.reading() as session:
            found = session.execute(chosen).one_or_none()
            user = None if found is None else _user(found[0])
        # Outside the transaction: a check takes longer than a query should hold the database.
        if found is None:
            spend_a_check(password.encode(errors="replace"))
            return None
        return user if is_password(password.encode(errors="replace"), found[1]) else None


def _user(row: UserRow) -> User:
    return User(row.name, row.created_at, Role(row.role))


def _check_administrator_is_left(session: Session, name: str) -> None:
    administrators = select(func.count()).select_from(UserRow).filter_by(role=Role.ADMINISTRATOR)
    if session.scalars(administrators).one() == 0:
        raise LastAdministratorError(
            f"there would be no administrator without {name!r}: make another user one before"
        )


def _hash(password: str) -> str:
    if len(password) < MIN_PASSWORD:
        raise InvalidError(f"the password is too short: give it at least {MIN_PASSWORD} characters")
    try:
        return hash_password(password.encode())
    except UnicodeEncodeError:
        raise InvalidError("the password is not valid UTF-8: choose another") from None


def _not_there(name: str) -> NotThereError:
    return NotThereError(f"there is no user {name!r}: `sluicemq users list` shows who there is")
