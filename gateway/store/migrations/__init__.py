"""A store of an older schema brought up to ours: whole, or left as it was.

Each schema has a module of its own under `versions`, which names nothing of the present tables:
what it does must stay what it did. The number in `about` says which one a store holds.
"""

from importlib import import_module
from typing import Any

from sqlalchemy import text

OLDEST = 4  # older ones lived for a day, and nobody has them


def bring_up(connection: Any, found: int, wanted: int) -> None:
    """Change the tables from one schema to another, in the transaction that the caller gives."""
    # Alembic costs a third of a second to load, and is needed once in a store's life.
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    context = MigrationContext.configure(connection, opts={"transactional_ddl": True})
    with Operations.context(context) as op:
        for schema in range(found + 1, wanted + 1):
            import_module(f"{__name__}.versions.schema_{schema}").upgrade(op)
            connection.execute(text("UPDATE about SET schema = :schema"), {"schema": schema})
