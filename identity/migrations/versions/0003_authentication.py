"""Which authentication providers there are, in what order, and their settings.

Revision ID: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_REVISIONS = sa.table(
    "identity_revision", sa.column("table_group", sa.Text), sa.column("revision", sa.BigInteger)
)


def upgrade() -> None:
    """Nothing is chosen here: gateways go on as their environment says."""
    op.create_table(
        "authentication_choice",
        sa.Column("part", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.bulk_insert(_REVISIONS, [{"table_group": "authentication", "revision": 0}])


def downgrade() -> None:
    """What was chosen is forgotten, and gateways do what their environment says."""
    op.drop_table("authentication_choice")
    op.execute(_REVISIONS.delete().where(_REVISIONS.c.table_group == "authentication"))
