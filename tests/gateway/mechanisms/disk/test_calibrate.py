"""`heatveil calibrate --mechanism disk`: what a promise to hide places takes and leaves."""

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from edge.core import wire
from edge.host import post
from gateway.mechanisms import named
from gateway.mechanisms.flags import query_of
from recovery.disk import plan

query = partial(query_of, named("disk"))

WORDS = ("calibrate", "--mechanism", "disk")


def _told(heatveil: Callable[..., Any], *words: object) -> Any:
    return json.loads(heatveil(*WORDS, *words, "--json").out)


@pytest.mark.long
def test_what_is_not_protected_comes_first(heatveil: Callable[..., Any]) -> None:
    """A number that is read before its limits is believed without them."""
    said = heatveil(*WORDS, "--grid", "15x15", "--epsilon", "7/2")

    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("NOT PROTECTED: that somebody is there")
    for part in (
        "Radius: 2 cells",
        "scheme wave",
        "Formally: epsilon 7/2",
        "odds move at most by",
        "33.12",
    ):
        assert part in said.out


def test_the_table_has_the_radii_of_the_paper(heatveil: Callable[..., Any]) -> None:
    """At d = 15 the formula gives 16, 7, 3, 1 and 0 cells for these epsilons."""
    told = _told(heatveil, "--grid", "15x15", "--set", "scheme=dam")
    rows = {tuple(row["epsilon"]): row for row in told["others"]}
    reach = {epsilon: row["reach_cells"] for epsilon, row in rows.items()}

    assert [reach[e] for e in ((1, 2), (7, 2), (5, 1), (7, 1))] == [16, 3, 1, 0]
    right = [rows[e]["right"] for e in sorted(rows, key=lambda e: e[0] / e[1])]
    assert right == sorted(right)


def test_numbers_are_those_of_the_round_that_is_sent(heatveil: Callable[..., Any]) -> None:
    """Bytes on the wire, weights and epsilon are of the very message that devices verify."""
    words = ("--grid", "20x10", "--length", 10, "--epsilon", "6/1", "--set", "readings=4")
    found = _told(heatveil, *words)
    round = plan(query(grid="20x10", length=10, epsilon="6/1", settings=["readings=4"]), [])
    sent = post.pack_round(round, bytes(32), wire.round_topic("lab", "disk"))

    assert (found["epsilon"], found["epsilon_per_report"]) == ([6, 1], [3, 2])
    assert (found["far"], found["near"]) == round.params[1:3]
    assert found["round_bytes"] == len(sent)
    assert found["report_bytes"] == 37
    assert found["worst_log_ratio"] == math.log(found["near"] / found["far"]) <= 1.5
    assert found["refusal"] == ""


@pytest.mark.long
def test_a_round_that_no_device_can_read_is_refused_with_the_reason(
    heatveil: Callable[..., Any],
) -> None:
    """It can be played, so its numbers are said; it cannot be served, so the exit is 1."""
    words = ("--grid", "256x256", "--epsilon", "1/2", "--set", "scheme=huem")
    said = heatveil(*WORDS, *words)

    assert said.status == 1
    assert "a device reads at most" in said.err
    assert "CANNOT BE SENT" in said.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--mechanism", "disk", "--sensors", 4), "--sensors came with disk, which takes --grid"),
        (("--grid", "4x4"), "--grid came with thermal"),
        (("--mechanism", "dusk"), "did you mean disk"),
    ],
)
def test_a_flag_of_the_other_mechanism_is_refused(
    heatveil: Callable[..., Any], words: tuple[object, ...], says: str
) -> None:
    """A flag that is ignored would be believed to hold."""
    said = heatveil("calibrate", *words)

    assert said.status == 1
    assert says in said.err
