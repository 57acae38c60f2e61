"""What holds for every estimator, whichever it is: laws over the table."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from physics.kernel import forward
from recovery.distance import earth_movers
from recovery.estimators import table
from recovery.estimators.record import Prior
from recovery.estimators.table import ESTIMATORS, estimate
from tests import processes


@pytest.mark.long
@pytest.mark.parametrize("name", ESTIMATORS)
def test_heat_is_where_it_can_be_and_the_same_every_time(line, plane, name: str) -> None:
    """Not negative, none on the furniture, nothing given is changed, the residual is true."""
    for seen in (line(1, furniture=True)[1], plane(1, side=6, furniture=True)[1]):
        for part in (seen.operator, seen.readings, seen.places, seen.open):
            part.setflags(write=False)
        found, again = estimate(name, seen), estimate(name, seen)

        assert found.heat.shape == (len(seen.places),)
        assert found.heat.min() >= 0
        assert found.heat.sum() > 0
        assert not found.heat[~seen.open].any()
        assert np.array_equal(found.heat, again.heat)
        assert found.residual == pytest.approx(
            np.linalg.norm(seen.operator @ found.heat - seen.readings)
        )
        assert found.status


@pytest.mark.parametrize("name", ESTIMATORS)
def test_with_next_to_no_noise_one_source_is_found(line, plane, name: str) -> None:
    """Nearly to the cell; what is linear has ripples in a plane, and says so."""
    for heat, seen in (line(3, 1, sigma=1e-3), plane(3, 1, sigma=1e-3)):
        found = estimate(name, seen)
        shape = seen.shape if seen.shape[0] > 1 else (seen.shape[1],)
        away = earth_movers(found.heat.reshape(shape), heat.reshape(shape), normalise=True)

        assert away < (0.25 if name == "lmmse" and seen.shape[0] > 1 else 0.01)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"readings": np.full(25, np.nan)}, "NaN or infinite but all must be finite"),
        ({"readings": np.zeros(24)}, "Leave silent sensors out of both"),
        ({"operator": np.zeros((25, 40))}, "heat must be felt somewhere"),
        ({"operator": np.ones((25, 41))}, "each sensor has one row"),
        (
            {"operator": np.eye(25, 40), "open": np.arange(40) >= 25},
            "in every open cell, but heat must be",
        ),
        ({"open": np.ones(40)}, "bool"),
        ({"places": np.zeros((40, 3))}, "1 or 2"),
        ({"sigma": 0.0}, "sigma is 0.0 but must be positive"),
        ({"sigma": float("nan")}, "sigma is nan but must be positive"),
        ({"upper": -1.0}, "upper is -1.0 but must be positive"),
        ({"failure": 1.0}, "failure is 1.0 but must be between 0 and 1"),
        ({"open": np.zeros(40, dtype=bool)}, "there is no place for them"),
        ({"places": np.zeros((40, 1))}, "do not rise but must"),
    ],
)
def test_bad_input_is_refused_by_all_in_the_same_words(line, name, fields, sentence) -> None:
    """Before any solver sees it."""
    with pytest.raises(ValueError, match=sentence):
        estimate(name, replace(line(1)[1], **fields))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("spread", [1e9, 0.05])
def test_a_map_of_readings_that_tell_no_places_says_so(line, name: str, spread: float) -> None:
    """Heat spread so far that all places look alike; the control is one that is not."""
    _, seen = line(1)
    places = seen.places[:, 0]
    operator = forward(places, np.arange(1, 26) / 25, spread)
    loud = 5 * operator @ np.eye(40)[3]  # more than nothing, so that nobody answers nothing
    sigma = float(np.linalg.norm(loud)) / 20
    found = estimate(name, replace(seen, operator=operator, readings=loud, sigma=sigma, upper=9.0))

    assert found.heat.any()
    assert found.status.split(":")[0] in (
        ("optimal", "inaccurate", "infeasible") if spread < 1 else ("undetermined",)
    )


def test_listing_the_names_loads_no_solver() -> None:
    """A query is checked against them on every start of the command."""
    script = "import sys, recovery.estimators.table; print(*sys.modules)"
    ran = processes.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert not {"scipy", "cvxpy", "clarabel", "numba", "ot"} & set(ran.stdout.split())


@pytest.mark.parametrize(
    ("prior", "cells", "sigma", "name", "why"),
    [
        (Prior(1, 4), 40, 0.1, "posterior", "up to 4 sources in 40 cells can be weighed"),
        (Prior(1, 1), 40, 0.1, "posterior", "up to 1 source in 40 cells"),
        (Prior(0, 8, 1.0, None), 40, 0.1, "posterior", "nothing comes nearer on average"),
        (Prior(0, 50), 10, 0.1, "posterior", "up to 10 sources"),
        (Prior(1, 13), 40, 0.1, "entropy", "up to 13 sources are too many"),
        (Prior(1, 4), 4097, 0.1, "lasso", "4097 cells are too many"),
        (Prior(1, 4), 40, 1e-9, "l1", "next to no noise"),
    ],
)
def test_the_choice_goes_by_sources_cells_and_noise(line, prior, cells, sigma, name, why) -> None:
    """And says so."""
    _, seen = line(1, 2, cells=cells, sensors=5)
    chosen, because = table.choose(replace(seen, prior=prior, sigma=sigma))

    assert chosen == name
    assert why in because
