"""What Alembic runs: the migrations, on the connection and in the transaction that the caller gives."""

from alembic import context

from stores.messages.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    # Of its own: other tables with a history may be in the same database.
    version_table="message_store_version",
)
context.run_migrations()
