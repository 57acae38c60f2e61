"""The table of mechanisms, and `play` as the definition of the whole protocol."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edge.core.records import Grid
from gateway.faults import OperatorFault
from gateway.mechanisms import MECHANISMS, Mechanism, Verbs, find, play, usual
from gateway.mechanisms.scores import data_free, scores
from recovery.maps.guarantee import sentences
from recovery.maps.heatmap import from_npz
from tests.contract.cases import WORDS


def test_a_name_mistyped_is_answered_with_the_nearest() -> None:
    """One line that helps."""
    with pytest.raises(OperatorFault, match=r"termal is not a mechanism.*did you mean thermal\?"):
        find("termal")


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_every_promise_says_for_whom_it_holds_and_what_it_does_not_protect(
    mechanism: Mechanism,
) -> None:
    """A promise is only as good as what its reader takes it for."""
    assert mechanism.subject is not None
    for _, query in mechanism.subject.rooms():
        promise = mechanism.plan(query, ()).guarantee
        said = " ".join(sentences(promise))
        parts = (promise.neighbours, promise.trust, promise.unit, promise.unprotected)
        held = getattr(query, "keyholder", False)

        assert all(part and part in said for part in parts)
        assert "somebody is there" in promise.unprotected
        if mechanism.trust == "central":
            assert promise.trust.startswith("central: the gateway sees")
            continue
        assert ("nobody has a key" in promise.trust, "holder" in promise.trust) == (not held, held)


def test_play_asks_until_the_plan_is_done_and_hands_everything_on() -> None:
    """Two rounds of a mechanism of our own: each verb sees what the one before gave."""
    heard: list[Any] = []

    def plan(query: int, releases: list[Any]) -> str | None:
        return f"round {len(releases)}" if len(releases) < query else None

    def report(round: str, reading: int, rng: Any) -> list[int]:
        return [reading + rng]

    def release(round: str, payloads: list[list[int]], rng: Any) -> tuple[str, int]:
        return round, sum(payload[0] for payload in payloads)

    def recover(query: int, releases: list[Any]) -> Any:
        return releases

    def readings(round: str) -> Iterable[int]:
        heard.append(round)
        return [1, 2, 3]

    counting = Verbs("counting", plan, report, release, recover)

    assert play(counting, 2, readings, 10) == [("round 0", 36), ("round 1", 36)]
    assert heard == ["round 0", "round 1"]


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


# Scores of maps: what scripts average must be right, and nothing may pass for a nought.


def _at(cell: int, cells: int = 100) -> np.ndarray:
    heat = np.zeros((1, cells))
    heat[0, cell] = 1
    return heat


def test_a_map_one_tenth_off_has_the_distance_one_tenth() -> None:
    """Distances are in units of the interval, as the paper's figures are."""
    found = scores(_at(20), _at(30))

    assert found["emd_l1"] == pytest.approx(0.1)
    assert found["w2"] == pytest.approx(0.1)
    assert found["similarity"] == 0


def test_the_truth_need_not_add_to_one() -> None:
    """Sources have intensities; only where their heat is counts."""
    assert scores(7 * _at(20), _at(30)) == scores(_at(20), _at(30))


def test_a_score_that_does_not_apply_is_null() -> None:
    """A flat map has no correlation with anything, and a correlation of 0 says something else."""
    assert scores(_at(20), np.full((1, 100), 0.01))["pearson"] is None


def _striped(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Every other column twice as warm, beside a map that is warm everywhere."""
    truth = np.ones((side, side))
    truth[:, ::2] = 2
    return truth, np.full((side, side), 1 / side**2)


def test_a_plane_is_scored_exactly() -> None:
    """By hand: a sixth of the heat moves by one column, whatever the ground distance."""
    found = scores(*_striped(12))

    assert found["emd_l1"] == pytest.approx(1 / 6 / 12)
    assert found["emd_l2"] == pytest.approx(1 / 6 / 12)
    assert found["w2"] == pytest.approx((1 / 6) ** 0.5 / 12)


def test_a_plane_too_large_for_an_exact_distance_has_null() -> None:
    """The other scores are still there."""
    found = scores(*_striped(130))

    assert found["w2"] is None
    assert found["emd_l1"] == pytest.approx(1 / 6 / 130)
    assert found["mse"] is not None


@pytest.mark.parametrize(("nearer", "lines"), [(1e-12, 2), (-0.1, 2), (0.1, 1)])
def test_a_map_as_far_off_as_a_guess_but_for_rounding_is_called_one(
    nearer: float, lines: int
) -> None:
    """A solver's last digits are no information."""
    truth, grid = np.array([[0.0, 1.0, 0.0, 0.0]]), Grid((4, 1), 0)
    world = SimpleNamespace(truth=truth, query=SimpleNamespace(grid=grid))
    played: Any = SimpleNamespace(world=world, watch=SimpleNamespace(reports=1))
    told = usual.judge(played, {"emd_l1": 0.25 - nearer, "emd_l1_data_free": 0.25}, print)

    assert len(told.lines) == lines


@pytest.mark.parametrize(("cell", "guess"), [(0, 0.495), (50, 0.25), (99, 0.495)])
def test_a_guess_without_data_is_scored_as_heat_everywhere(cell: int, guess: float) -> None:
    """By hand: the mean distance to the cell, (sum of |j - i|) / 100**2."""
    assert data_free(_at(cell)) == pytest.approx(guess)
