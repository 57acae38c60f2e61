"""What may be asked of thermal sensors, and every refusal."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from edge.core.records import Grid
from recovery.thermal import plan
from recovery.thermal.query import Query, count_protected_cells

LINE = Query(Grid((100, 1), 0), (50,), 0.05, (1, 1))
ROOM = Query(Grid((40, 24), 250), (8, 8), 0.5, (1, 1))


@pytest.mark.parametrize(
    ("query", "distance", "cells"),
    [
        (LINE, None, 1),
        (LINE, 0.01, 1),
        (LINE, 0.011, 2),
        (LINE, 1.0, 100),
        (ROOM, None, 1),
        (ROOM, 0.25, 1),
        (ROOM, 0.75, 3),
        (ROOM, 0.76, 4),
        (ROOM, 10.0, 40),
    ],
)
def test_a_part_of_a_cell_is_protected_as_a_whole_one(
    query: Query, distance: float | None, cells: int
) -> None:
    """Rounding down would protect less than was asked; floats must not round up a cell."""
    assert count_protected_cells(replace(query, protect_distance_m=distance)) == cells


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"grid": Grid((1, 1), 0)}, "one place alone hides nothing"),
        ({"grid": Grid((0, 1), 0)}, "tuples of whole numbers"),
        ({"grid": Grid((100.0, 1), 0)}, "tuples of whole numbers"),
        ({"grid": Grid([100, 1], 0)}, "tuples of whole numbers"),
        ({"grid": Grid((100,), 0)}, "tuples of whole numbers"),
        ({"grid": Grid((100, 1), -1)}, "the size must not be negative"),
        ({"sensors": (0,)}, "tuples of whole numbers"),
        ({"sensors": [50]}, "tuples of whole numbers"),
        ({"sensors": (8, 8)}, "the sensors are"),
        ({"spread_m2": 0.0}, "spread_m2 is 0.0"),
        ({"spread_m2": -1.0}, "spread_m2 is -1.0"),
        ({"spread_m2": math.nan}, "spread_m2 is nan"),
        ({"spread_m2": math.inf}, "spread_m2 is inf"),
        ({"epsilon": 0.5}, "epsilon is 0.5"),
        ({"epsilon": (0, 1)}, "epsilon is"),
        ({"delta": 1e-5}, "delta is 1e-05"),
        ({"delta": (1, 1)}, "delta is 1"),
        ({"delta": (3, 2)}, "delta is 1.5"),
        ({"delta": (1, 2), "calibration": "paper"}, "accepted up to"),
        ({"protect_distance_m": 0.005}, "a shorter one cannot be told"),
        ({"protect_distance_m": 1.5}, "a longer one does not exist"),
        ({"protect_distance_m": math.nan}, "protect_distance_m is nan"),
        ({"intensity_max": 0.0}, "intensity_max is 0.0"),
        ({"intensity_max": math.inf}, "intensity_max is inf"),
        ({"sources_max": 0}, "sources_max is 0"),
        ({"sources_max": 1.5}, "sources_max is 1.5"),
        ({"walls": "brick"}, "walls is 'brick'"),
        ({"step": 0.0625}, "step is 0.0625"),
        ({"step": Fraction(0)}, "step is Fraction"),
        ({"behind": Fraction(1, 5)}, "behind is Fraction"),  # and no step in front of it
        ({"step": Fraction(1), "behind": Fraction(-1, 5)}, "behind is Fraction"),
        ({"step": Fraction(1), "behind": 0.2}, "behind is 0.2"),
        ({"readings": 0}, "readings is 0"),
        ({"readings": True}, "readings is True"),
        ({"calibration": "rough"}, "calibration is 'rough'"),
        ({"estimator": "guess"}, "estimator is 'guess' .* MODULE:FUNCTION.* it is --estimator"),
        ({"failure": 0.0}, "failure is 0.0"),
        ({"failure": 1.0}, "failure is 1.0"),
        ({"keyholder": 1}, "keyholder is 1"),
        ({"sensor_noise": -0.1}, "sensor_noise is -0.1"),
        ({"sensor_noise": math.nan}, "sensor_noise is nan"),
        ({"sources": 0}, "sources is 0"),
        ({"sources": 9}, "sources_max, 8"),
        ({"sources": True}, "sources is True"),
        ({"intensity_min": 0.0}, "intensity_min is 0.0"),
        ({"intensity_min": 1.5}, "intensity_min is 1.5"),
        ({"intensity_min": math.nan}, "intensity_min is nan"),
        ({"level": 1.0}, "level is 1.0"),
        ({"spread_max_m2": 0.04}, "spread_max_m2 is 0.04"),
        ({"spread_max_m2": math.inf}, "spread_max_m2 is inf"),
        ({"spread_max_m2": 0.1, "calibration": "paper"}, "where the noise is exact"),
        ({"spread_max_m2": 0.1, "estimator": "lasso"}, "spread or drift are not known"),
        ({"drift": -0.1}, "drift is -0.1"),
        ({"drift_slope": math.nan}, "drift_slope is nan"),
        ({"drift": 0.1, "estimator": "l1"}, "spread or drift are not known"),
        ({"furniture": ((98, 0, 3, 1),)}, "within the 100 by 1"),
        ({"furniture": ((0, 0, 1, 2),)}, "within the 100 by 1"),
        ({"furniture": ((-1, 0, 1, 1),)}, "within the 100 by 1"),
        ({"furniture": ((0, 0, 0, 1),)}, "within the 100 by 1"),
        ({"furniture": ((0, 0, 1.0, 1),)}, "within the 100 by 1"),
        ({"furniture": ([0, 0, 1, 1],)}, "within the 100 by 1"),
        ({"furniture": ((0, 0, 99, 1),), "sources": 2}, "furniture leaves 1 cells for 2"),
    ],
)
def test_a_query_without_a_meaning_is_refused(change: dict, why: str) -> None:
    """Before anything is planned, with the value that was given."""
    with pytest.raises(ValueError, match=why) as refusal:
        replace(LINE, **change)

    # Four parts: what was given, what is needed, why, and what to do.
    assert " but " in str(refusal.value)
    assert len(str(refusal.value)) > 80


def test_what_the_map_may_count_on_does_not_touch_the_noise() -> None:
    """A device would else blur less because somebody believes to know who is there."""
    knowing = replace(
        LINE,
        sources=2,
        intensity_min=0.9,
        furniture=((10, 0, 5, 1),),
        level=0.5,
        spread_max_m2=0.2,
        drift=0.1,
    )

    assert plan(knowing, ()) == plan(LINE, ())
