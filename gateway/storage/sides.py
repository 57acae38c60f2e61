"""The tables beside the rounds: what the broker is still to have, who is shut out, who has a part.

All of the store's tables, these among them, are listed in `schema`.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
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
