"""What readings must be before any estimator looks at them."""

import math

import numpy as np

from .record import Seen


def check(seen: Seen) -> None:
    """Refuse readings that do not fit their operator, or numbers without a meaning.

    Raises:
        ValueError: a shape does not fit, a number is not finite or out of range, no cell is
            open, or fewer are than the prior has sources.
    """
    sensors, cells = _shapes(seen)
    numbers = (seen.operator, seen.readings, seen.places)
    if not all(np.isfinite(part).all() for part in numbers):
        raise ValueError(
            f"an entry of the operator, of the {sensors} readings or of the places is NaN or "
            "infinite but all must be finite: one bad number would spoil the whole map. Leave "
            "that sensor's row and reading out."
        )
    for name, value, good, needed in (
        ("sigma", seen.sigma, 0 < seen.sigma < math.inf, "positive and finite"),
        ("upper", seen.upper, 0 < seen.upper < math.inf, "positive and finite"),
        ("failure", seen.failure, 0 < seen.failure < 1, "between 0 and 1"),
        ("level", seen.level, 0 < seen.level < 1, "between 0 and 1"),
    ):
        if not good:
            raise ValueError(
                f"{name} is {value!r} but must be {needed}, or neither the map nor its error "
                "would mean anything. Correct it."
            )
    free = cells if seen.open is None else int(np.count_nonzero(seen.open))
    if free < max(1, seen.prior.fewest):
        raise ValueError(
            f"{free} of {cells} cells are open but the prior has {seen.prior.fewest} sources or "
            "more, each in a cell of its own: there is no place for them. Open cells, or lower "
            "the fewest."
        )
    if not seen.operator[:, slice(None) if seen.open is None else seen.open].any():
        raise ValueError(
            f"the operator is 0 in all its {sensors} rows, in every open cell, but heat must be "
            "felt somewhere: such readings say nothing of any cell. Check the spread and the unit "
            "of its lengths, or open the cells that sensors reach."
        )


def _shapes(seen: Seen) -> tuple[int, int]:
    """Return (sensors, cells), or refuse arrays that do not fit each other."""
    cells = math.prod(seen.shape)
    if not isinstance(seen.operator, np.ndarray):
        raise ValueError(
            f"the operator is a {type(seen.operator).__name__} but estimators need an array, "
            "(sensors, cells): they look at single columns. Use its dense(), or "
            "recovery.sparse.minimise_l1, which takes planes that are never formed."
        )
    good = (
        seen.operator.ndim == 2
        and seen.operator.size > 0
        and seen.operator.shape[1] == cells
        and seen.readings.shape == seen.operator.shape[:1]
        and seen.places.ndim == 2
        and len(seen.places) == cells
        and seen.places.shape[1] in (1, 2)
        and (seen.open is None or (seen.open.shape == (cells,) and seen.open.dtype == np.bool_))
    )
    if not good:
        raise ValueError(
            f"the operator has shape {seen.operator.shape}, the readings {seen.readings.shape}, "
            f"the places {seen.places.shape} and the cells {seen.shape}, open "
            f"{None if seen.open is None else seen.open.shape}, but (sensors, cells), (sensors,), "
            "(cells, 1 or 2), (rows, columns) and bool (cells,) are needed: each sensor has one "
            "row and one reading. Leave silent sensors out of both."
        )
    if seen.places.shape[1] == 1 and (np.diff(seen.places[:, 0]) <= 0).any():
        raise ValueError(
            "the places along the line do not rise but must: shares of heat are added up from "
            "the first cell to the last. Sort the cells, and the operator's columns with them."
        )
    return seen.operator.shape[0], cells
