"""`heatveil calibrate`: which noise, and first of all what it does not hide."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import dp_accounting
import numpy as np
import pytest
from matplotlib.image import imread
from scipy.optimize import brentq

from edge.core.records import Grid
from edge.mechanisms.thermal import Params, bits
from gateway.faults import OperatorFault
from gateway.mechanisms.thermal import calibrate_numbers
from gateway.mechanisms.thermal.granting import make_first_limits
from gateway.settings import config
from recovery.maps.guarantee import round_up
from recovery.noise.gaussian import zcdp_epsilon
from recovery.thermal import Query, plan

Command = Callable[..., Any]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.toml"
    path.write_text(config.make_sample())
    return path


@pytest.fixture(autouse=True)
def _few_trials(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Try the map twice only, but where its worth is what is looked at."""
    if "tried" not in request.node.name:
        monkeypatch.setattr(calibrate_numbers, "_FEW", ((2, 8_000, 2_000),))


def test_what_is_not_protected_stands_first(heatveil: Command) -> None:
    """Whoever reads one line only must not go away with a false hope."""
    said = heatveil("calibrate")
    first = said.out.splitlines()[0]

    assert said.status == 0
    assert first.startswith("NOT PROTECTED: that somebody is there, how many they are")
    # Published as 139; whole numbers widen the noise by up to two per cent.
    assert float(re.search(r"comes or goes: epsilon ([\d.]+)", first)[1]) == pytest.approx(
        139, rel=0.02
    )
    assert float(re.search(r"however many: epsilon ([\d.]+)", first)[1]) == pytest.approx(
        139, rel=0.02
    )


def test_the_numbers_are_those_of_outside_computations(heatveil: Command) -> None:
    """n = 100, m = 50, T = 0.05 at (1, 1e-5): sensitivity, sigma and group distances."""
    found = json.loads(heatveil("calibrate", "--json").out)

    assert found["sensitivity"] == pytest.approx(0.135897, abs=1e-6)
    assert found["sigma"] / found["sensitivity"] == pytest.approx(3.7306, rel=0.02)
    assert found["really_given"]["epsilon"] == pytest.approx(1, abs=1e-3)
    by_cells = {row["cells"]: row["epsilon"] for row in found["distances"]}
    assert by_cells[1] == pytest.approx(1, abs=0.01)
    assert by_cells[2] == pytest.approx(2.15, abs=0.02)
    assert by_cells[10] == pytest.approx(14.3, abs=0.3)
    assert found["presence_epsilon"] == pytest.approx(139, abs=3)
    others = {row["name"]: row["epsilon_with_this_noise"] for row in found["what_if"]}
    assert others["twice_the_sensors"] == pytest.approx(1.47, abs=0.02)
    assert others["shorter_spread"] == pytest.approx(4.3, abs=0.1)


def test_every_key_is_told_and_every_told_key_is_there(heatveil: Command) -> None:
    """Programs read this: a key is documented, and a documented key does not go away."""
    found = json.loads(heatveil("calibrate", "--json").out)
    told = re.findall(r"^    ([a-z][a-z_, ]*?)(?:  |$)", calibrate_numbers.__doc__, re.MULTILINE)

    assert set(found) == {name for line in told for name in line.split(", ")}


@pytest.mark.long
def test_what_is_calibrated_is_what_is_asked_and_what_devices_get(
    heatveil: Command, site: Path
) -> None:
    """One file, three readers: calibrate, the gateway's rounds, the devices' limits."""
    found = json.loads(heatveil("calibrate", site, "--json").out)
    deployed = config.load_deployment(site)
    query = config.make_query(deployed)
    asked, limits = plan(query, []), make_first_limits(query, deployed.rounds.every_s)
    params = Params(*asked.params)

    assert found["variance_grains"] == params.variance == limits.variance
    assert found["exponent"] == params.exponent == limits.exponent
    assert found["sensitivity_squared_grains"] == limits.square
    assert found["clamp_grains"] == [params.low, params.high]
    assert found["bits_per_reading"] == bits(asked)
    assert found["nano_rho_window"] == limits.budget
    assert Fraction(*found["rho"]) == Fraction(*asked.guarantee.rho)
    assert Fraction(*found["rho_window"]) == 24 * Fraction(*found["rho"])
    assert found["window_s"] == 24 * deployed.rounds.every_s
    assert found["protect"] == {"cells": 2, "distance": 0.5}


@pytest.mark.long
def test_more_windows_cost_what_their_sum_costs(heatveil: Command, site: Path) -> None:
    """Epsilon a day is not epsilon a life: the exact curve of all readings lies just below."""
    found = json.loads(heatveil("calibrate", site, "--json").out)
    mu = 2 * float(Fraction(*found["rho_window"]))
    for row in found["windows"]:
        exact = dp_accounting.get_epsilon_gaussian((row["windows"] * mu) ** -0.5, 1e-5)

        assert exact <= row["epsilon"] <= 1.1 * exact


def test_the_map_is_tried_with_many_readings_too(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight days of one an hour take little longer than one day: it is the map that takes long."""
    one = Mock(return_value=(1.0, 5.0, "robust"))
    monkeypatch.setattr(calibrate_numbers, "_try_one_map", one)
    query = config.make_query(config.load_deployment(site))
    trials = []
    for readings in (24, 192, 400):
        found = calibrate_numbers.try_maps(replace(query, readings=readings), lambda _: None)
        trials.append(found and found.trials)

    assert trials == [20, 10, None]


@pytest.mark.long
def test_the_printed_formula_never_stands_alone(heatveil: Command, tmp_path: Path) -> None:
    """What it really gives stands beside its label wherever the label stands."""
    noise = ("--calibration", "paper", "--delta", "1/10")
    published = tmp_path / "public.json"
    shown = heatveil("calibrate", *noise).out
    found = json.loads(heatveil("calibrate", *noise, "--json").out)
    played = heatveil(
        "play", "thermal", "--sources-random", 1, *noise, "--seed", 1, "--published", published
    ).out

    said = r"gives epsilon 0 at delta 1/10, or delta 1\.\d+e-08 at epsilon 1"
    assert re.search(said, shown)
    assert re.search(said, played)
    assert re.search(said, published.read_text())
    # Published as 1.3e-8, for noise in real numbers.
    assert found["really_given"]["epsilon"] == 0
    assert found["really_given"]["delta"] == pytest.approx(1.3e-8, rel=0.3)
    assert found["epsilon"] == [1, 1]


def coarse(site: Path, step: str, epsilon: str = "8/1") -> Path:
    text = config.make_sample().replace('adc_step = "1/128"', f'adc_step = "{step}"')
    site.write_text(text.replace('epsilon = "8/1"', f'epsilon = "{epsilon}"'))
    return site


@pytest.mark.long
def test_a_converter_that_hides_everything_is_refused(heatveil: Command, site: Path) -> None:
    """A map of nothing is no promise kept: say why, and what would do."""
    said = heatveil("calibrate", coarse(site, "1/1"))

    assert (said.status, said.out) == (1, "")
    for part in ("step is 1 K", "tells the two ends", "54.4%", "a step of 1/2 K would do"):
        assert part in said.err
    told = heatveil("calibrate", site, "--json")
    found = json.loads(told.out)
    assert told.status == 1
    assert (found["refusal"]["adc_step"], found["refusal"]["epsilon"]) == ([1, 2], [16, 1])
    assert heatveil("calibrate", coarse(site, "1/2")).status == 0
    assert heatveil("calibrate", coarse(site, "1/1", "16/1")).status == 0


def test_numbers_that_no_report_carries_are_refused(heatveil: Command, site: Path) -> None:
    """With no plan there are no other numbers, and a program is told as much."""
    said = heatveil("calibrate", coarse(site, "1000000", "1/100"), "--json")

    assert "without it this promise could be kept" in said.refusal
    assert set(json.loads(said.out)) == {"schema", "refusal"}


@pytest.mark.long
def test_the_picture_is_drawn_and_replaces_no_input(
    heatveil: Command, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two panels in three colours; and the deployment is still there afterwards."""
    picture = tmp_path / "hidden.png"

    assert heatveil("calibrate", site, "--plot", picture).status == 0
    assert len(np.unique(imread(picture).reshape(-1, 4), axis=0)) > 50
    plain = imread(picture).shape
    monkeypatch.setenv("HEATVEIL_PRIVACY__WINDOW_H", "24")
    monkeypatch.setenv("HEATVEIL_PRIVACY__READINGS", "26")
    assert heatveil("calibrate", site, "--plot", picture).status == 0
    assert imread(picture).shape[0] > plain[0]  # one panel more: what other windows would cost
    assert heatveil("calibrate", site, "--plot", site).status == 1
    assert site.read_text() == config.make_sample()


@pytest.mark.long
def test_a_map_of_more_readings_than_a_window_holds_is_told_with_its_time(
    heatveil: Command, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is of the last forty, as the service draws it: of almost a week, not of a day."""
    for name, value in {"WINDOW_H": 24, "READINGS": 40}.items():
        monkeypatch.setenv(f"HEATVEIL_PRIVACY__{name}", str(value))
    monkeypatch.setenv("HEATVEIL_ROUNDS__EVERY_S", "14400")
    monkeypatch.setenv("HEATVEIL_ROUNDS__HOURS", "08:00-18:00")
    said = heatveil("calibrate", site).out

    assert "The map: after 40 readings together over 6.667 days," in said
    assert "\nBeware: readings = 40," in said
    assert "\nBeware: rounds open 08:00-18:00 alone," in said  # which is far more than a week


@pytest.mark.long
def test_longer_windows_at_the_cost_of_one_week_are_told_with_their_maps(
    heatveil: Command, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the law of Gaussian noise: so many windows of a week cost what those planned do."""
    for name, value in {"WINDOW_H": 24, "READINGS": 26}.items():
        monkeypatch.setenv(f"HEATVEIL_PRIVACY__{name}", str(value))
    plain, numbers = heatveil("calibrate", site), heatveil("calibrate", site, "--json").out
    told = json.loads(numbers)
    rows, delta = told["same_week"], 1e-5
    rho = [
        brentq(lambda rho, row=row: zcdp_epsilon(rho, delta) - row["epsilon"], 1e-6, 50)
        for row in rows
    ]

    assert [row["window_h"] for row in rows] == [8, 24, 168]
    assert rows[1]["off"] == told["map"]["off"]
    assert rows[0]["off"] > rows[1]["off"] > rows[2]["off"]  # by factors of 1.7 to 2.6
    costs = [zcdp_epsilon(weeks * one, delta) for weeks, one in zip((21, 7, 1), rho, strict=True)]
    assert costs == pytest.approx([costs[1]] * 3, rel=0.002)
    assert max(costs) <= costs[1] * (1 + 1e-9)
    assert f"Where a week may cost epsilon {round_up(costs[1], 4)}" in plain.out
    off, error = (rows[0][name] for name in ("off", "standard_error"))
    assert f" is off by {off:.2g} m, give or take {error:.1g}\n" in plain.out
    assert " is off by less than a cell, 0.25 m\n" in plain.out  # of a week
    monkeypatch.setenv("HEATVEIL_ROUNDS__HOURS", "08:00-18:00")  # whose note is no JSON
    monkeypatch.setenv("HEATVEIL_ROUNDS__SAMPLER", "table")  # of whose week nothing is promised
    tables = heatveil("calibrate", site, "--json")
    assert (tables.status, json.loads(tables.out)["same_week"]) == (0, [])


def test_a_window_without_a_promise_is_left_out_and_a_worthless_map_is_told_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever an epsilon is, one that is told is at most what was reckoned, by a thousandth."""
    query = Query(Grid((40, 1), 100), (20,), 0.5, (1, 100), readings=26, window_h=24)
    planned = calibrate_numbers.TriedMaps(20, 0, 0.3, 0.02, 1.3, "lasso", 1)
    asked = list[Query]()

    def tried(other: Query, stage: object) -> calibrate_numbers.TriedMaps:
        asked.append(other)
        if len(asked) == 2:
            raise OperatorFault("no report carries such noise")
        return planned._replace(unresolved=3, off=1.0)

    monkeypatch.setattr(calibrate_numbers, "try_maps", tried)
    rows = calibrate_numbers._try_windows(query, planned, lambda what: None)
    exact, told = (
        weeks * brentq(lambda rho, e=e: zcdp_epsilon(rho, 1e-5) - e, 1e-12, 1)
        for weeks, e in ((7, 0.01), (21, rows[0]["epsilon"]))
    )

    assert [row["window_h"] for row in rows] == [8, 24]
    assert 0.995 * exact < told <= exact * (1 + 1e-9)
    assert [calibrate_numbers.describe_tried_map(query, row) for row in rows] == [
        "is off by 1 m, give or take 0.02, where there is one: not in 3 trials",
        "is off by 0.3 m, give or take 0.02",
    ]
    gateway = {"background": "gateway", "empty_readings": 2, "background_k": 1.0}
    for other in ({"calibration": "paper"}, gateway):
        assert calibrate_numbers._try_windows(replace(query, **other), planned, print) == []
    for worthless in ({"off": None}, {"off": 1.1}, {"standard_error": 0.1}):
        told_as = calibrate_numbers.describe_tried_map(query, rows[0] | worthless)
        assert told_as == "says next to nothing"


@pytest.mark.long
def test_what_the_map_will_be_worth_is_tried_out(heatveil: Command, site: Path) -> None:
    """Near the top, the same every time, and beside what a guess without data is worth."""
    plain, told = heatveil("calibrate", site), heatveil("calibrate", site, "--json").out
    said, tried = plain.out, json.loads(told)["map"]

    assert plain.status == 0, plain.err
    assert tried == json.loads(heatveil("calibrate", site, "--json").out)["map"]
    assert (tried["trials"], tried["unresolved"] < 4) == (20, True)
    assert 0.1 < tried["off"] < 0.3 * tried["blind"]
    assert tried["standard_error"] < 0.3 * tried["off"]
    assert f"about {tried['off']:.2g} m off, give or take 0." in said.splitlines()[3]
    assert "robust estimator, 20 simulated trials" in said.splitlines()[3]  # which auto took


@pytest.mark.parametrize(
    ("settings", "trials"),
    [
        (("estimator=l1",), 40),  # milliseconds a map
        (("spread_max_m2=0.1",), None),  # seconds a map
        (("drift=0.1",), None),
    ],
)
def test_as_many_are_tried_as_take_a_few_seconds(
    heatveil: Command, settings: tuple[str, ...], trials: int | None
) -> None:
    """And the estimator that is named is the one that was asked for."""
    words = [word for setting in settings for word in ("--set", setting)]
    tried = json.loads(heatveil("calibrate", *words, "--json").out)["map"]

    assert (tried and (tried["trials"], tried["estimator"])) == (trials and (trials, "l1"))


@pytest.mark.long
def test_the_ways_to_take_the_background_away_stand_side_by_side(
    heatveil: Command, site: Path
) -> None:
    """One costs nothing, one costs noise, one costs the map: whoever chooses sees all three."""
    text = config.make_sample().replace("# background = ", "background = ")
    site.write_text(text.replace("# background_k", "background_k").replace("# empty_r", "empty_r"))
    found = json.loads(heatveil("calibrate", "--config", site, "--json").out)
    sigmas = {row["name"]: row["sigma_for_the_promise"] for row in found["what_if"]}

    assert sigmas["background_recorded"] == found["sigma"] == sigmas["as_planned"]
    assert 4 < sigmas["background_following"] / found["sigma"] < 5
    assert found["map"]["unresolved"] < found["map"]["trials"]
    assert found["map"]["off"] < 0.7 * found["map"]["blind"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"readings": 80}, "too long with 100 cells, 50 sensors and 80 readings;"),
        ({"drift": 0.1}, "too long where spread or drift are to be found out;"),
    ],
)
def test_what_takes_too_long_to_try_is_said(more: dict[str, Any], why: str) -> None:
    """One cause, not all that there could be."""
    query = Query(Grid((100, 1), 0), (50,), 0.05, (4, 1), **more)

    assert why in calibrate_numbers.format_map_line(query, None, None)
