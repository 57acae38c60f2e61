"""A store of an older schema brought up to ours: whole, or left as it was.

Each change names nothing of the present tables: what it does must stay what it did. The number in
`about` says which schema a store holds.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
    text,
)

OLDEST = 4  # older ones lived for a day, and nobody has them


def migrate_tables(connection: Any, found: int, wanted: int) -> None:
    """Change the tables from one schema to another, in the transaction that the caller gives."""
    # Alembic costs a third of a second to load, and is needed once in a store's life.
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    context = MigrationContext.configure(connection, opts={"transactional_ddl": True})
    with Operations.context(context) as op:
        for schema in range(found + 1, wanted + 1):
            {
                5: _migrate_to_5,
                6: _migrate_to_6,
                7: _migrate_to_7,
                8: _migrate_to_8,
                9: _migrate_to_9,
                10: _migrate_to_10,
            }[schema](op)
            connection.execute(text("UPDATE about SET schema = :schema"), {"schema": schema})


_FIVE = MetaData()
Big = BigInteger().with_variant(Integer(), "sqlite")

# What schema 4 did not have, as it is in schema 5: a later schema must not change it here.
Table(
    "outbox",
    _FIVE,
    Column("id", Integer, primary_key=True),
    Column("topic", String, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("retain", Boolean, nullable=False),
    Column("at_s", Float, nullable=False),
    sqlite_autoincrement=True,
)
Table(
    "filters",
    _FIVE,
    Column("client", String, primary_key=True),
    Column("topic", String, primary_key=True),
)
Table(
    "quarantine",
    _FIVE,
    Column("device", String, primary_key=True),
    Column("why", String, nullable=False),
    Column("since_s", Float, nullable=False),
)
Table(
    "leases",
    _FIVE,
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("holder", String, nullable=False),
    Column("until_s", Float, nullable=False),
    Column("epoch", Integer, nullable=False),
)
Table(
    "tallies",
    _FIVE,
    Column("round", LargeBinary(4), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("slot", Integer, primary_key=True),
    Column("amount", BigInteger, nullable=False),
    Column("count", BigInteger, nullable=False),
)
WIDER = {
    "rounds": ("number",),
    "reports": ("epoch", "seq"),
    "heard": ("epoch", "seq"),
    "newest": ("epoch", "seq"),
}
# What dead letters of schema 4 say, and the kind that they are of now; the last that fits holds.
KINDS = {
    "%it is not a frame of%": "garbled",
    "%it is not a frame of%not of version%": "version",
    "%it is not a frame of%the MAC is not that of%": "forged",
    "no device of site%": "topic",
    "%is not enrolled%": "unknown",
    "%enrolled for%and answered for%": "place",
    "no round is open": "late",
    "round%closed%ago": "late",
    "it answers round%": "other-round",
    "%has already answered round%": "second",
    "%sent message%after%": "replayed",
    "%sent message%before with other bytes%": "changed",
    "it could not be stored%": "unstorable",
}


def _migrate_to_5(op: Any) -> None:
    """Say how rounds ended, and of which kind dead letters are; add an outbox and workers."""
    connection = op.get_bind()
    _FIVE.create_all(connection, checkfirst=False)
    more = {
        "rounds": (
            Column("closed_s", Float),
            Column("outcome", String),
            Column("enrolled", Integer),
            Column("rho", String),
        ),
        "refused": (Column("kind", String, nullable=False, server_default="garbled"),),
        "newest": (
            Column("reports", Big, nullable=False, server_default="0"),
            Column("last_s", Float),
        ),
    }
    for table, columns in more.items():
        with op.batch_alter_table(table) as batch:
            for column in columns:
                batch.add_column(column)
    op.create_index("refused_by_kind", "refused", ["kind"])
    if connection.dialect.name == "postgresql":  # SQLite's whole numbers are wide as they are
        for table, names in WIDER.items():
            for name in names:
                op.alter_column(table, name, type_=BigInteger())
    for statement in _FILLED:
        connection.execute(text(statement))
    for said, kind in KINDS.items():
        changed = text("UPDATE refused SET kind = :kind WHERE why LIKE :said")
        connection.execute(changed, {"kind": kind, "said": said})


_FILLED = (
    "UPDATE rounds SET outcome = 'closed', closed_s = "
    "(SELECT at_s FROM releases WHERE releases.round = rounds.name) "
    "WHERE name IN (SELECT round FROM releases)",
    "UPDATE rounds SET rho = "
    "(SELECT rho FROM charges WHERE charges.round = rounds.name AND charges.device = '')",
    "UPDATE newest SET reports = (SELECT count(*) FROM reports "
    "WHERE reports.device = newest.device AND reports.key_id = newest.key_id), "
    "last_s = (SELECT max(taken_s) FROM reports "
    "WHERE reports.device = newest.device AND reports.key_id = newest.key_id)",
)


_SIX = MetaData()
# What schema 5 did not have, as it is in schema 6: a later schema must not change it here.
Table(
    "vacant",
    _SIX,
    Column("id", Integer, primary_key=True),
    Column("at_s", Float, nullable=False),
    Column("state", LargeBinary, nullable=False),
)


def _migrate_to_6(op: Any) -> None:
    """Add the empty room as the last map left it."""
    _SIX.create_all(op.get_bind(), checkfirst=False)


_SEVEN = MetaData()
Table(
    "promises",
    _SEVEN,
    Column("id", Integer, primary_key=True),
    Column("promise", String, nullable=False),
    Column("budget", String, nullable=False),
    Column("charge", Integer, nullable=False),
    Column("ended_s", Float, nullable=False),
)


def _migrate_to_7(op: Any) -> None:
    """Add the promises that were ended for another: none yet."""
    _SEVEN.create_all(op.get_bind(), checkfirst=False)


_EIGHT = MetaData()
Table("jumped", _EIGHT, Column("device", String, primary_key=True))


def _migrate_to_8(op: Any) -> None:
    """Add the devices whose clock jumped in a sleep: those that say so now will be in it."""
    _EIGHT.create_all(op.get_bind(), checkfirst=False)


_NINE = MetaData()
Table(
    "reports",
    _NINE,
    Column("device", String, nullable=False),
    Column("key_id", LargeBinary(4), nullable=False),
    Column("epoch", Big, nullable=False),
    Column("seq", Big, nullable=False),
    Column("round", LargeBinary(4), nullable=False),
    Column("frame", LargeBinary, nullable=False),
    Column("taken_s", Float, nullable=False),
    PrimaryKeyConstraint("round", "device"),
    UniqueConstraint("epoch", "seq", "device", "key_id"),
    sqlite_with_rowid=False,
)


def _migrate_to_9(op: Any) -> None:
    """Sort the reports by round, and no longer by device."""
    names = ", ".join(_NINE.tables["reports"].c.keys())
    op.rename_table("reports", "reports_8")
    _NINE.create_all(op.get_bind(), checkfirst=False)
    op.execute(
        f"INSERT INTO reports ({names}) SELECT {names} FROM reports_8 ORDER BY round, device"
    )
    op.drop_table("reports_8")


_TEN = MetaData()
Table(
    "ended_keys",
    _TEN,
    Column("device", String, primary_key=True),
    Column("key_id", LargeBinary(4), primary_key=True),
)


def _migrate_to_10(op: Any) -> None:
    """Add the keys of promises that were ended, as far as clocks tell; in doubt a key is one."""
    _TEN.create_all(op.get_bind(), checkfirst=False)
    op.execute(
        "INSERT INTO ended_keys (device, key_id) SELECT device, key_id FROM newest "
        "WHERE COALESCE(last_s, 0) <= (SELECT max(ended_s) FROM promises) "
        "UNION SELECT device, key_id FROM alarms "
        "WHERE at_s <= (SELECT max(ended_s) FROM promises)"
    )
