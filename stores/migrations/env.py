"""What Alembic runs: the migrations, on the connection and in the transaction that the caller gives."""

from alembic import context

from stores.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
