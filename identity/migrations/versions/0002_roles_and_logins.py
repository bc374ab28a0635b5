"""Roles of the administration's users, who is logged in, and tokens of programs.

Revision ID: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Users that there are keep what they could do, which was everything."""
    op.add_column("admin_user", sa.Column("role", sa.Text, nullable=False, server_default="administrator"))
    op.create_table(
        "admin_login",
        sa.Column("token_key", sa.Text, primary_key=True),
        sa.Column("user_id", sa.BigInteger, nullable=False),
        sa.Column("name", sa.Text, nullable=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_admin_login_user_id", "admin_login", ["user_id"])


def downgrade() -> None:
    """Everybody is logged out, and may do everything again."""
    op.drop_table("admin_login")
    op.drop_column("admin_user", "role")
