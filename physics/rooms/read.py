"""A room file, read: what it says, or the line in which it says something wrong."""

from pathlib import Path


def sample() -> str:
    """Return the text of the sample room, every key of which is explained."""
    return (Path(__file__).parent / "office.toml").read_text(encoding="utf-8")
