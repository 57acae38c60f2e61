"""What holds for every estimator, whichever it is: laws over the table."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2

from physics.kernel import forward
from recovery.distance import earth_movers
from recovery.estimators import table
from recovery.estimators.record import Prior, Seen
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
    """Nearly to the cell."""
    for heat, seen in (line(3, 1, sigma=1e-3), plane(3, 1, sigma=1e-3)):
        found = estimate(name, seen)
        shape = seen.shape if seen.shape[0] > 1 else (seen.shape[1],)
        away = earth_movers(found.heat.reshape(shape), heat.reshape(shape), normalise=True)

        assert away < 0.01


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"readings": np.full(25, np.nan)}, "NaN or infinite but all must be finite"),
        ({"readings": np.zeros(24)}, "Leave silent sensors out of all"),
        ({"others": np.full((3, 25, 40), np.nan)}, "NaN or infinite but all must be finite"),
        ({"others": np.ones((3, 19, 7))}, r"others \(3, 19, 7\), but .* are needed"),
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


@pytest.mark.parametrize(
    ("name", "most", "heeded"), [("auto", 256, True), ("auto", 255, False), ("l1", 256, False)]
)
def test_a_map_of_one_time_alone_says_so(
    plane, monkeypatch: pytest.MonkeyPatch, name: str, most: int, heeded: bool
) -> None:
    """Where each cell for each time is too much, and by what knows of no times."""
    monkeypatch.setattr(table, "_CELLS_MAX", most)
    _, seen = plane(1, 1)
    others = np.stack([0.8 * seen.operator, 0.6 * seen.operator, 0.4 * seen.operator])
    found = estimate(name, replace(seen, others=others))

    assert ("for any of several times" in found.why) == heeded
    assert ("for the stated time" in found.why) != heeded


def test_a_room_of_one_row_is_drawn_over_all_times(line) -> None:
    """Its cells stand along a line, each once for every time."""
    heat, seen = line(1, 1, sigma=0.01)
    others = np.stack([0.8 * seen.operator, 0.6 * seen.operator])
    found = estimate("auto", replace(seen, others=others))

    assert found.estimator == "robust"
    assert earth_movers(found.heat, heat, normalise=True) < 0.03


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


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "auto"])
def test_an_estimator_asked_by_name_says_where_no_heat_explains_the_readings(line, name) -> None:
    """Such as one source and a forgotten baseline; heat beyond `upper` is a prior's to allow."""
    heat, seen = line(1, 1)
    felt = seen.operator @ heat
    warm = replace(seen, readings=9 * felt, sigma=1e-3, prior=Prior(1, 1, 9.0, 9.0))
    forgotten = replace(seen, readings=seen.readings + 21.0)
    quiet = replace(seen, readings=felt, sigma=1e-12)

    found = estimate(name, forgotten)
    assert found.verdict.level == "assumptions"
    assert "no heat within the bounds" in found.verdict.sentence
    for one in (seen, warm, quiet):
        assert not estimate(name, one).verdict.contradicts


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
    chosen, because = table.choose_estimator(replace(seen, prior=prior, sigma=sigma))

    assert chosen == name
    assert why in because


# The estimators' distances from the truth, beside those of 100 other trials found elsewhere.

CELLS, SENSORS = 100, 50
PLACES = np.arange(1, CELLS + 1) / CELLS
SIGMAS = {1: 0.686, 10: 0.069}
TRIALS, TABLE_TRIALS = 40, 100
# Mean distance at epsilon 1 and 10 for so many sources. Estimators that know the number are
# told it; the linear one is nearer than elsewhere, where it was not a median of anything.
TABLE = {
    "l1": {1: (0.084, 0.153, 0.154, 0.151), 10: (0.014, 0.066, 0.075, 0.087)},
    "lasso": {1: (0.059, 0.119, 0.117, 0.113), 10: (0.008, 0.056, 0.070, 0.085)},
    "entropy": {1: (0.042, 0.050, 0.054, 0.051), 10: (0.005, 0.022)},
}


@cache
def operator() -> np.ndarray:
    return forward(PLACES, np.arange(1, SENSORS + 1) / SENSORS, 0.05)


def scenes(sources: int, sigma: float) -> Iterator[tuple[np.ndarray, Seen]]:
    """The same scenes for every estimator."""
    for trial in range(TRIALS):
        world = np.random.default_rng([sources, trial])
        heat = np.zeros(CELLS)
        heat[world.choice(CELLS, sources, replace=False)] = 1
        readings = operator() @ heat + sigma * world.normal(size=SENSORS)
        prior = Prior(sources, sources)
        yield heat, Seen(operator(), readings, sigma, PLACES[:, None], (1, CELLS), prior)


def distances(name: str, sources: int, sigma: float, told: float = 1.0) -> np.ndarray:
    """How far each map is; no heat at all counts as a uniform map."""
    found = []
    for heat, seen in scenes(sources, sigma):
        made = estimate(name, replace(seen, sigma=told * sigma)).heat
        found.append(earth_movers(made if made.any() else np.ones(CELLS), heat, normalise=True))
    return np.array(found)


def deviations(table: dict[int, tuple[float, ...]], name: str, noisier: float = 1.0) -> np.ndarray:
    """Each mean less the table's, in units of the standard error of both."""
    found = []
    for epsilon, row in table.items():
        for sources, mean in enumerate(row, start=1):
            trials = distances(name, sources, noisier * SIGMAS[epsilon])
            error = trials.std() * (1 / TRIALS + 1 / TABLE_TRIALS) ** 0.5
            found.append((trials.mean() - mean) / error)
    return np.array(found)


@pytest.mark.long
@pytest.mark.parametrize("name", TABLE)
def test_a_row_of_the_table_is_reproduced(name: str) -> None:
    """All of it at once: squared deviations in standard errors add up to a chi-square."""
    off = deviations(TABLE[name], name)

    assert (off**2).sum() < chi2.ppf(0.95, len(off))
