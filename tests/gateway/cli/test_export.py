"""An export is what the store holds, in grains, with its promise, and nobody's formula."""

import csv
import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from edge.core import cbor, wire
from edge.host import post
from gateway.mechanisms import find, find_service
from gateway.mechanisms.flags import query_of
from gateway.service.intake.outcomes import Again, Asked, Kept
from gateway.service.ledger import Charge, price
from gateway.settings import config
from gateway.store.store import Store
from recovery.disk import plan
from recovery.maps.guarantee import from_json
from tests import sites

EVIL = "=cmd|' /C calc'!A1"


class Filled:
    """A deployment with two rounds, one of them open, and the frames that came."""

    def __init__(self, folder: Path, home: Any) -> None:
        self.config, self.sent = folder / "site.toml", {}
        self.config.write_text(sites.small("testsite", 1, cells=10, sensors=4, readings=4))
        store, budget = Store(folder / "heatveil.sqlite", "testsite"), Fraction(100)
        for number in (1, 2):
            plan = home.round(number)
            name = wire.name_of(plan)
            message = home.message(plan)
            store.open_round(Asked(name, name, plan, message, price(plan.guarantee)), budget)
            kept = []
            for device, node in home.devices.by_name.items():
                frame = home.answer(device, plan)
                topic = wire.topic("testsite", device, "data")
                report = post.unpack_report(frame, node.mac_key, topic, device)
                self.sent[number, device] = report
                kept.append(Kept(device, report.epoch, report.seq, name, frame, node.key_id))
            again = Again(name, Charge(Fraction(1, 50), EVIL), b"again")
            store.keep(kept, [], [again])
        store.close_round(wire.name_of(home.round(1)), [7, None, -3, 1000], 3)
        store.keep_map(wire.name_of(home.round(1)), '{"mass": [[0.25, 0.0], [0.5, 1.5]]}')
        store.close()


@pytest.fixture
def filled(tmp_path: Path, home: Any) -> Filled:
    """Return a deployment that has run for two rounds."""
    return Filled(tmp_path, home)


def _read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return list(csv.DictReader(file))
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    from pyarrow import parquet

    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_reports_are_the_grains_that_came(
    filled: Filled, tmp_path: Path, heatveil: Callable[..., Any], ending: str
) -> None:
    """Each frame's own numbers, none rounded, none left out, under its round's exponent."""
    out = tmp_path / f"reports{ending}"
    said = heatveil("export", "--config", filled.config, "--out", out)

    assert (said.status, said.err) == (0, "")
    assert f"{out}: 8 rows of reports from 2 rounds" in said.out
    found = {(int(row["round"]), row["device"]): row for row in _read(out)}
    assert set(found) == set(filled.sent)
    for key, report in filled.sent.items():
        row = found[key]
        assert [int(row["sensor"]), int(row["grains"])] == list(report.payload)
        assert (int(row["epoch"]), int(row["seq"])) == (report.epoch, report.seq)
        assert int(row["exponent"]) == 8


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_promise_stands_beside_the_data(
    filled: Filled, tmp_path: Path, heatveil: Callable[..., Any], ending: str
) -> None:
    """Whoever is handed the numbers is handed what they do not hide."""
    out = tmp_path / f"releases{ending}"
    command = ("export", "--config", filled.config, "--out", out, "--what", "releases")
    assert heatveil(*command).status == 0

    told = json.loads((tmp_path / f"releases{ending}.guarantee.json").read_text())
    assert told["guarantee"]["epsilon"] == [8, 1]
    assert Fraction(told["rho_spent"]) == Fraction(2, 50) + Fraction(2, 50)
    assert told["guarantee_of"].keys() == {"epsilon", "rho"}
    assert told["rounds_so_far"] == 2
    assert 0 < told["epsilon_spent"] <= 8
    assert told["not_protected"]
    assert "2**-exponent" in told["units"]["grains"]
    if ending == ".parquet":
        from pyarrow import parquet

        inside = parquet.read_schema(out).metadata[b"heatveil.guarantee"]
        assert json.loads(inside)["guarantee"] == told["guarantee"]
    values = [row["grains"] for row in _read(out)]
    missing = "" if ending == ".csv" else None
    assert [value if value == missing else int(value) for value in values] == [
        7,
        missing,
        -3,
        1000,
    ]


def test_a_spreadsheet_runs_no_formula_of_a_device(
    filled: Filled, tmp_path: Path, heatveil: Callable[..., Any]
) -> None:
    """A name is a text, whoever chose it; a number below zero stays a number."""
    out = tmp_path / "ledger.csv"
    assert (
        heatveil("export", "--config", filled.config, "--out", out, "--what", "ledger").status == 0
    )
    rows = _read(out)

    assert [row["device"] for row in rows] == ["", "'" + EVIL, "", "'" + EVIL]
    assert sum(Fraction(row["rho"]) for row in rows) == Fraction(4, 50)
    for row in rows:
        assert not any(cell[:1] in "=+@\t\r" for cell in row.values() if cell)


def test_maps_and_a_span_of_time(
    filled: Filled, tmp_path: Path, heatveil: Callable[..., Any]
) -> None:
    """A cell a row; and what lies outside of the time asked for is not there."""
    out = tmp_path / "maps.jsonl"
    assert (
        heatveil("export", "--config", filled.config, "--out", out, "--what", "maps").status == 0
    )
    assert [(row["row"], row["column"], row["mass"]) for row in _read(out)] == [
        (0, 0, 0.25),
        (0, 1, 0.0),
        (1, 0, 0.5),
        (1, 1, 1.5),
    ]
    for n, words in enumerate((["--since", "2100-01-01"], ["--until", "2000-01-01T08:00"])):
        late = tmp_path / f"late{n}.jsonl"
        said = heatveil("export", "--config", filled.config, "--out", late, *words)
        assert said.status == 0
        assert _read(late) == []


def test_nothing_is_written_over_and_nothing_half_is_left(
    filled: Filled, tmp_path: Path, heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data without its promise, or a promise without its data, must not be found by anybody."""
    out = tmp_path / "reports.csv"
    command = ("export", "--config", filled.config, "--out", out)
    before = sorted(one.name for one in tmp_path.iterdir())
    for there in (out, tmp_path / "reports.csv.guarantee.json"):
        there.write_text("precious")
        said = heatveil(*command)
        assert said.status == 1
        assert "already exists" in said.err
        assert there.read_text() == "precious"
        there.unlink()
    assert sorted(one.name for one in tmp_path.iterdir()) == before

    for module in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    said = heatveil("export", "--config", filled.config, "--out", out.with_suffix(".parquet"))
    assert said.status == 1
    assert "pip install -e '.[parquet]'" in said.err
    assert sorted(one.name for one in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "a.csv", "--what", "report"], "did you mean reports?"),
        (["--out", "a.txt"], "ends in none of .csv, .jsonl, .parquet"),
        (["--out", "a.csv", "--since", "yesterday"], "--since is yesterday but"),
        (
            ["--out", "a.csv", "--since", "2026-12-01", "--until", "2026-11-01"],
            "is not before --until 2026-11-01",
        ),
    ],
)
def test_what_cannot_be_meant_is_said(
    filled: Filled,
    heatveil: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    said: str,
) -> None:
    """One line each, and nothing written."""
    monkeypatch.chdir(filled.config.parent)
    found = heatveil("export", "--config", filled.config, *words)

    assert found.status == 1
    assert said in found.err


def test_where_reports_are_sealed_releases_are_written(
    tmp_path: Path, heatveil: Callable[..., Any]
) -> None:
    """An empty table of reports would be taken for an empty store."""
    path = tmp_path / "gateway.toml"
    path.write_text(heatveil("config", "--sample", "--mechanism", "quadtree").out)
    Store.of(config.load(path)).close()
    said = heatveil("export", "--config", path, "--out", tmp_path / "a.csv")

    assert "0 rows of releases" in said.out, said.err
    told = json.loads((tmp_path / "a.csv.guarantee.json").read_text())
    assert from_json(json.dumps(told["guarantee"])).rho is None  # of epsilon alone
    assert not {"rho_budget", "rho_spent"} & told.keys()


def test_an_answer_is_a_cell_and_where_that_is_on_the_map() -> None:
    """The array that is answered is wider than the map: its own number alone would mislead."""
    settings = ["radius=1", "scheme=dam-ns"]
    round = plan(query_of(find("disk"), settings, grid="3x2", epsilon="4/1"), [])
    topic, own = wire.round_topic("lab", "disk"), find_service("disk").exported
    body = cbor.decode(post.pack_round(round, bytes(32), topic)[: -wire.MAC_BYTES])

    # Five by four may be answered, one cell more on every side.
    assert list(own.reported(body)([0, 8], 0)) == [(0, -1, -1), (8, 0, 2)]
    assert list(own.released(body)([3, 5]))[1] == (1, -1, 0, 5)
    assert own.units.keys() >= {"cell", "row", "column", "answers"}
