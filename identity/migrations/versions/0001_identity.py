"""Credentials, users of the administration, shared subscriptions, blocked and unauthorized clients, revisions.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_GROUPS = ("credentials", "users", "shared_subscriptions", "blocked")


def _id() -> sa.Column[int]:
    return sa.Column(
        "id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True
    )


def _text(name: str, *, nullable: bool = False, unique: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable, unique=unique)


def _number(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=nullable)


def _credentials() -> None:
    op.create_table(
        "mqtt_credentials",
        _id(),
        _text("name", unique=True),
        _text("kind"),
        _text("client_type"),
        _text("lookup_key", unique=True),
        _text("client_id", nullable=True),
        _text("username", nullable=True),
        _text("password_hash", nullable=True),
        _text("common_name", nullable=True),
        sa.Column("is_pattern", sa.Boolean, nullable=False),
        _text("verifiers", nullable=True),
        _text("publish_rules", nullable=True),
        _text("subscribe_rules", nullable=True),
        _number("revision"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_mqtt_credentials_kind", "mqtt_credentials", ["kind"])


def _users() -> None:
    op.create_table(
        "admin_user", _id(), _text("name", unique=True), _number("created_at"), sqlite_autoincrement=True
    )
    op.create_table(
        "admin_user_credentials",
        sa.Column("user_id", sa.BigInteger, primary_key=True, autoincrement=False),
        _text("password_hash"),
        _number("changed_at"),
    )


def upgrade() -> None:
    """Make the tables; there is no user, so nobody can log in before the first one is added."""
    revisions = op.create_table(
        "identity_revision", sa.Column("table_group", sa.Text, primary_key=True), _number("revision")
    )
    op.bulk_insert(revisions, [{"table_group": group, "revision": 0} for group in _GROUPS])
    _credentials()
    _users()
    op.create_table(
        "shared_subscription",
        sa.Column("filter_key", sa.Text, primary_key=True),
        _text("filter"),
        _number("partitions"),
    )
    op.create_table(
        "blocked_client",
        sa.Column("entry_key", sa.Text, primary_key=True),
        _text("subject"),
        _text("value"),
        sa.Column("is_pattern", sa.Boolean, nullable=False),
        _text("reason"),
        _number("expires_at", nullable=True),
        _number("created_at"),
    )
    op.create_table(
        "unauthorized_client",
        sa.Column("client_key", sa.Text, primary_key=True),
        _text("client_id"),
        _text("address"),
        _text("username", nullable=True),
        _text("reason"),
        _number("last_at"),
        _number("attempts"),
    )
    op.create_index("ix_unauthorized_client_last_at", "unauthorized_client", ["last_at"])


def downgrade() -> None:
    """Drop the tables, and all that they held."""
    for table in (
        "unauthorized_client", "blocked_client", "shared_subscription", "admin_user_credentials", "admin_user",
        "mqtt_credentials", "identity_revision",
    ):  # fmt: skip
        op.drop_table(table)
