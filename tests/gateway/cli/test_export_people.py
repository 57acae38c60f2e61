"""An export of people says cells, and how sure: nobody reads them for warmth."""

import csv
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from edge import wire
from edge.host import post
from edge.node import Node
from gateway.cli.export import NAMES, kinds
from gateway.devices.enrol import budgets, enrol
from gateway.mechanisms import MECHANISMS, first_limits, first_round
from gateway.service.intake.outcomes import Asked, Kept
from gateway.service.ledger import price
from gateway.settings import config
from gateway.store.store import Store

SITE = """
[site]
name = "square"
[room]
cells = [3, 2]
[disk]
devices = 2
scheme = "dam-ns"
radius = 1
[privacy]
epsilon = "16/1"
readings = 1
[rounds]
mechanism = "disk"
"""
COLUMNS, ROWS = 5, 4  # of what may be answered: one cell more on every side


def test_every_mechanism_that_is_served_has_names_for_its_rows() -> None:
    """And each the same files: what can be asked for does not hang on it."""
    for mechanism in (one for one in MECHANISMS if one.serving):
        assert tuple(kinds(mechanism)) == NAMES


@pytest.fixture
def filled(tmp_path: Path) -> tuple[Path, list[int], list[int]]:
    """Return a deployment after one round, its answers, and how many came to each cell."""
    path = tmp_path / "site.toml"
    path.write_text(SITE)
    deployment = config.load(path)
    query = config.query(deployment)
    plan, made, place = (
        first_round(deployment, query),
        enrol.enrol_fleet("square", 2),
        budgets.keep_in_memory(),
    )
    budgets.provision(made, first_limits(deployment, query), place)
    topic, name = wire.round_topic("square", "disk"), wire.name_of(plan)
    message = bytes(post.pack_round(plan, made.secrets.site_key, topic))
    store = Store(tmp_path / "heatveil.sqlite", "square")
    asked = Asked(name, name, plan, message, price(plan.guarantee))
    assert not store.open_round(asked, Fraction(1000))
    kept, answers = [], []
    for who, budget in budgets.boot(made.secrets, place).devices:
        frame = Node(who, budget, None, None, False, "disk").answer(message, lambda _: (2, 1))
        report = post.unpack_report(
            frame, who.mac_key, wire.topic("square", who.name, "data"), who.name
        )
        answers.append(report.payload[1])
        kept.append(Kept(who.name, 1, report.seq, name, frame, who.key_id))
    store.keep(kept)
    counts = [answers.count(cell) for cell in range(COLUMNS * ROWS)]
    store.close_round(name, counts, 2)
    told = {"mass": [[0, 0, 0.25], [0, 0, 0.75]], "sd": [[0.1, 0.1, 0.2], [0.1, 0.1, 0.3]]}
    store.keep_map(name, json.dumps(told))
    store.close()
    return path, answers, counts


def _exported(heatveil: Callable[..., Any], path: Path, what: str, ending: str) -> Any:
    out = path.with_name(f"{what}.{ending}")
    said = heatveil("export", "--config", path, "--out", out, "--what", what)
    assert said.status == 0, said.err
    if ending == "jsonl":
        return [json.loads(line) for line in out.read_text().splitlines()]
    if ending == "csv":
        with out.open(newline="") as file:
            return [
                {name: value if name == "device" else float(value) for name, value in row.items()}
                for row in csv.DictReader(file)
            ]
    from pyarrow import parquet

    return parquet.read_table(out).to_pylist()


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_an_answer_is_a_cell_and_where_that_is_on_the_map(
    filled: Any, heatveil: Callable[..., Any], ending: str
) -> None:
    """The array that is answered is wider than the map: its own number alone would mislead."""
    path, answers, counts = filled
    reports = _exported(heatveil, path, "reports", ending)
    releases = _exported(heatveil, path, "releases", ending)

    assert [row["cell"] for row in reports] == answers
    assert {"sensor", "grains", "exponent"}.isdisjoint(reports[0] | releases[0])
    for row in (*reports, *releases):
        assert (row["row"] + 1) * COLUMNS + row["column"] + 1 == row["cell"]
    assert [row["answers"] for row in releases] == counts
    assert (releases[0]["row"], releases[0]["column"]) == (-1, -1)
    units = json.loads(path.with_name(f"releases.{ending}.guarantee.json").read_text())["units"]
    assert units.keys() >= {"cell", "row", "column", "answers"}


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_map_says_how_sure_each_cell_is(
    filled: Any, heatveil: Callable[..., Any], ending: str
) -> None:
    """A share without it would be believed."""
    rows = _exported(heatveil, filled[0], "maps", ending)

    assert [(row["row"], row["column"], row["mass"], row["sd"]) for row in rows][2] == (
        *(0, 2, 0.25, 0.2),
    )
    assert [row["sd"] for row in rows] == [0.1, 0.1, 0.2, 0.1, 0.1, 0.3]


def test_a_map_that_knows_no_sd_leaves_it_empty(filled: Any, heatveil: Callable[..., Any]) -> None:
    """No number at all, and not nought, which would be certainty."""
    store = Store(filled[0].with_name("heatveil.sqlite"), "square")
    plan = first_round(config.load(filled[0]), config.query(config.load(filled[0])))
    store.keep_map(wire.name_of(plan), '{"mass": [[1, 0, 0], [0, 0, 0]], "sd": null}')
    store.close()

    assert {row["sd"] for row in _exported(heatveil, filled[0], "maps", "jsonl")} == {None}


def test_a_store_of_something_else_is_not_written_under_these_names(
    filled: Any, heatveil: Callable[..., Any]
) -> None:
    """Cells would pass for grains."""
    text = config.sample("thermal").replace('name = "lab"', 'name = "square"')
    filled[0].write_text(text)
    said = heatveil("export", "--config", filled[0], "--out", filled[0].with_name("a.csv"))

    assert said.status == 1
    assert "the newest round of the store is of disk" in said.err
    assert not filled[0].with_name("a.csv").exists()
