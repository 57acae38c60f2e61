"""The cells and the sensors of a thermal query: whether they fit each other, and how large."""

from edge.records import Grid
from physics.places import sensor_places


def cell_m(grid: Grid) -> float:
    """Return the shorter side of a cell, in metres or in sides of the unit grid."""
    return grid.cell_mm / 1000 if grid.cell_mm else 1 / max(grid.shape)


def check_room(grid: Grid, sensors: tuple[int, ...], distance: float | None, placed: bool) -> None:
    """Refuse a grid, sensors or a distance that do not fit each other.

    Args:
        placed: where the sensors are is known otherwise, so they need not be spread evenly.

    Raises:
        ValueError: they do not.
    """
    counts = (grid.shape, sensors)
    if not all(isinstance(part, tuple) and all(map(whole, part)) for part in counts) or (
        len(grid.shape) != 2 or max(grid.shape) < 2
    ):
        raise ValueError(
            f"the grid is {grid.shape} and the sensors {sensors} but both must be "
            "tuples of whole numbers, with two cells at least: one place alone hides nothing. "
            "Write Grid((100, 1), 0) and (50,)."
        )
    if not placed:
        sensor_places(sensors, grid)  # refuses what does not fit, in its own words
    room = cell_m(grid) * max(grid.shape)
    if distance is not None and not cell_m(grid) * (1 - 1e-9) <= distance <= room:
        raise ValueError(
            f"protect_distance_m is {distance:g} but must be between one cell, "
            f"{cell_m(grid):g}, and the room, {room:g}: a shorter one cannot be told "
            "apart, a longer one does not exist. Choose one, or leave it out for one cell."
        )


def whole(value: object) -> bool:
    """Return whether it is a whole number from 1."""
    return type(value) is int and value > 0
