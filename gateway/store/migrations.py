"""A store of an older schema brought up to ours: whole, or left as it was.

Each change names nothing of the present tables: what it does must stay what it did. The number in
`about` says which schema a store holds.
"""

from typing import Any

from sqlalchemy import Column, Float, Integer, String, text

OLDEST = 6  # older ones lived for days, before the first release, and nobody has them


def bring_up(connection: Any, found: int, wanted: int) -> None:
    """Change the tables from one schema to another, in the transaction that the caller gives."""
    # Alembic costs a third of a second to load, and is needed once in a store's life.
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    context = MigrationContext.configure(connection, opts={"transactional_ddl": True})
    with Operations.context(context) as op:
        for schema in range(found + 1, wanted + 1):
            {7: _to_7}[schema](op)
            connection.execute(text("UPDATE about SET schema = :schema"), {"schema": schema})


def _to_7(op: Any) -> None:
    """Add the promises that were ended for another: none yet."""
    op.create_table(
        "promises",
        Column("id", Integer, primary_key=True),
        Column("promise", String, nullable=False),
        Column("budget", String, nullable=False),
        Column("charge", Integer, nullable=False),
        Column("ended_s", Float, nullable=False),
    )
