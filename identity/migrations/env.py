"""What Alembic runs: the migrations, on the connection and in the transaction that the caller gives."""

from alembic import context

from identity.models import Model

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Model.metadata,
    # Of its own: a store of persistent sessions, which has a history too, may be in the same database.
    version_table="identity_version",
)
context.run_migrations()
