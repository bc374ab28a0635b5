"""Messages of persistent clients, received marks, and how far each partition of the log is in.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _partition() -> sa.Column[int]:
    return sa.Column("kafka_partition", sa.Integer, primary_key=True, autoincrement=False)


def _client_id() -> sa.Column[str]:
    return sa.Column("client_id", sa.Text, primary_key=True)


def _log_offset() -> sa.Column[int]:
    return sa.Column("log_offset", sa.BigInteger, primary_key=True, autoincrement=False)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "persisted_position",
        _partition(),
        sa.Column("next_offset", sa.BigInteger, nullable=False),
        sa.Column("marks", sa.Text, nullable=False),
        sa.Column("dropped", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "persisted_seen",
        _partition(),
        _client_id(),
        sa.Column("filters", sa.Text, nullable=False),
    )
    op.create_table(
        "persisted_message",
        _partition(),
        _client_id(),
        _log_offset(),
        sa.Column("stored_at_ms", sa.BigInteger, nullable=False),
        sa.Column("headers", sa.Text, nullable=False),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_index("persisted_message_stored_at", "persisted_message", ["stored_at_ms"])
    op.create_table("persisted_received", _partition(), _client_id(), _log_offset())


def downgrade() -> None:
    """Drop the tables; the log still has what they held."""
    for table in ("persisted_received", "persisted_message", "persisted_seen", "persisted_position"):
        op.drop_table(table)
