"""Alembic's entry point: runs the migrations on the connection that it is given.

`sql.schema.upgrade` passes its connection along, within a transaction of its own. To write a
new revision, give Alembic's command line a `sqlalchemy.url` instead.
"""

from alembic import context
from sqlalchemy import Connection, create_engine

from agui_bridge.stores.sql.schema import VERSION_TABLE
from agui_bridge.stores.sql.tables import metadata


def migrate(connection: Connection) -> None:
    """Run what is outstanding."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table=VERSION_TABLE,
        # SQLite alters a table only by making it anew.
        render_as_batch=connection.dialect.name == "sqlite",
    )
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    url = context.config.get_main_option("sqlalchemy.url")
    assert url is not None, "set sqlalchemy.url, or pass a connection in config.attributes"
    with create_engine(url).begin() as own:
        migrate(own)
