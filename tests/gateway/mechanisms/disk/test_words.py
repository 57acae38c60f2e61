"""What a report is worth to a guesser, against channels that are written out cell by cell."""

import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from edge.core import wire
from edge.host import post
from edge.mechanisms.disk import Table, outer
from edge.mechanisms.disk_half import draw
from gateway.mechanisms import find_mechanism
from gateway.mechanisms.disk.words import compute_guesses
from gateway.mechanisms.flags import parse_query
from gateway.settings import config
from recovery.disk import plan

query = partial(parse_query, find_mechanism("disk"))

CASES = [
    ("4x3", "2/1", ["radius=1"]),
    ("3x3", "7/2", []),
    ("5", "1/1", ["radius=2"]),
    ("4x4", "1/1", ["scheme=krr"]),
    ("2x5", "3/1", ["scheme=huem", "radius=2"]),
]


class Every:
    """A stream that gives one number after the other: every draw that there is."""

    def __init__(self, u: int) -> None:
        self.u = u

    def below(self, n: int) -> int:
        """Return the number; it must be one that could be drawn."""
        assert self.u < n
        return self.u


def _law(round: Any) -> dict[tuple[int, int], dict[int, Fraction]]:
    """Return P(answer | cell) of a Round with small weights, from the device's own draws."""
    table = Table(round)
    columns, rows = round.grid.shape
    law: dict[tuple[int, int], dict[int, Fraction]] = {}
    for y in range(rows):
        for x in range(columns):
            answers = law.setdefault((x, y), {})
            for u in range(table.total):
                near, dx, dy = draw(table, Every(u))
                place = (dx + near * (x + table.reach_x), dy + near * (y + table.reach_y))
                answer = place[1] * table.columns + place[0]
                answers[answer] = answers.get(answer, Fraction(0)) + Fraction(1, table.total)
    return law


def _coarse(round: Any) -> Any:
    """Return the Round with weights so small that all its draws can be gone through."""
    params = round.params
    fine, near, far = params[1], 4 * params[2] // params[1], 4
    octant, place = [], 5
    while place < len(params):
        full, parts = params[place : place + 2]
        weights = params[place + 2 : place + 2 + parts]
        octant += [full, parts, *(max(far, 4 * weight // fine) for weight in weights)]
        place += 2 + parts
    return round._replace(params=(params[0], far, near, *params[3:5], *octant))


@pytest.mark.parametrize(("grid", "epsilon", "settings"), CASES)
def test_chances_are_those_of_every_draw_of_a_device(
    grid: str, epsilon: str, settings: list[str]
) -> None:
    """The device's own draws, each gone through, know nothing of convolutions."""
    round = _coarse(plan(query(grid=grid, epsilon=epsilon, settings=settings), []))
    law, told = _law(round), compute_guesses(round)
    answers = {answer for row in law.values() for answer in row}

    right = sum(max(row.get(o, 0) for row in law.values()) for o in answers) / len(law)
    assert told.right == pytest.approx(float(right), rel=1e-12)
    assert told.outer == len(answers)
    worst = max(
        max(row[o] for row in law.values()) / min(row[o] for row in law.values()) for o in answers
    )
    assert told.log_ratio == pytest.approx(math.log(worst), abs=1e-12)
    total = 0.0
    for o in answers:
        whole = sum(row[o] for row in law.values())
        total += sum(
            float(one[o] * other[o] / whole) * math.dist(here, there)
            for here, one in law.items()
            for there, other in law.items()
        )
    assert told.off_cells == pytest.approx(total / len(law), rel=1e-9)


def test_a_large_map_still_has_its_chances() -> None:
    """All pairs of cells are out of reach there; the best guess is not."""
    round = plan(query(grid="64x64", epsilon="5/1"), [])
    told = compute_guesses(round)

    assert told.off_cells is None
    assert told.right is not None
    columns, rows, _, _ = outer(round.grid, round.params[0])
    assert told.blind < told.right < 1
    assert told.outer < columns * rows


# `heatveil calibrate --mechanism disk`: what a promise to hide places takes and leaves.

WORDS = ("calibrate", "--mechanism", "disk")


def _told(heatveil: Callable[..., Any], *words: object) -> Any:
    return json.loads(heatveil(*WORDS, *words, "--json").out)


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

    assert "a device reads at most" in said.refusal
    assert "CANNOT BE SENT" in said.out


@pytest.mark.parametrize("epsilon", [1, 49, 53, 160])
def test_no_factor_is_said_to_be_smaller_than_it_is(
    heatveil: Callable[..., Any], epsilon: int
) -> None:
    """That of many reports has more digits than one writes: its power of ten is rounded up."""
    words = ("--grid", "4x4", "--epsilon", f"{epsilon}/1", "--set", "readings=20")
    said = heatveil(*WORDS, *words).out
    number = r"(10\^)?([0-9.e+]*[0-9])"
    told = re.findall(rf"factor of at most {number}|from one cell +{number}  ", said)
    found = [(bool(a or c), float(b or d)) for a, b, c, d in told]

    assert len(found) == 2
    for is_power, value in found:
        factor = value * math.log(10) if is_power else math.log(value)
        assert epsilon - 1e-9 <= factor < epsilon + (math.log(10) if is_power else 0.1)


def test_other_windows_are_told_and_drawn(heatveil: Callable[..., Any], tmp_path: Path) -> None:
    """A day, a week and a year in epsilon, and what is left of it for one answer."""
    site, picture = tmp_path / "gateway.toml", tmp_path / "windows.png"
    text = config.make_sample("disk").replace("readings = 1 ", "readings = 26\nwindow_h = 24 ")
    site.write_text(text.replace('epsilon = "7/2"', 'epsilon = "13/1"'))

    told = heatveil("calibrate", site, "--plot", picture)
    numbers = json.loads(heatveil("calibrate", site, "--json").out)
    rows = numbers["trade"]

    assert told.out.startswith("NOT PROTECTED: that somebody is there")
    assert "in epsilon: a day 13, a week 91, a year 4745." in told.out
    assert {row["window_h"] for row in rows} == {8, 24, 168}
    assert {"window_h": 24, "every_s": 3600, "readings": 26}.items() <= rows[4].items()
    assert (rows[4]["epsilon_each"], rows[4]["epsilon_week"]) == (0.5, 91)
    assert [row["users"] for row in numbers["maps"]] == [1000, 10_000]
    assert 0 < numbers["maps"][1]["off"] < numbers["maps"][1]["blind"]
    assert picture.read_bytes()[1:4] == b"PNG"
    alone = heatveil("calibrate", "--mechanism", "disk", "--grid", "4x4", "--plot", picture)
    assert (alone.status, "Set window_h" in alone.err) == (1, True)
