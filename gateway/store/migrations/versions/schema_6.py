"""From schema 5 to 6: the empty room as the last map left it."""

from typing import Any

from sqlalchemy import Column, Float, Integer, LargeBinary, MetaData, Table

METADATA = MetaData()
# What schema 5 did not have, as it is in schema 6: a later schema must not change it here.
Table(
    "vacant",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at_s", Float, nullable=False),
    Column("state", LargeBinary, nullable=False),
)


def upgrade(op: Any) -> None:
    """Change the tables."""
    METADATA.create_all(op.get_bind(), checkfirst=False)
