"""The table of mechanisms on the command line: whatever is in it can be played to the end."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.commands.query import play
from gateway.mechanisms import MECHANISMS, Mechanism
from gateway.mechanisms.record import INPUTS
from gateway.mechanisms.worlds import Inputs
from recovery.maps.heatmap import from_npz

EACH = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
SEEN = {
    "thermal": ("--sources-random", 1, "--sensors", 8, "--cells", 20),
    "disk": ("--points", "szipf", "--users", 300, "--grid", "5x4"),
    "quadtree": ("--points", "szipf", "--users", 300, "--grid", "9x16"),
    "ranks": ("--points", "szipf", "--users", 300, "--grid", "5x4"),
}


@EACH
def test_its_flags_are_flags(mechanism: Mechanism) -> None:
    """A name that no flag has would refuse what it is meant to let in."""
    known = inspect.signature(play).parameters
    own = {said.flag for said in mechanism.abouts.values()} | {"length"}

    assert [name for name in mechanism.flags if name not in {*known, *own}] == []
    assert set(INPUTS[mechanism.reads]) <= set(Inputs._fields)


@pytest.mark.long
@EACH
def test_what_is_published_leads_to_the_same_map(
    mechanism: Mechanism, heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """Play, publish, recover, with every file: the whole way, of each mechanism in the table."""
    names = ("map.npz", "scores.json", "map.png", "public.json")
    out, scores, plot, public = (tmp_path / name for name in names)
    written = ("--out", out, "--scores", scores, "--plot", plot, "--published", public)
    said = heatveil("play", mechanism.name, *SEEN[mechanism.name], "--seed", 1, *written)
    assert (said.status, said.err) == (0, "")
    again = heatveil("recover", public, "--out", tmp_path / "again.npz", "--plot", plot)
    assert (again.status, again.err) == (0, "")

    once, twice = from_npz(out), from_npz(tmp_path / "again.npz")
    assert (once.mass == twice.mass).all()
    assert json.loads(public.read_text())["mechanism"] == mechanism.name
    assert json.loads(scores.read_text())["reports"] > 0
    assert said.out.splitlines()[-3:] == again.out.splitlines()[-3:]  # the promise
