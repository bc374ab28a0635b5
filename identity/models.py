"""The tables as they are now; `identity/migrations` is how they came about, docs/identity.md what they hold.

Times are milliseconds since 1970. A `*_key` is a SHA-256 in hex of what must be unique: a client id may be longer than
PostgreSQL's indexes allow.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Integer, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Model(DeclarativeBase):
    """What all tables are registered with."""

    type_annotation_map = {str: Text, int: BigInteger}  # noqa: RUF012


class RevisionRow(Model):
    """How often a group of tables has been changed."""

    __tablename__ = "identity_revision"
    table_group: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int]


# SQLite counts upwards by itself only with a column of type INTEGER; autoincrement: no id is ever given twice.
def _id() -> Mapped[int]:
    return mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True)


class CredentialsRow(Model):
    """Credentials of MQTT clients, of whatever kind; columns of other kinds are null."""

    __tablename__ = "mqtt_credentials"
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012
    id: Mapped[int] = _id()
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str] = mapped_column(index=True)
    client_type: Mapped[str]
    lookup_key: Mapped[str] = mapped_column(unique=True)
    """Of what a client is found by."""
    client_id: Mapped[str | None]
    username: Mapped[str | None]
    password_hash: Mapped[str | None]
    common_name: Mapped[str | None]
    is_pattern: Mapped[bool]
    verifiers: Mapped[str | None]
    """JSON: by mechanism, a list of iterations, and in hex salt, stored key, server key."""
    publish_rules: Mapped[str | None]
    """JSON list of patterns, as in `subscribe_rules`; null: everything is allowed."""
    subscribe_rules: Mapped[str | None]
    revision: Mapped[int]


class UserRow(Model):
    """Users of the administration."""

    __tablename__ = "admin_user"
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012
    id: Mapped[int] = _id()
    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[int]
    role: Mapped[str]


class UserCredentialsRow(Model):
    """How a user of the administration logs in; a table of its own, so that who lists users reads no hashes."""

    __tablename__ = "admin_user_credentials"
    user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    password_hash: Mapped[str]
    changed_at: Mapped[int]


class LoginRow(Model):
    """A browser that is logged in, or a token of a program, which has a name."""

    __tablename__ = "admin_login"
    token_key: Mapped[str] = mapped_column(primary_key=True)
    """SHA-256 of the token, in hex: whoever reads this table cannot log in with it."""
    user_id: Mapped[int] = mapped_column(index=True)
    name: Mapped[str | None]
    created_at: Mapped[int]
    expires_at: Mapped[int]


class SharedSubscriptionRow(Model):
    """Entities of shared subscriptions of APPLICATIONs."""

    __tablename__ = "shared_subscription"
    filter_key: Mapped[str] = mapped_column(primary_key=True)
    filter: Mapped[str]
    partitions: Mapped[int]


class AuthenticationRow(Model):
    """What is chosen about authentication providers."""

    __tablename__ = "authentication_choice"
    part: Mapped[str] = mapped_column(primary_key=True)
    """`order`, or a provider's name."""
    value: Mapped[str]
    """JSON: the list of enabled providers, or an object of the provider's settings, secrets among them."""


class BlockedRow(Model):
    """Who may not connect."""

    __tablename__ = "blocked_client"
    entry_key: Mapped[str] = mapped_column(primary_key=True)
    """Of the next three."""
    subject: Mapped[str]
    value: Mapped[str]
    is_pattern: Mapped[bool]
    reason: Mapped[str]
    expires_at: Mapped[int | None]
    created_at: Mapped[int]


class UnauthorizedRow(Model):
    """Clients that were turned away lately; one row for each client id."""

    __tablename__ = "unauthorized_client"
    client_key: Mapped[str] = mapped_column(primary_key=True)
    client_id: Mapped[str]
    address: Mapped[str]
    username: Mapped[str | None]
    reason: Mapped[str]
    last_at: Mapped[int] = mapped_column(index=True)
    attempts: Mapped[int]
