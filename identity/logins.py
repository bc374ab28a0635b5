"""Who is logged in to the administration, and the tokens of programs.

A token is random, and only its hash is kept. A user that is removed, or gets another password, is logged out at once;
another role counts from the next request on.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from sqlalchemy import delete, select

from identity.credentials import check_name
from identity.database import Database
from identity.errors import AlreadyThereError, NotThereError
from identity.models import LoginRow, UserRow
from identity.roles import Role

_TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class Login:
    """A token that is valid, and whose."""

    user: str
    role: Role
    name: str | None
    """What its user calls a program's token; None for a browser's."""
    created_at_ms: int
    """Since 1970."""
    expires_at_ms: int
    """Since 1970."""


class Logins:
    """The logins of a database.

    Blocking: call it in a thread. Every method raises `DatabaseUnavailableError` where the database does not answer.
    """

    def __init__(self, database: Database) -> None:
        """Of this database."""
        self._database = database

    def open(self, user: str, seconds: float, name: str | None = None) -> str:
        """A new token for a user, valid so long. It cannot be read again.

        Args:
            user: Whose.
            seconds: How long it is valid.
            name: For a program's token, what it is called; each user's names are unique.

        Raises:
            NotThereError: There is no such user.
            AlreadyThereError: The user has a token of that name.
            InvalidError: The name cannot be.
        """
        if name is not None:
            check_name(name, "token's name", 255)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        now = self._database.now_ms()
        with self._database.writing() as session:
            user_id = session.scalars(select(UserRow.id).filter_by(name=user)).one_or_none()
            if user_id is None:
                raise NotThereError(f"there is no user {user!r}")
            session.execute(delete(LoginRow).where(LoginRow.expires_at <= now))
            if (
                name is not None
                and session.scalars(
                    select(LoginRow.token_key).filter_by(user_id=user_id, name=name)
                ).one_or_none()
            ):
                raise AlreadyThereError(
                    f"there is a token {name!r} already: remove it, or choose another name"
                )
            expires_at = now + int(seconds * 1000)
            session.add(
                LoginRow(
                    token_key=_key(token), user_id=user_id, name=name, created_at=now, expires_at=expires_at
                )
            )
        return token

    def find(self, token: str) -> Login | None:
        """Whose token it is, with the role that the user has now; None: it is not valid."""
        chosen = (
            select(
                LoginRow.name.label("token_name"),
                LoginRow.created_at,
                LoginRow.expires_at,
                UserRow.name,
                UserRow.role,
            )
            .join(UserRow, UserRow.id == LoginRow.user_id)
            .where(LoginRow.token_key == _key(token), LoginRow.expires_at > self._database.now_ms())
        )
        with self._database.asking() as connection:
            row = connection.execute(chosen).one_or_none()
        if row is None:
            return None
        return Login(row.name, Role(row.role), row.token_name, row.created_at, row.expires_at)

    def list_tokens(self, user: str | None = None) -> list[Login]:
        """The programs' tokens that are valid, by user and name; of one user, or of all."""
        chosen = (
            select(LoginRow, UserRow)
            .join(UserRow, UserRow.id == LoginRow.user_id)
            .where(LoginRow.name.is_not(None), LoginRow.expires_at > self._database.now_ms())
            .order_by(UserRow.name, LoginRow.name)
        )
        if user is not None:
            chosen = chosen.where(UserRow.name == user)
        with self._database.reading() as session:
            return [
                Login(owner.name, Role(owner.role), row.name, row.created_at, row.expires_at)
                for row, owner in session.execute(chosen)
            ]

    def close(self, token: str) -> None:
        """Make a token invalid; nothing happens where it is."""
        with self._database.writing() as session:
            session.execute(delete(LoginRow).where(LoginRow.token_key == _key(token)))

    def remove_token(self, user: str, name: str) -> None:
        """Make a program's token invalid.

        Raises:
            NotThereError: The user has none of that name.
        """
        owner = select(UserRow.id).where(UserRow.name == user).scalar_subquery()
        gone = delete(LoginRow).where(LoginRow.user_id == owner, LoginRow.name == name)
        with self._database.writing() as session:
            if not session.scalars(gone.returning(LoginRow.token_key)).all():
                raise NotThereError(f"{user!r} has no token {name!r}")


def _key(token: str) -> str:
    # Tokens have 256 random bits: nothing is gained by making this slow, or by salt.
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
