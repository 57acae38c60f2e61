"""What became of a frame at the gateway: it counts, or it is a dead letter, and then why.

Both are on the gateway's disk, so what is asked is which of the two: by the frame's own bytes, for
a device that was off the air sends what is over by now first, and what counts after it.
"""

import time
from typing import NamedTuple

from sqlalchemy import select

from edge import wire
from edge.keys import Identity

from ...deployment import Deployment
from ...storage.dead import EVIDENCE_BYTES
from ...storage.looking import looking
from ...storage.places import place_of
from ...storage.schema import refused, reports
from .hearing import Frame

LOOK_S = 0.2


class Fate(NamedTuple):
    """What the gateway made of a frame. kind and why: "" where it counts."""

    kind: str = ""
    why: str = ""


def has_store(deployment: Deployment) -> bool:
    """Say whether a gateway ever ran here."""
    return deployment.store.postgresql is not None or deployment.site.database.exists()


def fate(deployment: Deployment, who: Identity, frame: Frame, patience_s: float) -> Fate | None:
    """Return what became of a frame, or None while the gateway has none of it.

    Raises:
        OperatorFault: the store cannot be read.
    """
    until_s = time.monotonic() + patience_s
    columns = reports.c
    counts = select(columns.seq).where(
        columns.device == who.name,
        columns.key_id == who.key_id,
        columns.epoch == frame.epoch,
        columns.seq == frame.seq,
    )
    letters = select(refused.c.kind, refused.c.why).where(
        refused.c.topic == wire.topic(who.site, who.name, "data"),
        refused.c.size == frame.bytes,
        refused.c.frame == frame.body[:EVIDENCE_BYTES],
    )
    letters = letters.order_by(refused.c.id.desc()).limit(1)
    engine = looking(place_of(deployment))
    try:
        while True:
            with engine.connect() as connection:
                if connection.execute(counts).first() is not None:
                    return Fate()
                if (letter := connection.execute(letters).first()) is not None:
                    return Fate(letter.kind, letter.why)
            if time.monotonic() > until_s:
                return None
            time.sleep(LOOK_S)
    finally:
        engine.dispose()
