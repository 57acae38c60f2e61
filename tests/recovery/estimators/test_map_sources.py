"""The likeliest scene, against every scene there is."""

from dataclasses import replace
from itertools import combinations
from math import comb, log

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

from recovery.estimators import map_sources
from recovery.estimators.record import Prior


def enumerated(seen, prior: Prior) -> np.ndarray:
    """The likeliest scene of equal powers, by trying all of them on the readings as they come."""
    free = np.flatnonzero(np.ones(seen.operator.shape[1]) if seen.open is None else seen.open)
    best, most = np.zeros(seen.operator.shape[1]), -np.inf
    for number in range(prior.fewest, prior.most + 1):
        for chosen in combinations(free, number):
            heat = np.zeros(seen.operator.shape[1])
            heat[list(chosen)] = prior.warmest
            misfit = seen.operator @ heat - seen.readings
            weight = -misfit @ misfit / 2 / seen.sigma**2 - log(comb(len(free), number))
            if weight > most:
                best, most = heat, weight
    return best


@pytest.mark.parametrize("prior", [Prior(2, 2), Prior(3, 3), Prior(0, 3), Prior(1, 3, 0.5, 0.5)])
def test_it_is_the_likeliest_of_all_scenes(line, plane, prior: Prior) -> None:
    """Along a line and in a plane, with furniture, whether the number is known or not."""
    for seed in (1, 2, 3):
        for seen in (
            line(seed, 2, sigma=0.3, cells=18, furniture=True, power=prior.warmest)[1],
            plane(seed, 2, side=4)[1],
        ):
            seen = replace(seen, prior=prior)
            found = map_sources.estimate(seen)

            assert found.status == "optimal"
            assert found.heat == pytest.approx(enumerated(seen, prior))


def test_the_exact_search_beats_what_exchanges_find_and_is_never_beaten() -> None:
    """Random gains and costs of either sign, where exchanges do fail; every set as the oracle."""
    failed = 0
    for seed in range(40):
        world = np.random.default_rng(seed)
        cross = world.normal(size=(11, 11))
        cross, gain, number = cross + cross.T, world.normal(size=11), seed % 5 + 1
        sets = list(combinations(range(11), number))
        values = [map_sources.worth(gain, cross, one) for one in sets]
        roughly = map_sources.exchanged(gain, cross, number)
        failed += map_sources.worth(gain, cross, roughly) < max(values) - 1e-9

        assert map_sources.exact(gain, cross, number) == sets[int(np.argmax(values))]
        for out in roughly:  # and no exchange of one betters what exchanges end with
            for cell in set(range(11)) - set(roughly):
                other = tuple(sorted((set(roughly) - {out}) | {cell}))
                assert map_sources.worth(gain, cross, other) <= map_sources.worth(
                    gain, cross, roughly
                )
    assert failed > 0


def test_where_sets_are_too_many_exchanges_say_so(line) -> None:
    """Eight sources along a line: a good scene, and no claim that it is the best."""
    heat, seen = line(1, 8, sigma=0.05, cells=60)
    found = map_sources.estimate(seen)
    truth = np.linalg.norm(seen.operator @ heat - seen.readings)

    assert found.status.startswith("inaccurate: no exchange")
    assert found.residual <= truth  # likelier than the truth, which is one of the sets
    assert found.heat.sum() == 8


@pytest.mark.parametrize("coolest", [0.5, None])
def test_powers_are_fitted_within_their_range(line, coolest: float | None) -> None:
    """For the cells that are found, scipy's own minimiser has no better powers."""
    low = 0.3 if coolest is None else coolest
    for seed in range(5):
        _, seen = line(seed, 2, sigma=0.1, cells=20, furniture=True)
        seen = replace(seen, prior=Prior(2, 2, 1.0, coolest))
        found = map_sources.estimate(seen)
        chosen = np.flatnonzero(found.heat)
        best = minimize(
            lambda powers, columns=seen.operator[:, chosen], seen=seen: np.sum(
                (columns @ powers - seen.readings) ** 2
            ),
            np.full(2, 0.7),
            bounds=[(low, 1)] * 2,
        )

        assert len(chosen) == 2
        assert not found.heat[~seen.open].any()
        assert found.heat[chosen] == pytest.approx(best.x, abs=1e-4)


def test_two_sources_of_unequal_power_are_the_best_of_all_sets(line) -> None:
    """The best of all sets of two is not missed."""
    missed = 0
    for seed in range(4):
        _, seen = line(seed, 2, sigma=0.1, cells=14)
        seen = replace(seen, prior=Prior(2, 2, 1.0, 0.5))
        best = min(
            lsq_linear(seen.operator[:, one], seen.readings, (0.5, 1)).cost * 2
            for one in map(list, combinations(range(14), 2))
        )
        missed += map_sources.estimate(seen).residual ** 2 > best * (1 + 1e-6)

    assert missed == 0


def test_a_range_of_next_to_nothing_is_no_range(line) -> None:
    """The number of sources is then that of equal powers; so is it with an honest range."""
    for seed in range(4):
        for sources, sigma in ((1, 0.1), (2, 0.1), (1, 3.0), (2, 3.0)):
            _, seen = line(seed, sources, sigma=sigma, cells=20)
            equal = map_sources.estimate(replace(seen, prior=Prior(1, 3)))
            nearly = map_sources.estimate(replace(seen, prior=Prior(1, 3, 1.0, 1 - 1e-6)))

            assert np.flatnonzero(equal.heat).tolist() == np.flatnonzero(nearly.heat).tolist()


def test_nothing_is_likeliest_where_nothing_is_seen(line) -> None:
    """If it is possible that nobody is there."""
    _, seen = line(1)
    silent = replace(seen, readings=np.zeros(len(seen.readings)), prior=Prior(0, 3))

    assert map_sources.estimate(silent).status.startswith("no estimate")
    assert map_sources.estimate(replace(silent, prior=Prior(1, 3))).heat.sum() == 1


def test_too_many_cells_are_refused(line) -> None:
    """With what to do."""
    _, seen = line(1, cells=4097, sensors=3)
    with pytest.raises(ValueError, match="4097 cells are open but at most 4096"):
        map_sources.estimate(seen)
