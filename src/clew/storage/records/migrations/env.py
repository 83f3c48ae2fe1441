"""Run by Alembic: migrates on the connection, and in the transaction, that ``migrating.upgrade`` holds."""

from alembic import context

from clew.storage.records.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
