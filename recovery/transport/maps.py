"""Two maps made ready to be compared: masses side by side, and where their cells are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two maps of equal total."""

    p: Floats  # (cells,)
    q: Floats  # (cells,)
    grid: tuple[int, int] | None  # rows and columns, of square cells; None where placed freely
    unit: float  # the side of a cell of the grid
    given: Floats  # (cells, axes), the places; nothing where there is a grid

    @property
    def total(self) -> float:
        """The mass of either map."""
        return float(self.p.sum())

    @property
    def places(self) -> Floats:
        """Where the cells are, (cells, axes): one axis where the grid is one row or column."""
        if self.grid is None:
            return self.given
        y, x = np.array(np.divmod(np.arange(len(self.p)), self.grid[1])) * self.unit
        return (x + y)[:, None] if min(self.grid) == 1 else np.stack([x, y], axis=1)

    @property
    def along(self) -> Floats | None:
        """The places, (cells,), where all are in a line."""
        if self.grid is None:
            return self.given[:, 0] if self.given.shape[1] == 1 else None
        if min(self.grid) > 1:
            return None
        return np.arange(len(self.p), dtype=np.float64) * self.unit


def pair(
    p: ArrayLike, q: ArrayLike, positions: ArrayLike | None = None, normalise: bool = False
) -> Pair:
    """Return two maps side by side, or refuse them.

    Unequal totals are refused, because some mass would have nowhere to go. With `normalise`
    each map is divided by its own total, and shapes are compared whatever they weigh.

    Args:
        p, q: (cells,) or (rows, columns), masses; of one shape, not negative.
        positions: (cells,) or (cells, 2), where the cells are; in any unit. Otherwise cells are
            squares and the longer side of the map is 1.
        normalise: divide each map by its total.

    Raises:
        ValueError: the maps do not fit each other or their positions, or weigh differently.
    """
    mass_p, mass_q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if mass_p.shape != mass_q.shape or mass_p.ndim not in (1, 2) or not mass_p.size:
        raise ValueError(
            f"the maps have shapes {mass_p.shape} and {mass_q.shape} but must share one, "
            "(cells,) or (rows, columns): cells are compared one by one. Bring both to one grid."
        )
    totals = float(mass_p.sum()), float(mass_q.sum())
    # What is not a number is not at least 0, and an infinite mass makes the total infinite.
    if not (mass_p.min() >= 0 and mass_q.min() >= 0 and max(totals) < np.inf):
        raise ValueError(
            "a map holds a negative, NaN or infinite mass but masses must be at least 0: "
            "no one can move less than nothing. Clip or correct the map first."
        )
    if not (min(totals) > 0 and (normalise or abs(totals[0] - totals[1]) <= 1e-9 * max(totals))):
        raise ValueError(
            f"the maps weigh {totals[0]:g} and {totals[1]:g} but must weigh the same and more "
            "than 0, or some mass has nowhere to go. Pass normalise=True to compare shapes."
        )
    unit = totals if normalise else (1.0, totals[1] / totals[0])
    rows, columns = (1, *mass_p.shape)[-2:]
    return Pair(
        p=mass_p.ravel() / unit[0],
        q=mass_q.ravel() / unit[1],
        grid=(rows, columns) if positions is None else None,
        unit=1 / max(rows, columns),
        given=np.empty((0, 0)) if positions is None else _places(rows * columns, positions),
    )


def _places(cells: int, positions: ArrayLike) -> Floats:
    places = np.asarray(positions, dtype=np.float64)
    if (
        places.ndim not in (1, 2)
        or len(places) != cells
        or (places.ndim == 2 and not places.shape[1])
        or not np.isfinite(places).all()
    ):
        raise ValueError(
            f"positions have shape {places.shape} but must be {cells} finite places, "
            "(cells,) or (cells, 2): every cell stands somewhere. Give one place a cell."
        )
    return places.reshape(cells, -1)
