"""Words of a fault: how a table is called, an example of it, and which key was meant."""

from difflib import get_close_matches

from .keys import REQUIRED
from .lines import Where
from .tables import TABLES

# Of keys that exclude each other, the one that is shown.
_CHOSEN = {
    **dict.fromkeys(("person", "walker", "arrivals"), "activity"),
    "thermometers": "count",
    "heater": "rect_m",
}
# What a key may end in after its own name; the longest first.
UNITS = (
    *("m2_per_s", "w_per_m2k", "m_per_s", "per_h", "per_s", "m2", "min", "mm", "cm", "px"),
    *("m", "w", "kw", "c", "k", "f", "s", "h"),
)


def told(where: Where) -> str:
    """Return a table as one would say it.

    >>> told(("wall", 1)), told(("room",))
    ('[[wall]] 2', '[room]')
    """
    return f"[[{where[0]}]] {int(where[1]) + 1}" if len(where) > 1 else f"[{where[0]}]"


def example_of(name: str) -> str:
    """Return a table with every key that it must have, one of each choice."""
    table = TABLES[name]
    head = f"[[{name}]]" if table.many else f"[{name}]"
    needed = [
        f"{key} = {spec.example}"
        for key, spec in table.keys.items()
        if spec.default is REQUIRED or key == _CHOSEN.get(name)
    ]
    return "\n".join([head, *needed])


def meant(key: str, keys: list[str]) -> tuple[str, str]:
    """Return the key that was meant, or "", and what is wrong with its unit, or ""."""
    for known in keys:
        if known.startswith(f"{key}_") and known.removeprefix(f"{key}_") in UNITS:
            return known, f"{key} has no unit"
    for unit in UNITS:
        stem = key.removesuffix(f"_{unit}")
        for known in keys:
            if stem != key and (
                known == stem
                or (known.startswith(f"{stem}_") and known.removeprefix(f"{stem}_") in UNITS)
            ):
                return known, f"{key} is in another unit"
    near = get_close_matches(key, keys, 1)
    return (near[0] if near else ""), ""


def xy(x: float, y: float) -> str:
    """Return a place as a room file writes it."""
    return f"[{x:.4g}, {y:.4g}]"
