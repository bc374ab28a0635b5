"""Values by node, counter and time, and how far each partition of `tbmq.sys.historical.data` is in.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "statistics_position",
        sa.Column("kafka_partition", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("next_offset", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "statistics_value",
        sa.Column("node", sa.Text, primary_key=True),
        sa.Column("counter", sa.Text, primary_key=True),
        sa.Column("at_ms", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    op.create_index("statistics_value_at", "statistics_value", ["at_ms"])


def downgrade() -> None:
    """Drop the tables; of what they held, the log has what is not past its retention."""
    for table in ("statistics_value", "statistics_position"):
        op.drop_table(table)
