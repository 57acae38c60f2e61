"""The table of mechanisms: what each promises, its deployment file, and the scores of maps."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edge.core.records import Grid
from gateway.faults import OperatorFault
from gateway.mechanisms import (
    MECHANISMS,
    TABLE,
    Mechanism,
    find_mechanism,
    find_serving,
    make_first_limits,
    plan_first_round,
    usual,
)
from gateway.mechanisms.scores import compute_scores, score_blind_guess
from gateway.service.ledger import check_terms, make_terms
from gateway.settings import config
from recovery.disk.query import Query
from recovery.maps.guarantee import describe_guarantee
from recovery.maps.heatmap import from_npz
from tests.contract.cases import WORDS


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_every_promise_says_for_whom_it_holds_and_what_it_does_not_protect(
    mechanism: Mechanism,
) -> None:
    """A promise is only as good as what its reader takes it for."""
    for _, query in mechanism.subject.list_queries():
        promise = mechanism.plan(query, ()).guarantee
        said = " ".join(describe_guarantee(promise))
        parts = (promise.neighbours, promise.trust, promise.unit, promise.unprotected)
        held = getattr(query, "keyholder", False)

        assert all(part and part in said for part in parts)
        assert "somebody is there" in promise.unprotected
        if mechanism.trust == "central":
            assert promise.trust.startswith("central: the gateway sees")
            continue
        assert ("nobody has a key" in promise.trust, "holder" in promise.trust) == (not held, held)


@pytest.mark.long
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_what_is_published_leads_to_the_same_map(
    mechanism: Mechanism, heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """Play, publish, recover, with every file: the whole way, of each mechanism in the table."""
    names = ("map.npz", "scores.json", "map.png", "public.json")
    out, scores, plot, public = (tmp_path / name for name in names)
    written = ("--out", out, "--scores", scores, "--plot", plot, "--published", public)
    words = WORDS[mechanism.name].split()
    said = heatveil("play", mechanism.name, *words, "--seed", 1, *written)
    assert (said.status, said.err) == (0, "")
    again = heatveil("recover", public, "--out", tmp_path / "again.npz", "--plot", plot)
    assert (again.status, again.err) == (0, "")

    once, twice = from_npz(out), from_npz(tmp_path / "again.npz")
    assert (once.mass == twice.mass).all()
    assert json.loads(public.read_text())["mechanism"] == mechanism.name
    assert json.loads(scores.read_text())["reports"] > 0
    assert said.out.splitlines()[-3:] == again.out.splitlines()[-3:]  # the promise


# The deployment file by mechanism: what one needs the other refuses, and each in a sentence.


def written(folder: Path, text: str) -> Path:
    path = folder / "gateway.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("mechanism", [name for name in TABLE if find_mechanism(name).serving])
def test_the_sample_of_each_loads_and_can_be_asked(tmp_path: Path, mechanism: str) -> None:
    """It is what everybody begins with; what is asked can be paid for as often as is promised."""
    deployment = config.load_deployment(written(tmp_path, config.make_sample(mechanism)))
    query = config.make_query(deployment)

    plan = plan_first_round(deployment, query)
    assert plan.mechanism == mechanism
    said = find_mechanism(mechanism).promise(query, plan.guarantee)
    assert said[find_mechanism(mechanism).trust != "local"].startswith("Protected: ")
    limits = make_first_limits(deployment, query)
    assert limits.budget >= deployment.privacy.readings
    find_serving(mechanism).check_held(query, {"a": 1}, {"a": limits})


def test_the_sample_of_people_says_what_its_query_is(tmp_path: Path) -> None:
    """Nothing of the file is passed over on the way to the plan."""
    text = config.make_sample("disk").replace("# radius = 3", "radius = 2.5")
    text = text.replace('estimator = "auto"', 'estimator = "em"').replace("= 0.9", "= 0.8")

    found = config.make_query(config.load_deployment(written(tmp_path, text)))
    assert found == Query(Grid((15, 15), 2000), (7, 2), radius=2.5, estimator="em", level=0.8)


@pytest.mark.parametrize(
    ("mechanism", "old", "new", "words"),
    [
        ("thermal", "[heat]\n", "[disk]\ndevices = 4\n[heat]\n", ["[disk] is given", "thermal"]),
        ("thermal", 'delta = "1/100000"\n', "", ["[privacy] delta is missing", "thermal"]),
        ("thermal", 'mechanism = "thermal"', 'mechanism = "disk"', ["[heat] is given", "[disk]"]),
        ("disk", "[privacy]\n", "[heat]\nspread_m2 = 1\n[privacy]\n", ["[heat] is given", "disk"]),
        ("disk", "[privacy]\n", "[sensors]\ncount = 9\n[privacy]\n", ["[sensors] is given"]),
        ("disk", "[privacy]\n", '[privacy]\ndelta = "1/9"\n', ["[privacy] delta", "never fails"]),
        ("disk", "[privacy]\n", "[privacy]\nkeyholder = true\n", ["keyholder", "hides no place"]),
        (
            "disk",
            "[privacy]\n",
            "[privacy]\nprotect_distance_m = 2\n",
            ["protect_distance_m", "remove it"],
        ),
        ("disk", "solve_s = 10", 'estimator = "lasso"', ["[rounds] estimator", "under [disk]"]),
        ("disk", '# scheme = "auto"', 'scheme = "damn"', ["[disk] scheme is 'damn'", "dam-ns"]),
        ("disk", 'estimator = "auto"', 'estimator = "posterior"', ["[disk] estimator", "'ems'"]),
        ("disk", "# radius = 3", "radius = -1", ["[disk] radius is -1", "greater than or equal"]),
        ("disk", "level = 0.9", "level = 1.5", ["[disk] level is 1.5", "or equal to 1"]),
        ("disk", "devices = 2000", "", ["[disk] devices is missing"]),
        ("disk", "devices = 2000", "devices = 0", ["[disk] devices is 0"]),
        ("disk", "cells = [15, 15]", "cells = [15, 15]\nwalls = 'insulated'", ["[room] walls"]),
        ("disk", "[disk]", "[disc]", ["[disc]", "did you mean disk?"]),
    ],
)
def test_a_table_of_another_mechanism_is_refused_in_a_sentence(
    tmp_path: Path, mechanism: str, old: str, new: str, words: list[str]
) -> None:
    """What is written down and heeded by nobody would be taken for a promise."""
    assert old in config.make_sample(mechanism)
    path = written(tmp_path, config.make_sample(mechanism).replace(old, new, 1))
    with pytest.raises(OperatorFault) as caught:
        config.load_deployment(path)

    said = str(caught.value)
    assert "\n" not in said
    for word in [str(path), *words]:
        assert word in said


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('epsilon = "7/2"', 'epsilon = "170/1"', "epsilon of one report is 170"),
        ("readings = 1", "readings = 100000", "epsilon of one report is 3.5e-05"),
        ('# scheme = "auto"', 'scheme = "krr"\nradius = 3', "radius is 3"),
        ("# radius = 3", "radius = 400", "a device reads at most"),
    ],
)
def test_a_promise_that_cannot_be_asked_for_is_the_operators_fault(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    """Also a Round that no device could read: it is known before the first is charged."""
    assert old in config.make_sample("disk")
    path = written(tmp_path, config.make_sample("disk").replace(old, new, 1))
    with pytest.raises(OperatorFault, match="cannot be served") as caught:
        config.make_query(config.load_deployment(path))

    assert words in str(caught.value)


def test_prices_of_two_mechanisms_are_never_added(tmp_path: Path) -> None:
    """A database that was charged for warmth takes no charge for people, nor the other way."""
    paid_for = {}
    for mechanism in ("thermal", "disk"):
        deployment = config.load_deployment(written(tmp_path, config.make_sample(mechanism)))
        paid_for[mechanism] = make_terms(
            plan_first_round(deployment, config.make_query(deployment)).guarantee
        )
        check_terms(paid_for[mechanism], paid_for[mechanism])

    for paid, asked in (("thermal", "disk"), ("disk", "thermal")):
        with pytest.raises(OperatorFault, match="promises something else than its database"):
            check_terms(paid_for[paid], paid_for[asked])


# Scores of maps: what scripts average must be right, and nothing may pass for a nought.


def _at(cell: int, cells: int = 100) -> np.ndarray:
    heat = np.zeros((1, cells))
    heat[0, cell] = 1
    return heat


def test_a_map_one_tenth_off_has_the_distance_one_tenth() -> None:
    """Distances are in units of the interval, as the paper's figures are."""
    found = compute_scores(_at(20), _at(30))

    assert found["emd_l1"] == pytest.approx(0.1)
    assert found["w2"] == pytest.approx(0.1)
    assert found["similarity"] == 0


def test_the_truth_need_not_add_to_one() -> None:
    """Sources have intensities; only where their heat is counts."""
    assert compute_scores(7 * _at(20), _at(30)) == compute_scores(_at(20), _at(30))


def test_a_score_that_does_not_apply_is_null() -> None:
    """A flat map has no correlation with anything, and a correlation of 0 says something else."""
    assert compute_scores(_at(20), np.full((1, 100), 0.01))["pearson"] is None


def _striped(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Every other column twice as warm, beside a map that is warm everywhere."""
    truth = np.ones((side, side))
    truth[:, ::2] = 2
    return truth, np.full((side, side), 1 / side**2)


def test_a_plane_is_scored_exactly() -> None:
    """By hand: a sixth of the heat moves by one column, whatever the ground distance."""
    found = compute_scores(*_striped(12))

    assert found["emd_l1"] == pytest.approx(1 / 6 / 12)
    assert found["emd_l2"] == pytest.approx(1 / 6 / 12)
    assert found["w2"] == pytest.approx((1 / 6) ** 0.5 / 12)


def test_a_plane_too_large_for_an_exact_distance_has_null(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other scores are still there."""
    names = "recovery.distance.PAIRS_MAX", "recovery.distance._PAIRS_MAX"
    for where in (*names, "gateway.mechanisms.scores._PAIRS_MAX"):
        monkeypatch.setattr(where, 9)
    found = compute_scores(*_striped(12))

    assert (found["w2"], found["emd_l2"]) == (None, None)
    assert found["emd_l1"] == pytest.approx(1 / 6 / 12)
    assert found["mse"] is not None


@pytest.mark.parametrize(("nearer", "lines"), [(1e-12, 2), (-0.1, 2), (0.1, 1)])
def test_a_map_as_far_off_as_a_guess_but_for_rounding_is_called_one(
    nearer: float, lines: int
) -> None:
    """A solver's last digits are no information."""
    truth, grid = np.array([[0.0, 1.0, 0.0, 0.0]]), Grid((4, 1), 0)
    world = SimpleNamespace(truth=truth, query=SimpleNamespace(grid=grid))
    played: Any = SimpleNamespace(world=world, watch=SimpleNamespace(reports=1))
    told = usual.judge_map(played, {"emd_l1": 0.25 - nearer, "emd_l1_data_free": 0.25}, print)

    assert len(told.lines) == lines


@pytest.mark.parametrize(("cell", "guess"), [(0, 0.495), (50, 0.25), (99, 0.495)])
def test_a_guess_without_data_is_scored_as_heat_everywhere(cell: int, guess: float) -> None:
    """By hand: the mean distance to the cell, (sum of |j - i|) / 100**2."""
    assert score_blind_guess(_at(cell)) == pytest.approx(guess)
