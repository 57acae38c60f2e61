"""The table of mechanisms on the command line: whatever is in it can be played to the end."""

import inspect
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.commands.query import play
from gateway.mechanisms import MECHANISMS, acts
from gateway.mechanisms.record import Act, Inputs
from recovery.maps.heatmap import from_npz

ACTS = pytest.mark.parametrize("act", acts.ACTS, ids=lambda act: act.name)
SEEN = {
    "thermal": ("--sources-random", 1, "--sensors", 8, "--cells", 20),
    "disk": ("--points", "szipf", "--users", 300, "--grid", "5x4"),
}


def test_every_mechanism_has_its_entry() -> None:
    """One that the gateway knows and the command line does not could not be tried."""
    assert {act.name for act in acts.ACTS} == {mechanism.name for mechanism in MECHANISMS}


@ACTS
def test_its_flags_are_flags(act: Act) -> None:
    """A name that no flag has would refuse what it is meant to let in."""
    known = inspect.signature(play).parameters

    assert [name for name in act.takes if name not in known] == []
    assert set(act.sees) <= set(Inputs._fields)
    assert set(act.asks) == set(inspect.signature(act.asked).parameters) - {"sigma"}
    assert set(act.other_flags) <= {field.name for field in fields(act.query)}


@pytest.mark.long
@ACTS
def test_what_is_published_leads_to_the_same_map(
    act: Act, heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """Play, publish, recover, with every file: the whole way, of each mechanism in the table."""
    names = ("map.npz", "scores.json", "map.png", "public.json")
    out, scores, plot, public = (tmp_path / name for name in names)
    written = ("--out", out, "--scores", scores, "--plot", plot, "--published", public)
    said = heatveil("play", act.name, *SEEN[act.name], "--seed", 1, *written)
    assert (said.status, said.err) == (0, "")
    again = heatveil("recover", public, "--out", tmp_path / "again.npz", "--plot", plot)
    assert (again.status, again.err) == (0, "")

    once, twice = from_npz(out), from_npz(tmp_path / "again.npz")
    assert (once.mass == twice.mass).all()
    assert json.loads(public.read_text())["mechanism"] == act.name
    assert json.loads(scores.read_text())["reports"] > 0
    assert said.out.splitlines()[-3:] == again.out.splitlines()[-3:]  # the promise
