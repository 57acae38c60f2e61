"""The rows of dead letters: statements, on a connection that the store gives."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, func, select

from ..intake.outcomes import DeadLetter
from .bulk import insert_many
from .schema import refused

REFUSED_KEPT = 100_000  # dead letters in all, and on one topic:
REFUSED_EACH = 1000  # whoever has one device's password must not flush the evidence of others
EVIDENCE_BYTES = 512  # of a refused frame
LONGEST = 512  # of a topic or a reason: a broker lets topics of 65,535 bytes through

_SPARE = (
    select(refused.c.id)
    .where(refused.c.topic == bindparam("of_topic"))
    .order_by(refused.c.id.desc())
    .offset(bindparam("each"))
    .limit(1)
)


def refuse(connection: Any, letters: Sequence[DeadLetter], now_s: float) -> None:
    """Keep dead letters as evidence, the newest of each topic."""
    if not letters:
        return
    insert_many(
        connection,
        refused,
        ("at_s", "topic", "why", "size", "frame", "kind"),
        [
            (now_s, _plain(topic), _plain(why), len(frame), frame[:EVIDENCE_BYTES], kind)
            for topic, why, frame, kind in letters
        ],
    )
    ids = refused.c.id
    for topic in {_plain(letter.topic) for letter in letters}:
        oldest = connection.scalar(_SPARE, {"of_topic": topic, "each": REFUSED_EACH})
        if oldest is not None:
            connection.execute(delete(refused).where(refused.c.topic == topic, ids <= oldest))
    oldest = (connection.scalar(select(func.max(ids))) or 0) - REFUSED_KEPT
    connection.execute(delete(refused).where(ids <= oldest))


def newest(connection: Any, limit: int) -> list[DeadLetter]:
    """Return the newest dead letters, newest first."""
    wanted = select(refused.c.topic, refused.c.why, refused.c.frame, refused.c.kind)
    rows = connection.execute(wanted.order_by(refused.c.id.desc()).limit(limit))
    return [DeadLetter(*row) for row in rows]


def _plain(text: str) -> str:
    """Return a text that every database takes and every terminal shows as it is, cut short.

    Whoever may publish names the topic: nothing of it may move a cursor, end a line, turn the
    direction of writing, or fill the disk.
    """
    return "".join(one if one.isprintable() else "\ufffd" for one in text[:LONGEST])
