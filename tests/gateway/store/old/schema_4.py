"""The tables of schema 4, as they were."""

from sqlalchemy import (
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

METADATA = MetaData()

about = Table(
    "about",
    METADATA,
    Column("schema", Integer, primary_key=True),
    Column("site", String, nullable=False),
    Column("promise", String),
    Column("budget", String),
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
    Column("device", String, nullable=False),
    Column("answer", LargeBinary(32), nullable=False),
    Column("rho", String, nullable=False),
    Column("at_s", Float, nullable=False),
    UniqueConstraint("round", "device", "answer"),
)

reports = Table(
    "reports",
    METADATA,
    Column("device", String, primary_key=True),
    Column("key_id", LargeBinary(4), primary_key=True),
    Column("epoch", Integer, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("round", LargeBinary(4), nullable=False),
    Column("frame", LargeBinary, nullable=False),
    Column("taken_s", Float, nullable=False),
    UniqueConstraint("round", "device"),
    sqlite_with_rowid=False,
)

heard = Table(
    "heard",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("device", String, nullable=False),
    Column("key_id", LargeBinary(4), nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("round", LargeBinary(4), nullable=False),
    Column("digest", LargeBinary(32), nullable=False),
    Column("at_s", Float, nullable=False),
    UniqueConstraint("device", "key_id", "epoch", "seq", "digest"),
    Index("heard_by_round", "round", "device"),
)

newest = Table(
    "newest",
    METADATA,
    Column("device", String, primary_key=True),
    Column("key_id", LargeBinary(4), primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("seq", Integer, nullable=False),
)

alarms = Table(
    "alarms",
    METADATA,
    Column("device", String, primary_key=True),
    Column("key_id", LargeBinary(4), primary_key=True),
    Column("why", String, nullable=False),
    Column("times", Integer, nullable=False),
    Column("at_s", Float, nullable=False),
)

refused = Table(
    "refused",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at_s", Float, nullable=False),
    Column("topic", String, nullable=False),
    Column("why", String, nullable=False),
    Column("size", Integer, nullable=False),
    Column("frame", LargeBinary, nullable=False),
    Index("refused_by_time", "at_s"),
    Index("refused_by_topic", "topic", "id"),
)

releases = Table(
    "releases",
    METADATA,
    Column("round", LargeBinary(4), primary_key=True),
    Column("values", String, nullable=False),
    Column("reports", Integer, nullable=False),
    Column("at_s", Float, nullable=False),
)

maps = Table(
    "maps",
    METADATA,
    Column("round", LargeBinary(4), primary_key=True),
    Column("body", String, nullable=False),
    Column("at_s", Float, nullable=False),
)
