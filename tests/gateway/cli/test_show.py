"""What a terminal says of a map is of what is mapped: warmth, or people."""

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from edge.records import Grid, Guarantee
from gateway.cli import serve, show
from gateway.faults import OperatorFault
from gateway.mechanisms import named
from gateway.settings import config
from recovery.maps.heatmap import Unresolved

# `heatveil show`: its words, its letters and its files are of one map.

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

    assert show.drawn(kept.body, query).mass.shape == (1, 40)
    with pytest.raises(OperatorFault, match="40x1 cells and the deployment says 20x1"):
        show.drawn(kept.body, other)


def test_a_round_without_an_estimate_is_shown_with_its_reason(kept: Any) -> None:
    """And no picture is made of nothing."""
    query = config.query(config.load(kept.path))
    body = {**kept.body, "mass": None, "why": "too few answered"}
    found = show.drawn(body, query)

    assert isinstance(found, Unresolved)
    assert any(
        "too few answered" in line for line in show._told(body, found, None, named("thermal"))
    )
    with pytest.raises(OperatorFault, match="no map .too few answered."):
        show._writer(kept.path.with_suffix(".png"), body, found, query, None)


def test_json_goes_with_a_file_too(kept: Any, heatveil: Heatveil) -> None:
    """Both are written, and standard output stays one object."""
    out = kept.path.with_name("map.json")
    said = heatveil("show", "--config", kept.path, "--out", out, "--json")

    assert json.loads(said.out) == json.loads(out.read_text()) == kept.body


PROMISE = Guarantee((1, 1), None, None, "any two cells", "local", "one report", "presence")


@pytest.mark.parametrize(
    ("mechanism", "mapped", "who"),
    [("thermal", "the warmth is", "Sensors"), ("disk", "the people are", "Devices")],
)
@pytest.mark.parametrize("sd", [None, [[0.1, 0.1]]])
def test_a_map_is_of_what_its_mechanism_maps(
    mechanism: str, mapped: str, who: str, sd: Any
) -> None:
    """Whether somebody knows how sure it is says nothing of what it is of."""
    body = {"status": "solved", "mass": [[0.25, 0.75]], "sd": sd, "total": 1.0, "number": 3}
    used = {"number": 3, "sensors_used": 5, "sensors_enrolled": 6}
    found = Unresolved(Grid((2, 1), 0), PROMISE, 1.0, 1.0, "too few")

    assert f"darkest where most of {mapped}" in serve.drawn(body, named(mechanism).words.most_of)
    assert f"{who} used: 5 of 6." in show._told(used, found, None, named(mechanism))
