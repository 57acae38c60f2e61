"""Many steps: where they end, what they are told, and whom they tell."""

from itertools import pairwise

import numpy as np
import pytest

from physics.diffusion.march import march
from physics.diffusion.medium import Drive, Medium, still
from physics.diffusion.run import Run

MEDIUM = Medium((0.5,), np.ones(4), np.ones(4), np.zeros(4), ((0.0, 1.0),))


@pytest.mark.parametrize(("until_s", "last_s"), [(10.0, 0.7), (9.9, 0.6), (9.4, 0.1)])
def test_steps_meet_end_to_end_and_the_last_ends_on_time(until_s: float, last_s: float) -> None:
    """The drive of every moment is asked for once; the share that is done only grows."""
    asked: list[tuple[float, float]] = []
    shares: list[float] = []

    def drives(from_s: float, to_s: float) -> Drive:
        asked.append((from_s, to_s))
        return still(MEDIUM)

    run = Run(MEDIUM, np.ones(4), at_s=3.0)
    times = [now.at_s for now in march(run, drives, 0.7, until_s, progress=shares.append)]

    assert times[-1] == pytest.approx(until_s, abs=1e-12)
    assert asked[-1][1] - asked[-1][0] == pytest.approx(last_s, abs=1e-12)
    assert len(times) == len(asked) == 10
    assert asked[0][0] == 3.0
    assert all(end == start for (_, end), (start, _) in pairwise(asked))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_it_goes_only_as_far_as_it_is_asked_for() -> None:
    """A march that is left is a run that can go on; one that is over takes no step."""
    run = Run(MEDIUM, np.ones(4))
    drive = still(MEDIUM)
    for now in march(run, lambda *_: drive, 1.0, 100.0):
        if now.at_s == 5.0:
            break
    whole = Run(MEDIUM, np.ones(4))
    for _ in march(whole, lambda *_: drive, 1.0, 9.0):
        pass

    assert run.at_s == 5.0
    assert len(list(march(run, lambda *_: drive, 1.0, 9.0))) == 4
    assert np.array_equal(run.field_k, whole.field_k)
    assert not list(march(run, lambda *_: drive, 1.0, 9.0))


def test_a_medium_that_changes_is_taken_step_by_step() -> None:
    """A wall that is taken away lets heat through from that step on."""
    wall = Medium((0.5,), np.array([1.0, 0.0, 1.0, 1.0]), np.ones(4), np.zeros(4), ((0.0, 0.0),))
    run = Run(wall, np.array([1.0, 0.0, 0.0, 0.0]))
    drive = still(wall)
    first = [
        now.field_k[0]
        for now in march(
            run, lambda *_: drive, 1.0, 6.0, lambda from_s, to_s: wall if to_s <= 3 else MEDIUM
        )
    ]

    assert first[:3] == pytest.approx([1.0, 1.0, 1.0], rel=1e-15)
    assert first[3] < 0.9
    assert run.medium is MEDIUM


def test_the_past_is_refused() -> None:
    """Heat does not go back."""
    run = Run(MEDIUM, at_s=10.0)

    with pytest.raises(ValueError, match="the run is at 10 s already"):
        list(march(run, lambda *_: still(MEDIUM), 1.0, 5.0))
