"""The tables of the store, and how SQLite is made to keep its promises.

    about     one row: which version of these tables the file holds, and whose
    rounds    what was asked: the signed bytes that went out
    charges   what it cost, written before the round went out
    reports   what came, as the bytes that came; (device, epoch, seq) is the key
    refused   dead letters with a reason; bounded
    releases  the folded answers of a closed round
    maps      what was published of it

Private readings are in none of them: everything here has passed the veil.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Engine,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    create_engine,
    event,
    insert,
    inspect,
    select,
)
from sqlalchemy.exc import SQLAlchemyError

from .faults import OperatorFault

SCHEMA = 2
METADATA = MetaData()

about = Table(
    "about",
    METADATA,
    Column("schema", Integer, primary_key=True),
    Column("site", String, nullable=False),
)

rounds = Table(
    "rounds",
    METADATA,
    Column("name", LargeBinary(4), primary_key=True),
    Column("planned", LargeBinary(4), nullable=False, unique=True),
    Column("number", Integer, nullable=False, unique=True),
    Column("mechanism", String, nullable=False),
    Column("message", LargeBinary, nullable=False),
    Column("opened_s", Float, nullable=False),
)

charges = Table(
    "charges",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("round", LargeBinary(4), nullable=False),
    Column("device", String, nullable=False),  # empty: the whole fleet was asked
    Column("answer", LargeBinary(32), nullable=False),  # SHA-256 of a second answer, or empty
    Column("rho", String, nullable=False),  # "num/den", exact
    Column("at_s", Float, nullable=False),
    UniqueConstraint("round", "device", "answer"),
)

reports = Table(
    "reports",
    METADATA,
    Column("device", String, primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("round", LargeBinary(4), nullable=False),
    Column("frame", LargeBinary, nullable=False),
    Column("taken_s", Float, nullable=False),
    UniqueConstraint("round", "device"),
    sqlite_with_rowid=False,
)

refused = Table(
    "refused",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at_s", Float, nullable=False),
    Column("topic", String, nullable=False),
    Column("why", String, nullable=False),
    Column("size", Integer, nullable=False),  # of the frame as it came
    Column("frame", LargeBinary, nullable=False),  # its beginning, as evidence
    Index("refused_by_time", "at_s"),
)

releases = Table(
    "releases",
    METADATA,
    Column("round", LargeBinary(4), primary_key=True),
    Column("values", String, nullable=False),  # JSON: whole numbers or null
    Column("reports", Integer, nullable=False),
    Column("at_s", Float, nullable=False),
)

maps = Table(
    "maps",
    METADATA,
    Column("round", LargeBinary(4), primary_key=True),
    Column("body", String, nullable=False),  # JSON as published
    Column("at_s", Float, nullable=False),
)


def opened(path: Path, site: str) -> Engine:
    """Return an engine on the file, with the tables of this site in it.

    Raises:
        OperatorFault: the file cannot be opened, is no store, is another site's or another
            heatveil's.
    """
    # What a statement carried must not end up in a log with its error.
    engine = create_engine(f"sqlite:///{path}", hide_parameters=True)
    _hold_to_promises(engine)
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
            f"the database {path} cannot be opened ({getattr(fault, 'orig', fault)}); it must "
            "be a writable SQLite file, because nothing is acknowledged before it is stored. "
            "Mend [site] database in the deployment file"
        ) from fault
    if found != SCHEMA:
        engine.dispose()
        raise OperatorFault(
            f"the database {path} holds schema {found}, and this heatveil knows schema "
            f"{SCHEMA}: it would misread what was spent. Run the heatveil that wrote it, or "
            "name another file under [site] database"
        )
    if owner != site:
        engine.dispose()
        raise OperatorFault(
            f"the database {path} belongs to site {owner}, not to {site}: what one room's people "
            "have spent is not another's. Name another file under [site] database"
        )
    return engine


def _hold_to_promises(engine: Engine) -> None:
    """Make commits survive a power cut, and transactions really be transactions.

    Left to itself Python's sqlite3 opens transactions late and not at all for CREATE
    TABLE, so a failure half way leaves half a schema behind. We send BEGIN ourselves:
    IMMEDIATE for writers, so that what was read under it still holds when it is written.
    """

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA busy_timeout=2000")

    @event.listens_for(engine, "begin")
    def _begun(connection: Any) -> None:
        reading = connection.get_execution_options().get("reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
