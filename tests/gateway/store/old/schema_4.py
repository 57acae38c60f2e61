"""The tables of schema 4, as a store of that time has them, which lies beside this file."""

import gzip
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData, create_engine, event
from sqlalchemy.pool import StaticPool

KEPT = Path(__file__).with_name("schema_4.sqlite.gz")
METADATA = MetaData()


def _open_kept() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.deserialize(gzip.decompress(KEPT.read_bytes()))
    return connection


@event.listens_for(METADATA, "column_reflect")
def _for_any_database(_inspector: Any, _table: Any, column: Any) -> None:
    """PostgreSQL has no BLOB, and other words for the rest."""
    column["type"] = column["type"].as_generic()


ENGINE = create_engine("sqlite://", creator=_open_kept, poolclass=StaticPool)
METADATA.reflect(ENGINE)
