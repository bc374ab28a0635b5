"""The tables' history (Alembic). `identity.database` brings a database up to date when it is opened."""
