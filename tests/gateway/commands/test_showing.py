"""`heatveil show`: its words, its letters and its files are of one map."""

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gateway import config
from gateway.commands import showing
from gateway.faults import OperatorFault
from recovery.maps.heatmap import Unresolved

Heatveil = Callable[..., Any]


def test_the_place_in_words_is_the_place_of_the_warmth(kept: Any, heatveil: Heatveil) -> None:
    """The middle of mass of the cells round the warmest one, by hand; a cell is 0.25 m."""
    said = heatveil("show", "--config", kept.path).out
    mass = np.array(kept.body["mass"])[0]
    places = 0.125 + 0.25 * np.arange(40)
    near = np.abs(places - places[mass.argmax()]) < 2
    told = [float(one) for one in re.findall(r"near ([\d.]+) m", said)]

    assert told
    assert min(abs(one - np.average(places[near], weights=mass[near])) for one in told) < 0.5


def test_the_promise_that_is_shown_is_the_one_that_the_map_was_had_under(
    kept: Any, heatveil: Heatveil
) -> None:
    """Not the file's of today: a map of last year was not made better by an edit."""
    kept.path.write_text(kept.path.read_text().replace('epsilon = "8/1"', 'epsilon = "4/1"'))
    said = heatveil("show", "--config", kept.path)

    assert kept.body["guarantee"]["epsilon"] == [8, 1]
    assert said.status == 0
    assert "epsilon 8, delta 1/100000" in said.out


def test_a_map_of_another_room_is_not_laid_over_this_one(kept: Any) -> None:
    """40 cells drawn as 20 would show people where nobody was."""
    query = config.query(config.load(kept.path))
    other = dataclasses.replace(query, grid=query.grid._replace(shape=(20, 1)))

    assert showing.drawn(kept.body, query).mass.shape == (1, 40)
    with pytest.raises(OperatorFault, match="40x1 cells and the deployment says 20x1"):
        showing.drawn(kept.body, other)


def test_a_round_without_an_estimate_is_shown_with_its_reason(kept: Any) -> None:
    """And no picture is made of nothing."""
    query = config.query(config.load(kept.path))
    body = {**kept.body, "mass": None, "why": "too few answered"}
    found = showing.drawn(body, query)

    assert isinstance(found, Unresolved)
    assert any("too few answered" in line for line in showing._told(body, found, None, "thermal"))
    with pytest.raises(OperatorFault, match="no map .too few answered."):
        showing._writer(kept.path.with_suffix(".png"), body, found, query, None)


def test_json_goes_with_a_file_too(kept: Any, heatveil: Heatveil) -> None:
    """Both are written, and standard output stays one object."""
    out = kept.path.with_name("map.json")
    said = heatveil("show", "--config", kept.path, "--out", out, "--json")

    assert json.loads(said.out) == json.loads(out.read_text()) == kept.body
