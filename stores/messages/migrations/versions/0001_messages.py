"""Messages by topic and offset, and how far each partition of `tbmq.msg.all` is in.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _long() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "message_position",
        sa.Column("kafka_partition", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("next_offset", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "message_topic",
        sa.Column("id", _long(), primary_key=True, autoincrement=True),
        sa.Column("topic", sa.Text, nullable=False, unique=True),
        sa.Column("last_offset", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "message",
        sa.Column("topic_id", _long(), primary_key=True, autoincrement=False),
        sa.Column("topic_offset", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("kafka_partition", sa.Integer, nullable=False),
        sa.Column("kafka_offset", sa.BigInteger, nullable=False),
        sa.Column("qos", sa.SmallInteger, nullable=False),
        sa.Column("client_id", sa.Text, nullable=False),
        sa.Column("headers", sa.Text, nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_index("message_at", "message", ["at_ms"])


def downgrade() -> None:
    """Drop the tables; of what they held, the log has what is not past its retention."""
    for table in ("message", "message_topic", "message_position"):
        op.drop_table(table)
