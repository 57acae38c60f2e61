"""Other worlds than the stated one: what they weigh, and what becomes of a map."""

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from edge.core.records import Grid, Release
from edge.mechanisms.thermal import params_of
from gateway.mechanisms.summary import _REACH, describe_warmest_places, find_warmest_places
from physics.kernel import forward
from recovery.bayes.bank import choose_places, weigh_families
from recovery.bayes.exact import compute_exact_posterior, compute_scores
from recovery.distance import earth_movers
from recovery.estimators import robust
from recovery.estimators.record import Prior, Seen
from recovery.estimators.table import estimate
from recovery.maps.heatmap import Credible, Heatmap
from recovery.thermal import Query, make_operator, plan, recover
from recovery.thermal.seen import add_up
from recovery.thermal.seen import make_seen as look

# Two sources, both at their warmest: all sets can be weighed one by one.
LINE = Query(Grid((60, 1), 0), (30,), 0.05, (4, 1), sources=2, intensity_min=1.0)
PLACES, SENSORS = np.arange(1, 61) / 60, np.arange(1, 31) / 30


@cache
def planned():
    return plan(LINE, ())


def released(heat: np.ndarray, trial: int, walls: str = "none", spread: float = 0.05) -> Release:
    """What sensors send of this heat in such a room."""
    params = params_of(planned())
    world = np.random.default_rng(trial)
    warmth = forward(PLACES, SENSORS, spread, walls) @ heat * 2.0**params.exponent
    blurred = warmth + params.variance**0.5 * world.normal(size=30)
    return Release(planned(), np.rint(blurred).astype(int).tolist(), 30)


def two(trial: int) -> np.ndarray:
    heat = np.zeros(60)
    heat[np.random.default_rng([trial, 7]).choice(60, 2, replace=False)] = 1
    return heat


def seen_of(trial: int, **room) -> Seen:
    seen = look(LINE, add_up(LINE, [released(two(trial), trial, **room)]))
    assert seen is not None
    return seen


def weighed(seen: Seen):
    return weigh_families(seen, seen.near)


def stated_room(worlds):
    """The first entry of each world, how many it has, and how many there are in a room."""
    heat = worlds.heat
    # Nine spreads, the fifth as stated, and four kinds of walls, the first as stated.
    return heat.indices[heat.indptr[:-1]], np.diff(heat.indptr), heat.shape[1] // 36


def test_what_is_kept_of_a_room_serves_no_other() -> None:
    """Worlds are kept from one map to the next, of any noise; other walls are another room."""
    seen = seen_of(1)
    near = seen.near
    others = [
        replace(seen, sigma=2 * seen.sigma),
        replace(seen, prior=Prior(1, 3)),
        replace(seen, near=replace(near, spread_m2=0.06)),
        replace(seen, near=replace(near, walls="insulated")),
        seen.select_sensors(np.arange(29)),
    ]
    first = weighed(seen)["equal"].log_evidence
    found = [weighed(one)["equal"].log_evidence for one in others]

    assert replace(seen, readings=seen.readings + 1).make_room() == seen.make_room()
    # The noise falls with every round of a campaign.
    kept = replace(seen, sigma=2 * seen.sigma).make_room()
    assert kept == seen.make_room()
    assert not len(kept.seen.readings)  # nothing of a map is kept for the next
    assert np.isnan(kept.seen.sigma)
    assert weighed(seen)["equal"].log_evidence == first
    assert first not in found


def test_whatever_differs_between_rooms_tells_them_apart() -> None:
    """One thing at a time, so that none can be left out of what they are told by."""
    seen = seen_of(1)
    near, half = seen.near, np.arange(60) < 30
    others = [
        replace(seen, operator=2 * seen.operator),
        replace(seen, operator=seen.operator.reshape(60, 30)),
        replace(seen, places=seen.places + 1),
        replace(seen, open=half),
        replace(seen, open=~half),
        replace(seen, others=seen.operator[None]),
        replace(seen, near=None),
        replace(seen, near=replace(near, weights=near.weights * 2)),
        replace(seen, near=replace(near, sensors_m=near.sensors_m / 2)),
        replace(seen, near=replace(near, length_m=(2.0,))),
        replace(seen, near=replace(near, spread_m2=0.06)),
        replace(seen, near=replace(near, walls="insulated")),
        replace(seen, prior=Prior(1, 3)),
        replace(seen, shape=(60, 1)),
    ]

    assert len({one.make_room() for one in (seen, *others)}) == 1 + len(others)


def test_one_and_two_sources_in_the_stated_room_weigh_what_enumeration_says() -> None:
    """An independent sum over all sets: no part of the likelihood is left out of either."""
    seen = replace(seen_of(1), prior=Prior(1, 3))
    found = weighed(seen)["equal"]
    where, numbers, width = stated_room(found.worlds)
    nothing = -0.5 * float(np.square(seen.readings / seen.sigma).sum())
    for number in (1, 2):
        alone = numbers == found.worlds.numbers
        rows = (where // width == 16) & (numbers == number) & alone
        inside = np.logaddexp.reduce(found.weights[rows])
        prior = np.logaddexp.reduce(found.worlds.prior[rows])
        exact = compute_exact_posterior(
            compute_scores(seen.operator, seen.readings, seen.sigma, 1.0), number, number
        )

        assert rows.sum() == math.comb(60, number)
        assert inside - prior - nothing == pytest.approx(exact.log_evidence, abs=0.02)


def test_a_source_outside_is_weighed_and_is_not_on_the_map() -> None:
    """Two sources as stated and one a seventh of the line beyond its end, all equally warm."""
    seen, heat = seen_of(3), two(3)
    felt = forward(PLACES, SENSORS, 0.05) @ heat
    beside = forward(np.array([1.15]), SENSORS, 0.05)[:, 0]
    for warmth, share in ((felt, (0.0, 0.5)), (felt + beside, (0.7, 1.0))):
        found = weighed(replace(seen, readings=warmth * seen.near.weights))["equal"]
        some = found.draw(400, len(choose_places(seen)))

        assert share[0] <= some.outside.mean() <= share[1]
        assert some.places.max() < 60
        assert set(np.unique(some.heats)) == {0.0, 1.0}


def test_worlds_that_no_sensor_feels_weigh_what_nothing_does() -> None:
    """So every family's prior adds to one, and the level is a law like the others."""
    seen = replace(seen_of(2), prior=Prior(2, 2, 1e-9, 1e-9))
    nothing = -0.5 * float(np.square(seen.readings / seen.sigma).sum())
    found = weighed(seen)

    for name in ("equal", "equal level"):
        assert found[name].log_evidence == pytest.approx(nothing, abs=1e-3)


def test_a_level_is_noise_that_all_sensors_share() -> None:
    """The density of the readings if one source stands in a cell, by scipy's own Gaussian."""
    seen = seen_of(3)
    found, sigma, cell = weighed(replace(seen, prior=Prior(1, 3))), seen.sigma, 9
    loudest = 0.12 * float(seen.operator.max())  # one deviation of the level, and of the slope
    drift = np.column_stack([np.ones(30), 2 * SENSORS - 1]) * loudest / sigma
    where, numbers, width = stated_room(found["equal"].worlds)
    (row,) = np.flatnonzero((where == 16 * width + cell) & (numbers == 1))

    for name, more in (("equal", 0.0), ("equal level", 1.0)):
        law = multivariate_normal(
            seen.operator[:, cell] / sigma, np.eye(30) + more * drift @ drift.T
        )
        density = law.logpdf(seen.readings / sigma) + 15 * math.log(2 * math.pi)
        weight = found[name].weights[row] - found[name].worlds.prior[row]
        assert weight == pytest.approx(density, abs=0.01 * abs(density))


def test_loud_readings_weigh_what_they_are_worth_in_double_precision() -> None:
    """Squares of 4e8, of which a nat is wanted: a shape of any power, with and without a level."""
    quiet = replace(seen_of(1), prior=Prior(1, 3))
    worlds = weighed(quiet)["room"].worlds
    where, numbers, width = stated_room(worlds)
    row = np.flatnonzero((where // width == 16) & (numbers == worlds.numbers) & (numbers == 4))[0]
    some = worlds.heat[[row]]
    shape = quiet.operator[:, some.indices % width] @ some.data.astype(np.float64)
    sigma = 3 * float(np.linalg.norm(shape)) / 2e4
    noise = np.random.default_rng(5).normal(size=30)
    found = weighed(replace(quiet, readings=3 * shape + sigma * noise, sigma=sigma))

    loudest = 0.12 * float(quiet.operator.max()) / sigma
    drift = np.column_stack([np.ones(30), 2 * SENSORS - 1]) * loudest
    for name, more in (("room", 0.0), ("level", 1.0)):
        inside = np.linalg.inv(np.eye(2) + more * drift.T @ drift)
        inverse = np.eye(30) - more * drift @ inside @ drift.T
        unit = shape / sigma
        square = unit @ inverse @ unit
        power = 3 + unit @ inverse @ noise / square
        left = noise - (power - 3) * unit
        law = 0.5 * math.log(np.linalg.det(inside)) - math.log(math.log(200))
        density = -0.5 * left @ inverse @ left + 0.5 * math.log(2 * math.pi / square)
        density += law - math.log(power)
        weight = found[name].weights[row] - found[name].worlds.prior[row]
        assert weight == pytest.approx(density, abs=0.5)


PLANE = Query(Grid((8, 6), 0), (5, 4), 0.05, (4, 1), sources=2, furniture=((2, 1, 2, 1),))


def in_a_plane(query: Query, heat: np.ndarray, trial: int, odd: float = 0.0) -> Release:
    """What sensors of a plane send that are all off by so many deviations of the noise."""
    asked = plan(query, ())
    params, world = params_of(asked), np.random.default_rng(trial)
    sigma = params.variance**0.5
    felt = make_operator(query) @ heat * 2.0**params.exponent
    values = np.rint(felt + sigma * (odd + world.normal(size=len(felt)))).astype(int)
    return Release(asked, values.tolist(), len(values))


def test_in_a_plane_worlds_weigh_what_their_readings_are_worth() -> None:
    """Each in its own room, by scipy's Gaussian; nobody stands where furniture does."""
    heat = np.zeros(48)
    heat[[9, 40]] = 1
    seen = look(PLANE, add_up(PLANE, [in_a_plane(PLANE, heat, 5)]))
    assert seen.open is not None
    seen = replace(seen, prior=Prior(1, 3))
    found, cells, sigma = weighed(seen), choose_places(seen), seen.sigma
    assert not set(cells) - set(np.flatnonzero(seen.open))
    level = 0.12 * float(seen.operator.max()) / sigma
    slopes = 2 * seen.near.sensors_m - 1
    drift = np.column_stack([np.ones(20), slopes]) * level
    mirrored = seen.places * [-1, 1]
    rooms = {  # nine spreads, the fifth as stated, of six kinds of walls
        24: seen.operator,
        25: seen.operator + forward(mirrored, seen.near.sensors_m, 0.05),
        29: forward(seen.places, seen.near.sensors_m, 0.05, "insulated", (1.0, 1.0)),
        53: forward(seen.places, seen.near.sensors_m, 0.05 * 1.35, "insulated", (1.0, 1.0)),
    }
    worlds = found["equal"].worlds
    numbers, width = np.diff(worlds.heat.indptr), worlds.heat.shape[1] // 54
    room = worlds.heat.indices[worlds.heat.indptr[:-1]] // width
    for at, felt in rooms.items():
        for number in (1, 2, 3):
            row = np.flatnonzero((room == at) & (numbers == number))[0]
            those = cells[worlds.heat[[row]].indices % width]
            for name, more in (("equal", 0.0), ("equal level", 1.0)):
                law = multivariate_normal(
                    felt[:, those].sum(axis=1) / sigma, np.eye(20) + more * drift @ drift.T
                )
                density = law.logpdf(seen.readings / sigma) + 10 * math.log(2 * math.pi)
                weight = found[name].weights[row] - worlds.prior[row]
                assert weight == pytest.approx(density, abs=0.02 * abs(density))


def test_in_a_plane_clusters_stand_where_they_are_drawn() -> None:
    """Three of ten shapes are clusters: their sources are near each other on the floor, too."""
    seen = look(PLANE, add_up(PLANE, [in_a_plane(PLANE, np.eye(48)[9], 5)]))
    worlds = weighed(seen)["powers"].worlds.heat
    places, width = seen.places[choose_places(seen)], worlds.shape[1] // 54
    pairs = np.flatnonzero(np.diff(worlds.indptr) == 2)
    first = worlds.indptr[pairs]
    one, other = (places[worlds.indices[first + step] % width] for step in (0, 1))
    away = np.abs(one - other).max(axis=1)

    # Of two at random 2 in 46 cells stand side by side or together; here many more do.
    assert 0.25 < np.mean(away < 0.2) < 0.6
    # All cells are as likely, but for those beside the furniture, whose sources they have, too.
    stood = np.bincount(worlds.indices % width)
    crowded = places[: len(stood)][stood > 1.5 * np.median(stood)]
    furniture = np.delete(seen.places, choose_places(seen), axis=0)
    beside = np.linalg.norm(crowded[:, None] - furniture, axis=2).min(axis=1)
    assert len(furniture) == len(beside) == 2
    assert beside.max() < 0.17


@pytest.mark.long
def test_in_a_plane_a_level_that_is_off_and_mere_noise_are_told() -> None:
    """The map of a warm room without sources would be vivid; without a fault none is told."""
    query = replace(PLANE, sources=None, sources_max=3, furniture=())
    heat = np.zeros(48)
    heat[[9, 40]] = 1
    calm = [recover(query, [in_a_plane(query, heat, trial)]) for trial in range(3)]
    warm = [recover(query, [in_a_plane(query, heat, trial, 4.0)]) for trial in range(3)]
    seen = look(query, add_up(query, [in_a_plane(query, heat, 0)]))
    loud = 1e3 * seen.sigma
    noise = [np.random.default_rng(trial).normal(size=20) * loud for trial in range(3)]
    deaf = [estimate("auto", replace(seen, readings=one, sigma=loud)) for one in noise]

    assert {one.estimator for one in calm} == {"robust"}
    assert {one.verdict.level for one in calm} <= {"fits", "weak"}
    assert "fits" in {one.verdict.level for one in calm}
    assert sum(one.verdict.level == "other" for one in warm) >= 2
    assert all(one.verdict.level == "weak" or not one.heat.any() for one in deaf)


@pytest.mark.long
def test_where_all_is_as_stated_others_are_not_likelier() -> None:
    """Their mean ratio of evidence is one, so a twentieth of the readings reach twenty at most."""
    ratios = []
    for trial in range(100):
        seen = seen_of(trial)
        found = weighed(seen)
        exact = compute_exact_posterior(
            compute_scores(seen.operator, seen.readings, seen.sigma, 1.0), 2, 2
        )
        nothing = -0.5 * float(np.square(seen.readings / seen.sigma).sum())
        ratios.append(found["equal"].log_evidence - nothing - exact.log_evidence)

    assert np.median(ratios) < 0
    assert np.mean(np.array(ratios) > math.log(20)) <= 0.05


def test_walls_that_nobody_stated_are_found_and_the_map_counts_on_them() -> None:
    """Nearer, wider, and it says so; what is proved for the stated room is left out."""
    off, believed, told = [], [], []
    for trial in range(4):
        release, heat = released(two(trial), trial, walls="insulated"), two(trial)
        drawn = recover(LINE, [release])
        by_prior = recover(replace(LINE, estimator="posterior"), [release], certify=False)
        assert isinstance(drawn, Heatmap)
        assert isinstance(by_prior, Heatmap)
        off.append(earth_movers(drawn.mass[0], heat, normalise=True))
        believed.append(earth_movers(by_prior.mass[0], heat, normalise=True))
        told.append(drawn)

    assert sum(off) < 0.5 * sum(believed)
    others = [one for one in told if one.verdict and one.verdict.level == "other"]
    assert len(others) >= 3
    for one in others:
        assert one.credible is not None
        assert one.expected_error > 0
        assert one.certified is None
        assert not one.contradicted
        assert "walls" in one.verdict.sentence


def test_where_all_is_as_stated_the_map_is_the_posteriors() -> None:
    """To the last bit wherever the others have hardly a say; and it says more of what may be."""
    same = 0
    for trial in range(4):
        seen = seen_of(trial)
        robust, sure = estimate("robust", seen), estimate("posterior", seen)
        same += bool(np.array_equal(robust.heat, sure.heat))

        assert robust.credible.expected_error > 1.05 * sure.credible.expected_error
        assert robust.verdict.fits

    assert same >= 2


def test_four_times_as_many_sources_of_any_powers_are_half_as_likely() -> None:
    """Beforehand, in the stated room and in an unknown one: numbers go by their roots."""
    families = weighed(replace(seen_of(1), prior=Prior(1, 4)))
    for name in ("powers", "room"):
        worlds = families[name].worlds
        each = np.bincount(worlds.numbers, np.exp(worlds.prior))

        assert len(each) == 21
        assert each.sum() == pytest.approx(1)
        for number in range(1, 6):
            assert each[number] / each[4 * number] == pytest.approx(2, rel=0.05)


def test_the_band_doubts_what_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wider than by Bayes' rule, and that than of who is sure that all is as stated; one map."""
    scenes = [replace(seen_of(trial), prior=Prior(2, 2, 1.0, 0.9)) for trial in (1, 2, 3)]
    heats, widths = [], []
    for doubt in ((1 - 1e-9, 1.0), (1 / 2, 1.0), robust._DOUBT):
        monkeypatch.setattr(robust, "_DOUBT", doubt)
        drawn = [estimate("robust", seen) for seen in scenes]
        heats.append([one.heat.tolist() for one in drawn])
        widths.append(
            sum(np.mean(one.credible.band.high - one.credible.band.low) for one in drawn)
        )

    assert heats[0] == heats[1] == heats[2]
    assert widths[2] > 1.05 * widths[1] > 1.2 * widths[0]


def test_what_the_readings_cannot_tell_is_said_with_the_map() -> None:
    """At most three faults, the worst first, each by more than half beyond what the map says."""
    named = 0
    for trial in range(4):
        drawn = estimate("robust", seen_of(trial))
        off = [float(one) for one in re.findall(r"about ([\d.]+) times as much if", drawn.why)]
        named += len(off)

        assert drawn.credible is not None
        assert off == sorted(off, reverse=True)[:3]
        assert all(one > 1.45 for one in off)
        assert bool(off) == drawn.why.endswith("cannot tell")

    assert named


def test_a_map_that_is_hardly_better_than_a_guess_says_so() -> None:
    """Of readings that are noise; the control is at the noise of a usual round."""
    quiet, loud = [], []
    for trial in range(3):
        seen = seen_of(trial)
        noise = 1e3 * seen.sigma * np.random.default_rng(trial).normal(size=30)
        deaf = replace(seen, readings=noise, sigma=1e3 * seen.sigma)
        quiet.append(estimate("robust", seen).verdict.level)
        loud.append(estimate("robust", deaf).verdict)

    assert set(quiet) == {"fits"}
    assert {one.level for one in loud} == {"weak"}
    assert not any(one.contradicts for one in loud)
    assert all("guess" in one.sentence for one in loud)


def test_a_map_is_weak_where_it_may_be_off_by_six_tenths_of_an_even_one() -> None:
    """On average over the worlds, each as likely as it is."""
    drawn, even = estimate("robust", seen_of(0)), np.ones(10)

    def level(mean: float) -> str:
        apart = {"stated": (np.full(100, mean), even), "walls": (np.full(100, 0.1), even)}
        return robust._say_how_far(drawn, apart, {"stated": 0.5, "walls": 0.5}).verdict.level

    assert [level(mean) for mean in (1.09, 1.11)] == ["fits", "weak"]


def test_a_map_that_is_even_for_the_most_part_names_the_places_that_stand_out() -> None:
    """One that is even altogether, or over all open cells, names none."""
    cells = np.arange(60)
    bumps = [np.exp(-0.5 * np.square((cells - middle) / 1.5)) for middle in (36, 12)]
    share = 0.6 * bumps[0] / bumps[0].sum() + 0.4 * bumps[1] / bumps[1].sum()
    mixed = 0.4 * share + 0.6 / 60
    sure = Credible(0.9, np.full((1, 60), 1 / 30), np.array([0.0, 0.2, 0.6, 0.2]))
    before, after = (
        [place.at for place in find_warmest_places(mass[None], LINE.grid, credible=sure)]
        for mass in (share, mixed)
    )

    assert len(after) == len(before) == 2
    assert np.abs(np.subtract(before, after)).max() < _REACH
    for even in (np.full((1, 60), 1 / 60), np.where(cells < 40, 1 / 40, 0.0)[None]):
        assert describe_warmest_places(even, LINE.grid, credible=sure) == "spread out"


def test_a_world_without_a_source_has_no_say_in_how_far_off_a_map_is() -> None:
    """It is any way off none; and where there is no other, the map is weak."""
    drawn, none = estimate("robust", seen_of(0)), (np.array([]), np.array([]))
    other = np.array([0.3, 0.4]), np.array([0.6, 0.8])
    chances = {"stated": 0.6, "walls": 0.4}

    found = robust._say_how_far(drawn, {"stated": none, "walls": other}, chances)
    assert found.credible.expected_error == pytest.approx(0.35)
    assert found.verdict.level == "fits"
    alone = robust._say_how_far(drawn, {"stated": none}, chances)
    assert alone.verdict.level == "weak"


def test_who_draws_the_map_changes_nothing_that_devices_are_asked() -> None:
    """No estimator has a say in noise or promise."""
    assert all(
        plan(replace(LINE, estimator=name), ()) == planned()
        for name in ("auto", "robust", "posterior", "entropy", "l1-printed")
    )


def test_what_speaks_for_one_family_against_another_counts_by_its_root() -> None:
    """For the map as for its band: no family is quite the room that there is."""
    logs = {"stated": 0.0, "powers": math.log(1e-4), "room": math.log(1e-8)}
    for stated, power in (robust._MAP, robust._DOUBT):
        chances = robust._weigh(logs, stated, power)

        assert sum(chances.values()) == pytest.approx(1)
        assert chances["powers"] / chances["room"] == pytest.approx(1e2)
        odds = stated / (1 - stated) * 1e4
        assert chances["stated"] / chances["powers"] == pytest.approx(math.sqrt(odds))
