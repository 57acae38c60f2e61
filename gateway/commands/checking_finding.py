"""What `heatveil check` found: one line, `ok`, `note` for what may be meant, or `FAULT`."""

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that was looked at."""

    grade: str  # "ok", "note" or "FAULT"
    subject: str
    sentence: str


def ok(subject: str, sentence: str) -> Finding:
    """Return what is as it should be."""
    return Finding("ok", subject, sentence)


def note(subject: str, sentence: str) -> Finding:
    """Return what may be meant, or may not."""
    return Finding("note", subject, sentence)


def fault(subject: str, sentence: str | Exception) -> Finding:
    """Return what will not work."""
    return Finding("FAULT", subject, " ".join(str(sentence).split()))
