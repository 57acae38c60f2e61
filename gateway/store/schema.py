"""The tables of the store.

    about     one row: which version of these tables the file holds, whose, and under which promise
    rounds    what was asked: the signed bytes that went out
    charges   what it cost, written before the round went out
    reports   what came, as the bytes that came; (device, key, epoch, seq) is the key
    heard     genuine messages that do not count: their numbers are used up; bounded
    newest    the greatest (epoch, seq) that a device has used, and how often it counted
    alarms    devices that need a new key, and why
    refused   dead letters with a reason; bounded
    releases  the folded answers of a closed round
    maps      what was published of it
    outbox    messages of ours that the broker has not acknowledged yet
    filters   what a lasting session at the broker is subscribed to
    quarantine  devices that are shut out, and why
    tallies, leases  sums of workers that share a database, and who has which part
    promises  those that were ended for another, and up to where charges are theirs
    ended_keys  keys that were asked under a promise that was ended, whatever came of it
    jumped    devices whose clock jumped in a sleep: what they spent comes back later
    vacant    one row: the empty room as the last map left it, where the room has a file

No private reading is in them in the clear: what is here has passed the veil, or, where the gateway
is trusted, is sealed to a round's key, which is never here (`gateway.service.sealing`).
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
)

METADATA = MetaData()
Big = BigInteger().with_variant(Integer(), "sqlite")  # devices count to 2**48

outbox = Table(
    "outbox",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("topic", String, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("retain", Boolean, nullable=False),
    Column("at_s", Float, nullable=False),
    # An id must not come again: who was told to post the old letter would strike out the new one.
    sqlite_autoincrement=True,
)

filters = Table(
    "filters",
    METADATA,
    Column("client", String, primary_key=True),
    Column("topic", String, primary_key=True),
)

quarantine = Table(
    "quarantine",
    METADATA,
    Column("device", String, primary_key=True),
    Column("why", String, nullable=False),
    Column("since_s", Float, nullable=False),
)

leases = Table(
    "leases",
    METADATA,
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("holder", String, nullable=False),
    Column("until_s", Float, nullable=False),
    Column("epoch", Integer, nullable=False),
)

tallies = Table(
    "tallies",
    METADATA,
    Column("round", LargeBinary(4), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("slot", Integer, primary_key=True),
    Column("amount", BigInteger, nullable=False),
    Column("count", BigInteger, nullable=False),
)

vacant = Table(
    "vacant",
    METADATA,
    Column("id", Integer, primary_key=True),  # 1
    Column("at_s", Float, nullable=False),  # when the reading was asked that it was taken from
    Column("state", LargeBinary, nullable=False),
)


jumped = Table("jumped", METADATA, Column("device", String, primary_key=True))


SCHEMA = 10

about = Table(
    "about",
    METADATA,
    Column("schema", Integer, primary_key=True),
    Column("site", String, nullable=False),
    Column("promise", String),  # what all charges are the price of: see `terms.terms`
    Column("budget", String),  # the least rho that all of them were promised to stay within
)

rounds = Table(
    "rounds",
    METADATA,
    Column("name", LargeBinary(4), primary_key=True),
    Column("planned", LargeBinary(4), nullable=False, unique=True),
    Column("number", Big, nullable=False, unique=True),
    Column("mechanism", String, nullable=False),
    Column("message", LargeBinary, nullable=False),
    Column("opened_s", Float, nullable=False),
    Column("closed_s", Float),
    Column("outcome", String),  # None while it is open
    Column("enrolled", Integer),  # devices that were asked
    Column("rho", String),  # "num/den": its price, charged when it opens or when it closes
)

promises = Table(
    "promises",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("promise", String, nullable=False),
    Column("budget", String, nullable=False),
    Column("charge", Integer, nullable=False),  # the last that is its own
    Column("ended_s", Float, nullable=False),
)

ended_keys = Table(
    "ended_keys",
    METADATA,
    Column("device", String, primary_key=True),
    Column("key_id", LargeBinary(4), primary_key=True),
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
    Column("device", String, nullable=False),
    Column("key_id", LargeBinary(4), nullable=False),
    Column("epoch", Big, nullable=False),
    Column("seq", Big, nullable=False),
    Column("round", LargeBinary(4), nullable=False),
    Column("frame", LargeBinary, nullable=False),
    Column("taken_s", Float, nullable=False),
    # What comes at one time lies together, by both keys: with the device in front each report
    # of a fleet would change a page of its own, and a row would cost three times as much.
    PrimaryKeyConstraint("round", "device"),
    UniqueConstraint("epoch", "seq", "device", "key_id"),
    sqlite_with_rowid=False,
)

heard = Table(
    "heard",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("device", String, nullable=False),
    Column("key_id", LargeBinary(4), nullable=False),
    Column("epoch", Big, nullable=False),
    Column("seq", Big, nullable=False),
    Column("round", LargeBinary(4), nullable=False),
    Column("digest", LargeBinary(32), nullable=False),  # SHA-256 of the frame
    Column("at_s", Float, nullable=False),
    UniqueConstraint("device", "key_id", "epoch", "seq", "digest"),
    Index("heard_by_round", "round", "device"),
)

newest = Table(
    "newest",
    METADATA,
    Column("device", String, primary_key=True),
    Column("key_id", LargeBinary(4), primary_key=True),
    Column("epoch", Big, nullable=False),
    Column("seq", Big, nullable=False),
    Column("reports", Big, nullable=False, server_default="0"),  # that count, ever
    Column("last_s", Float),  # when the last of them came
)

alarms = Table(
    "alarms",
    METADATA,
    Column("device", String, primary_key=True),
    Column("key_id", LargeBinary(4), primary_key=True),
    Column("why", String, nullable=False),  # the latest
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
    Column("size", Integer, nullable=False),  # of the frame as it came
    Column("frame", LargeBinary, nullable=False),  # its beginning, as evidence
    Column("kind", String, nullable=False, server_default="garbled"),
    Index("refused_by_time", "at_s"),
    Index("refused_by_topic", "topic", "id"),
    Index("refused_by_kind", "kind"),
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
