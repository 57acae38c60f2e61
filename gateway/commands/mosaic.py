"""A map in the letters of a terminal: darker where more of the warmth is."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BARS, SHADES = " ▁▂▃▄▅▆▇█", " ░▒▓█"
PLAIN = " .:-=+*#%@"  # where the terminal knows no others
TALL = 24  # lines at most of a plane


def mosaic(mass: Floats, width: int, encoding: str | None = None) -> list[str]:
    """Return the lines of a map; neighbours share a letter where the terminal is too narrow.

    Args:
        mass: (rows, columns), not negative.
        width: letters of a line.
        encoding: of who reads it.

    >>> mosaic(np.array([[0, 1, 2, 8, 0]]), 40, "utf-8")
    ['[ ▁▂█ ]']
    >>> mosaic(np.array([[0.0, 1.0], [4.0, 0.0]]), 40, "ascii")
    ['[  --]', '[@@  ]']
    """
    rows = mass.shape[0]
    flat = rows == 1
    # A letter is twice as high as it is wide, so a cell of a plane is two letters.
    across = max((width - 2) // (1 if flat else 2), 1)
    narrow = _gathered(_gathered(mass, across).T, max(across // 2, 1) if rows > TALL else rows).T
    letters = (BARS if flat else SHADES) if _knows(encoding) else PLAIN
    most = float(narrow.max()) or 1.0
    # What is there at all is seen, and only the warmest is full.
    steps = np.ceil(narrow / most * (len(letters) - 1) - 1e-9).astype(int)
    return ["[" + "".join(letters[one] * (1 if flat else 2) for one in row) + "]" for row in steps]


def _gathered(mass: Floats, most: int) -> Floats:
    """Return the map with so many columns at most, warmth added up and none lost."""
    group = -(-mass.shape[1] // most)
    if group == 1:
        return np.asarray(mass, dtype=np.float64)
    return np.add.reduceat(mass, np.arange(0, mass.shape[1], group), axis=1)


def _knows(encoding: str | None) -> bool:
    try:
        (BARS + SHADES).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
