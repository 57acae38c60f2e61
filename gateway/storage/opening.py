"""The store opened: only where it is ours, with its tables in it."""

from pathlib import Path

from sqlalchemy import Engine, insert, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from ..faults import OperatorFault
from . import sqlite
from .places import Place
from .schema import METADATA, SCHEMA, about


def opened(place: Place, site: str) -> tuple[Engine, Engine]:
    """Return an engine for writing and one for reading, on a store with this site's tables.

    Raises:
        OperatorFault: it cannot be opened, is no store, is another site's or another heatveil's.
    """
    engine = sqlite.engine(place) if isinstance(place, Path) else sqlite.engine(Path("/"))
    try:
        with engine.begin() as connection:
            if not inspect(connection).has_table("about"):
                METADATA.create_all(connection)
                connection.execute(insert(about).values(schema=SCHEMA, site=site))
            found = connection.scalar(select(about.c.schema))
            owner = connection.scalar(select(about.c.site)) if found == SCHEMA else site
    except SQLAlchemyError as fault:
        engine.dispose()
        raise OperatorFault(
            f"the database {place} cannot be opened ({getattr(fault, 'orig', fault)}); it must "
            "be a writable SQLite file, because nothing is acknowledged before it is stored. "
            "Mend [site] database in the deployment file"
        ) from fault
    if found != SCHEMA:
        engine.dispose()
        raise OperatorFault(
            f"the database {place} holds schema {found}, and this heatveil knows schema "
            f"{SCHEMA}: it would misread what was spent. Run the heatveil that wrote it, or "
            "name another file under [site] database"
        )
    if owner != site:
        engine.dispose()
        raise OperatorFault(
            f"the database {place} belongs to site {owner}, not to {site}: what one room's people "
            "have spent is not another's. Name another file under [site] database"
        )
    return engine, engine.execution_options(reading=True)
