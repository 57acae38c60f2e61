"""What a room file may hold: a key with its kind, its example and its reason; a table of them."""

from typing import Any, NamedTuple

from .kinds import Kind

REQUIRED = object()


class Key(NamedTuple):
    """One key of a table."""

    kind: Kind
    example: str  # what stands right of the equals sign
    why: str  # after "for"
    default: Any = REQUIRED


class Table(NamedTuple):
    """One table: its keys, and whether there may be several, [[name]]."""

    keys: dict[str, Key]
    many: bool = False


WHERE = "it has to stand somewhere in the plan, [0, 0] being the inner top-left corner"
