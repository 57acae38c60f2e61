"""A function of somebody else draws maps: from the command line, in a study, or not at all."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core.records import Grid
from gateway.lab.thermal_study import Row, study
from recovery.estimators import table
from recovery.estimators.record import Estimate, Seen
from recovery.estimators.table import estimate, register
from recovery.thermal import Query

SMALL = Query(Grid((20, 1), 0), (10,), 0.05, (4, 1))

WAYS = """
import numpy as np

def middle(seen):
    return np.eye(len(seen.places))[len(seen.places) // 2]

def broken(seen):
    return np.linalg.inv(np.zeros((2, 2)))
"""


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take out again what a test adds."""
    known = dict(table._TABLE)
    yield
    table._TABLE.clear()
    table._TABLE.update(known)


def middle(seen: Seen) -> np.ndarray:
    """Return all heat in the middle cell."""
    return np.eye(len(seen.places))[len(seen.places) // 2]


@pytest.mark.long
def test_a_file_at_hand_draws_the_map_of_a_play_and_of_what_it_published(
    heatveil: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what was published can be drawn by who does not have that file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("ways_of_mine.py").write_text(WAYS)
    scene = ("play", "thermal", "--sources-random", 2, "--cells", 20, "--sensors", 10)
    own = ("--estimator", "ways_of_mine:middle")
    heatveil(*scene, *own, "--seed", 1, "--out", "a.npz", "--published", "p.json")
    table._TABLE.pop("ways_of_mine:middle")
    heatveil("recover", "p.json", "--estimator", "entropy", "--out", "b.npz")
    heatveil("recover", "p.json", *own, "--out", "c.npz")
    masses = [np.load(name)["mass"] for name in ("a.npz", "b.npz", "c.npz")]

    assert masses[0].argmax() == 10
    assert masses[0].max() == 1
    assert (masses[0] == masses[2]).all()
    assert (masses[0] != masses[1]).any()
    assert "estimator" not in json.loads(Path("p.json").read_text())["query"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ways_of_mine:broken", "raised LinAlgError (Singular matrix) on 10 readings"),
        ("ways_of_mine:broken", "Mend line 8 of"),  # not one of NumPy's
        ("ways_of_mine:none", "cannot be loaded (AttributeError"),
        ("no_such_module:middle", "cannot be loaded (ModuleNotFoundError"),
        ("os:sep", "must be a function"),
    ],
)
def test_what_cannot_draw_is_the_operators_fault(
    heatveil: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    why: str,
) -> None:
    """One line, not a traceback."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "ways_of_mine.py").write_text(WAYS)
    scene = ("--sources-random", 1, "--cells", 20, "--sensors", 10)
    said = heatveil("play", "thermal", *scene, "--estimator", name)

    assert why in said.refusal


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (np.ones(3), "an array of shape (3,)"),
        (np.ones((100, 1)), "an array of shape (100, 1)"),
        (np.full(100, np.nan), "100 numbers that are not finite"),
        (-np.ones(100), "heat down to -1"),
        (np.ones(100, dtype=complex), "a ndarray of complex128"),
        (None, "a ndarray of object"),
        (np.ones(100), "heat where nothing can stand"),
        (Estimate(np.ones(2), "optimal", 0.0), "an array of shape (2,)"),
    ],
)
def test_heat_that_is_none_is_refused(made: Any, why: str) -> None:
    """A map is shares of it."""
    operator = np.eye(50, 100) + 0.1
    free = np.arange(100) < 50
    places = np.arange(1.0, 101)[:, None]
    seen = Seen(operator, np.ones(50), 0.1, places, (1, 100), open=free)
    register("mine", lambda seen: made)
    with pytest.raises(ValueError, match=re.escape(why)):
        estimate("mine", seen)


@pytest.mark.parametrize(("name", "function"), [("auto", middle), ("", middle), ("mine", 3)])
def test_no_name_of_the_program_is_taken(name: str, function: Any) -> None:
    """A map says by whom it was drawn, and must be believed."""
    with pytest.raises(ValueError, match="of one's own|must be a function"):
        register(name, function)


@pytest.mark.long
def test_a_study_gives_everybody_the_same_readings(tmp_path: Path) -> None:
    """Under two names one function is as near, whoever else is tried; others are not."""

    def scene(world: np.random.Generator) -> np.ndarray:
        return np.eye(20)[world.integers(20)]

    register("again", middle)
    asked: dict[str, Any] = {"query": SMALL, "trials": 2}
    rows = study([middle, "again", "entropy"], {"one": scene, "two": 2}, [2, "8/1"], **asked)
    alone = study(["entropy"], {"two": 2}, ["8/1"], plot=tmp_path / "study.png", **asked)

    def told(row: Row) -> str:
        return repr(row[1:-1])

    assert [row.epsilon for row in rows] == [2, 2, 2, 8, 8, 8] * 2
    assert list(map(told, rows[0::3])) == list(map(told, rows[1::3]))
    assert rows[-1].error == alone[0].error != rows[-2].error
    assert (tmp_path / "study.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"estimators": []}, "nothing to compare"),
        ({"estimators": ["no"]}, "the estimator is 'no'"),
        ({"estimators": [middle, lambda seen: seen, lambda seen: seen]}, "called <lambda>"),
        ({"scenes": {"a": 0}}, "the scene a has 0 sources but must have 1 to 20"),
        ({"scenes": {"a": 21}}, "the scene a has 21 sources"),
        ({"scenes": {"a": lambda world: np.zeros(20)}}, "the scene a has heat"),
        ({"scenes": {"a": lambda world: (np.ones(20), np.ones(3))}}, "the scene a has warmth"),
        ({"scenes": {"a": "src.csv"}}, "the scene a is 'src.csv' but must be a number of sources"),
        ({"scenes": {"a": True}}, "the scene a is True"),
        ({"epsilons": [0]}, "epsilon"),
        ({"epsilons": "1/2"}, "taken one by one"),
        ({"estimators": "auto"}, "estimators are 'auto' .* but each must be a list"),
        ({"estimators": [middle, lambda seen: seen.nothing]}, "<lambda> raised AttributeError"),
    ],
)
def test_a_study_of_nothing_is_refused(given: dict[str, Any], why: str) -> None:
    """And what it was given is no estimator for others then."""
    known = dict(table._TABLE)
    asked: dict[str, Any] = {"estimators": ["entropy"], "scenes": {"a": 1}, "epsilons": [1]}
    with pytest.raises(ValueError, match=why):
        study(**(asked | given), trials=1, query=SMALL)

    assert dict(table._TABLE) == known
