"""The SQL tables' history (Alembic). `stores.sql_engine` brings a database up to date when a store is opened."""
