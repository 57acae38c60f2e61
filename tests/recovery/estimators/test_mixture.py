"""The mixture: a likelihood that only rises, and sources that are found without noise."""

from dataclasses import replace

import numpy as np
import pytest

from recovery.estimators import atoms
from recovery.estimators.record import Prior


def likelihood(logs: np.ndarray, hits: np.ndarray, chosen: np.ndarray) -> float:
    return float(hits @ np.log(np.exp(logs[:, chosen]).mean(axis=1)))


def test_every_step_raises_the_likelihood(line, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law of expectation and maximisation; the last step changes nothing."""
    for seed in range(10):
        _, seen = line(seed, 3, sigma=0.3)
        hits = np.maximum(seen.readings, 0)
        logs = np.log(seen.operator / seen.operator.sum(axis=0))
        start = atoms.spread_out(seen.places, 3)
        values = []
        for steps in range(8):
            monkeypatch.setattr(atoms, "_STEPS", steps)
            values.append(likelihood(logs, hits, atoms.located(logs, hits, start)))

        assert np.diff(values).min() >= -1e-9
        assert values[-1] > values[0]


def test_one_source_is_where_the_likelihood_is_highest(line, plane) -> None:
    """With one source there is one maximum, and it is found in one step."""
    for seen in (line(1, 1, furniture=True)[1], plane(1, 1, furniture=True)[1]):
        shares = seen.operator / seen.operator.sum(axis=0)
        values = np.maximum(seen.readings, 0) @ np.log(np.maximum(shares, 1e-12))

        assert (
            atoms.estimate_by_mixture(seen).heat.argmax()
            == np.where(seen.open, values, -1e9).argmax()
        )


def test_sources_far_apart_are_found_without_noise() -> None:
    """Heat that goes past the last sensor does not pull them inwards."""
    from physics.kernel import forward
    from recovery.estimators.record import Seen

    places = np.arange(1, 41) / 40
    operator = forward(places, np.arange(1, 26) / 25, 0.002)
    readings = operator[:, 1] + operator[:, 30]
    found = atoms.estimate_by_mixture(
        Seen(operator, readings, 1e-3, places[:, None], (1, 40), Prior(2, 2))
    )

    assert np.flatnonzero(found.heat).tolist() == [1, 30]


def test_the_number_is_found_where_it_is_not_known(line) -> None:
    """Little noise: two sources are no longer one, nor are they three."""
    _, seen = line(5, 2, sigma=0.05)
    found = atoms.estimate_by_mixture(replace(seen, prior=Prior(0, 4)))

    assert found.heat.sum() == pytest.approx(2)


def test_cold_sensors_are_refused(line) -> None:
    """A mixture's shapes are chances."""
    _, seen = line(1)
    with pytest.raises(ValueError, match="shapes are chances"):
        atoms.estimate_by_mixture(replace(seen, operator=-seen.operator))


def test_starts_are_spread_over_the_cells(line, plane) -> None:
    """No cell is farther from its start than the cells' own width allows."""
    for seen in (line(1)[1], plane(1)[1]):
        for number in (1, 2, 5):
            starts = seen.places[atoms.spread_out(seen.places, number)]
            far = np.linalg.norm(seen.places[:, None] - starts, axis=2).min(axis=1).max()

            assert far <= (1.5 if seen.places.shape[1] == 2 else 0.75) / number ** (
                1 / seen.places.shape[1]
            )
