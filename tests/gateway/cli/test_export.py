"""An export is what the store holds, in grains, with its promise, and nobody's formula."""

import csv
import errno
import json
import os
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from edge.core import wire
from edge.host import post
from gateway.cli.devices.fleet import FleetInputs, make_scenery
from gateway.cli.records import export
from gateway.cli.records.earth import EarthGrid
from gateway.cli.records.export import list_export_kinds
from gateway.devices.kit.siting import Site
from gateway.faults import OperatorFault
from gateway.mechanisms import find_mechanism, find_serving, plan_first_round
from gateway.mechanisms.flags import parse_query
from gateway.service.intake.outcomes import AskedRound, CountedReport, SecondAnswer
from gateway.service.ledger import Charge, compute_round_rho
from gateway.settings import config
from gateway.store.store import Store
from tests import sites
from tests.conftest import miss

EVIL = "=cmd|' /C calc'!A1"


class Filled:
    """A deployment with two rounds, one of them open, and the frames that came."""

    def __init__(self, folder: Path, home: Any) -> None:
        self.config, self.sent = folder / "site.toml", {}
        self.config.write_text(sites.small("testsite", 1, cells=10, sensors=4, readings=4))
        store, budget = Store(folder / "heatveil.sqlite", "testsite"), Fraction(100)
        self.promise = plan_file(self.config).guarantee._replace(rho=(1, 50))
        names = {}
        for number in (1, 2):
            plan = home.round(number)._replace(guarantee=self.promise)
            names[number] = name = wire.name_of(plan)
            message = home.message(plan)
            store.open_round(
                AskedRound(name, name, plan, message, compute_round_rho(plan.guarantee)), budget
            )
            kept = []
            for device, node in home.devices.by_name.items():
                frame = home.answer(device, plan)
                topic = wire.topic("testsite", device, "data")
                report = post.unpack_report(frame, node.mac_key, topic, device)
                self.sent[number, device] = report
                kept.append(
                    CountedReport(device, report.epoch, report.seq, name, frame, node.key_id)
                )
            again = SecondAnswer(name, Charge(Fraction(1, 50), EVIL), b"again")
            store.keep_batch(kept, [], [again])
        store.close_round(names[1], [7, None, -3, 1000], 3)
        store.keep_map(names[1], '{"mass": [[0.25, 0.0], [0.5, 1.5]]}')
        store.close()


def plan_file(path: Path) -> Any:
    """Return the first round that a deployment file plans."""
    deployment = config.load_deployment(path)
    return plan_first_round(deployment, config.make_query(deployment))


def run(heatveil: Callable[..., Any], filled: Filled, out: Path, what: str, *words: str) -> Any:
    """Export something of it, and return what was said."""
    return heatveil("export", "--config", filled.config, "--out", out, "--what", what, *words)


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


@pytest.mark.parametrize(
    "ending", [".csv", ".jsonl", pytest.param(".parquet", marks=pytest.mark.long)]
)
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
    assert run(heatveil, filled, out, "releases").status == 0

    told = json.loads((tmp_path / f"releases{ending}.guarantee.json").read_text())
    (promise,) = told["promises"]
    assert promise["guarantee"]["epsilon"] == [8, 1]
    assert promise["rounds"] == [1, 2]
    assert Fraction(told["rho_spent"]) == Fraction(2, 50) + Fraction(2, 50)
    assert promise["guarantee_of"].keys() == {"epsilon", "rho"}
    assert told["rounds_so_far"] == 2
    assert 0 < told["epsilon_spent"] <= 8
    assert promise["not_protected"]
    assert "2**-exponent" in told["units"]["grains"]
    if ending == ".parquet":
        from pyarrow import parquet

        inside = parquet.read_schema(out).metadata[b"heatveil.guarantee"]
        assert json.loads(inside)["promises"] == told["promises"]
    values = [row["grains"] for row in _read(out)]
    missing = "" if ending == ".csv" else None
    assert [value if value == missing else int(value) for value in values] == [
        7,
        missing,
        -3,
        1000,
    ]


def test_each_round_goes_with_the_promise_that_it_was_asked_under(
    filled: Filled, tmp_path: Path, heatveil: Callable[..., Any], home: Any
) -> None:
    """Not with the file's of today: that one may have ended it, or been made smaller."""
    text = filled.config.read_text()
    database = config.load_deployment(filled.config).site.database
    with closing(Store(database, "testsite")) as store:
        store.end_promise()
    filled.config.write_text(text.replace('epsilon = "8/1"', 'epsilon = "1/1"'))

    def export_maps(name: str) -> Any:
        assert run(heatveil, filled, tmp_path / name, "maps").status == 0
        return json.loads((tmp_path / f"{name}.guarantee.json").read_text())

    (promise,) = export_maps("ended.csv")["promises"]
    assert promise["guarantee"]["epsilon"] == [8, 1]
    assert any("2,981" in line or "epsilon 8" in line for line in promise["in_words"])

    smaller = plan_file(filled.config)._replace(number=3)
    name = wire.name_of(smaller)
    with closing(Store(database, "testsite")) as store:
        rho = compute_round_rho(smaller.guarantee)
        asked = AskedRound(name, name, smaller, home.message(smaller), rho)
        assert store.open_round(asked, 4 * rho) == ""
    both = export_maps("both.csv")["promises"]
    assert [one["rounds"] for one in both] == [[1, 2], [3, 3]]
    assert [one["guarantee"]["epsilon"] for one in both] == [[8, 1], [1, 1]]


@pytest.mark.parametrize("what", ["maps", "ledger"])
@pytest.mark.parametrize(
    ("was", "now"),
    [('epsilon = "8/1"', 'epsilon = "80000/1"'), ('delta = "1/100000"', 'delta = "1/100001"')],
)
def test_what_is_past_is_exported_under_the_promise_that_was_charged(
    filled: Filled, tmp_path: Path, heatveil: Callable[..., Any], what: str, was: str, now: str
) -> None:
    """Whatever the file says by now; that it says another, is told."""
    written = []
    for name in ("before.csv", "after.csv"):
        out = tmp_path / name
        said = run(heatveil, filled, out, what)
        assert said.status == 0
        told = json.loads((tmp_path / f"{name}.guarantee.json").read_text())
        written.append((out.read_bytes(), told["promises"], told["charged_under"]))
        filled.config.write_text(filled.config.read_text().replace(was, now))

    assert written[0] == written[1]
    assert told["epsilon_spent"] <= 8
    assert "HEATVEIL_ variables" in said.err


def test_a_spreadsheet_runs_no_formula_of_a_device(
    filled: Filled, tmp_path: Path, heatveil: Callable[..., Any]
) -> None:
    """A name is a text, whoever chose it; a number below zero stays a number."""
    out = tmp_path / "ledger.csv"
    assert run(heatveil, filled, out, "ledger").status == 0
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
    assert run(heatveil, filled, out, "maps").status == 0
    assert [(row["row"], row["column"], row["mass"]) for row in _read(out)] == [
        (0, 0, 0.25),
        (0, 1, 0.0),
        (1, 0, 0.5),
        (1, 1, 1.5),
    ]
    for n, words in enumerate((["--since", "2100-01-01"], ["--until", "2000-01-01T08:00"])):
        late = tmp_path / f"late{n}.jsonl"
        said = run(heatveil, filled, late, "reports", *words)
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
        assert "already exists" in said.refusal
        assert there.read_text() == "precious"
        there.unlink()
    assert sorted(one.name for one in tmp_path.iterdir()) == before

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, "No space left")))
        said = heatveil(*command)
        assert "(No space left); no incomplete file is left. Free disk space" in said.refusal
    assert sorted(one.name for one in tmp_path.iterdir()) == before

    for module in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    said = heatveil("export", "--config", filled.config, "--out", out.with_suffix(".parquet"))
    assert "pip install -e '.[parquet]'" in said.refusal
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

    assert said in found.refusal


@pytest.mark.parametrize(
    "ending", [".csv", ".jsonl", pytest.param(".parquet", marks=pytest.mark.long)]
)
def test_a_big_store_goes_through_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Four times the rounds need no more at once; and every row is there, in few groups."""
    if ending == ".parquet":
        pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(export, "GROUP", 500)
    kind, peaks = list_export_kinds(find_mechanism("thermal"))["reports"], []
    for rounds in (20, 80):
        out = tmp_path / f"reports{rounds}{ending}"
        rows = (
            [(n, f"node-{i}", 1, n, 1e9 + n, i, 1000 * n + i, 8) for i in range(50)]
            for n in range(rounds)
        )
        tracemalloc.start()
        try:
            assert export.write_rows(out, kind, rows, {}) == (50 * rounds, rounds)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        found = _read(out)
        assert out.stat().st_mode & 0o777 == 0o600  # it says which device spoke when
        assert len(found) == 50 * rounds
        assert int(found[-1]["grains"]) == 1000 * (rounds - 1) + 49
    assert peaks[1] < 1.5 * peaks[0] + 100_000


def test_an_answer_is_a_cell_and_where_that_is_on_the_map() -> None:
    """The array that is answered is wider than the map: its own number alone would mislead."""
    settings = ["radius=1", "scheme=dam-ns"]
    round = find_mechanism("disk").plan(
        parse_query(find_mechanism("disk"), settings, grid="3x2", epsilon="4/1"), []
    )
    topic, own = wire.round_topic("lab", "disk"), find_serving("disk").exported
    body = wire.decode(post.pack_round(round, bytes(32), topic)[: -wire.MAC_BYTES])

    # Five by four may be answered, one cell more on every side.
    assert list(own.reported(body)([0, 8], 0)) == [(0, -1, -1), (8, 0, 2)]
    assert list(own.released(body)([3, 5]))[1] == (1, -1, 0, 5)
    assert own.units.keys() >= {"cell", "row", "column", "answers"}


# Maps of places on the earth, read back by libraries that others use.


MASS = np.array([[0.1, 0.2, 0.3], [0.15, 0.25, 0.0]])
CORNER, CELL_M = (52.5163, 13.3777), 100.0


def _need(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        miss(f"{name} is not installed: pip install -e '.[test]'")


@pytest.fixture(params=[90.0, 30.0])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, float]:
    """Return a deployment of one round on the earth, and the way in which columns count."""
    path, bearing = tmp_path / "gateway.toml", request.param
    text = (
        config.make_sample("disk").replace("[15, 15]", "[3, 2]").replace("30.0", f"{3 * CELL_M}")
    )
    path.write_text(
        text.replace("# corner =", "corner =").replace("# bearing = 90", f"bearing = {bearing}")
    )
    deployment = config.load_deployment(path)
    round = find_mechanism("disk").plan(config.make_query(deployment), [])
    message = post.pack_round(round, bytes(32), wire.round_topic("lab", "disk"))
    name = wire.name_of(round)
    store = Store.open_for(deployment)
    store.open_round(
        AskedRound(name, name, round, message, compute_round_rho(round.guarantee)), Fraction(1000)
    )
    store.close_round(name, [1] * 35, 35)
    store.keep_map(name, json.dumps({"mass": MASS.tolist(), "sd": (MASS / 10).tolist()}))
    store.close()
    return path, bearing


def _export(
    heatveil: Callable[..., Any], site: Path, ending: str, *words: str
) -> tuple[Path, Any]:
    out = site.with_name(f"map{ending}")
    said = heatveil("export", "--config", site, "--what", "maps", "--out", out, *words)
    assert (said.status, said.err) == (0, "")
    assert out.stat().st_mode & 0o777 == 0o600
    return out, json.loads(out.with_name(f"{out.name}.guarantee.json").read_text())


@pytest.mark.long
@pytest.mark.parametrize("ending", [".geojson", ".geoparquet"])
def test_cells_are_squares_of_their_size_on_the_ellipsoid(
    site: tuple[Path, float], heatveil: Callable[..., Any], ending: str
) -> None:
    """By PROJ's geodesics: sides, area, and which way columns and rows count."""
    pandas, geod = _need("geopandas"), _need("pyproj").Geod(ellps="WGS84")
    out, promise = _export(heatveil, site[0], ending, "--h3")
    read = pandas.read_file if ending == ".geojson" else pandas.read_parquet
    frame = read(out).set_index(["row", "column"])

    assert frame.crs.equals("EPSG:4326") or str(frame.crs) == "OGC:CRS84"
    assert frame.mass.to_numpy().reshape(2, 3) == pytest.approx(MASS)
    assert frame.sd.to_numpy().reshape(2, 3) == pytest.approx(MASS / 10)
    for ring in frame.geometry:
        longitude, latitude = np.array(ring.exterior.coords).T
        sides_m = geod.inv(longitude[:-1], latitude[:-1], longitude[1:], latitude[1:])[2]
        assert sides_m == pytest.approx([CELL_M] * 4, abs=0.01)
        assert geod.geometry_area_perimeter(ring)[0] == pytest.approx(CELL_M**2, rel=1e-4)
        assert ring.exterior.is_ccw  # as RFC 7946 has it
    first, beside, below = (frame.geometry[at].centroid for at in ((0, 0), (0, 1), (1, 0)))
    ways = [geod.inv(first.x, first.y, one.x, one.y)[0] % 360 for one in (beside, below)]
    assert ways == pytest.approx([site[1], site[1] + 90], abs=0.01)
    far_m = geod.inv(CORNER[1], CORNER[0], first.x, first.y)[2]
    assert far_m == pytest.approx(CELL_M / 2**0.5, abs=0.01)
    # The same cells by name: no finer than those of the map, and of their middles.
    h3 = _need("h3")
    assert [
        h3.latlng_to_cell(*at, promise["on_earth"]["h3_resolution"])
        for at in zip(frame.latitude, frame.longitude, strict=True)
    ] == frame.h3.to_list()
    assert h3.average_hexagon_area(promise["on_earth"]["h3_resolution"], "m^2") >= CELL_M**2


@pytest.mark.long
def test_a_geotiff_lies_where_its_cells_do(
    site: tuple[Path, float], heatveil: Callable[..., Any]
) -> None:
    """A band for the shares and one for their deviations; metres that PROJ takes for metres."""
    tifffile, pyproj = _need("tifffile"), _need("pyproj")
    _need("rasterio")
    out, promise = _export(heatveil, site[0], ".tif")
    with tifffile.TiffFile(out) as file:
        page, keys = file.pages[0], file.geotiff_metadata
        bands, tags = page.asarray(), page.tags["GDAL_METADATA"].value
    matrix = np.array(
        keys["ModelTransformation"]
        if "ModelTransformation" in keys
        else [
            [keys["ModelPixelScale"][0], 0, 0, keys["ModelTiepoint"][3]],
            [0, -keys["ModelPixelScale"][1], 0, keys["ModelTiepoint"][4]],
        ]
    ).reshape(-1, 4)

    assert np.moveaxis(bands, -1, 0) == pytest.approx(np.stack([MASS, MASS / 10]))
    assert "epsilon" in tags
    assert "round 1: mass" in tags
    latitude, longitude = keys["ProjNatOriginLatGeoKey"], keys["ProjNatOriginLongGeoKey"]
    assert (latitude, longitude) == pytest.approx(CORNER)
    ground = pyproj.Transformer.from_crs(
        f"+proj=tmerc +lat_0={latitude} +lon_0={longitude} +datum=WGS84",
        "EPSG:4326",
        always_xy=True,
    )
    geojson, _ = _export(heatveil, site[0], ".geojson")
    for feature in json.loads(geojson.read_text())["features"]:
        said = feature["properties"]
        x, y = matrix[:2] @ (said["column"] + 0.5, said["row"] + 0.5, 0, 1)
        assert ground.transform(x, y) == pytest.approx(
            (said["longitude"], said["latitude"]), abs=1e-8
        )
    assert "a square of 100 m on the ground" in promise["on_earth"]["in_words"].lower()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--what", "maps", "--out", "a.geojson"), "Write corner = [latitude, longitude] under"),
        (("--what", "releases", "--out", "a.tif"), "Write --what maps"),
        (("--what", "maps", "--out", "a.csv", "--h3"), "Write corner ="),
    ],
)
def test_what_has_no_place_on_the_earth_is_refused(
    tmp_path: Path,
    heatveil: Callable[..., Any],
    words: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cell would be drawn somewhere, and nobody would know."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gateway.toml").write_text(config.make_sample("disk"))
    Store.open_for(config.load_deployment(tmp_path / "gateway.toml")).close()
    found = heatveil("export", "--config", "gateway.toml", *words)

    assert said in found.refusal
    assert {path.suffix for path in tmp_path.iterdir()} <= {".toml", ".sqlite"}


def test_a_map_of_an_earlier_grid_is_not_put_where_the_present_one_lies(
    site: tuple[Path, float], heatveil: Callable[..., Any]
) -> None:
    """The shape may be as it was, and each cell twice as large."""
    text = site[0].read_text()
    for one in (text.replace("[3, 2]", "[3, 3]"), text.replace(f"{3 * CELL_M}", f"{6 * CELL_M}")):
        site[0].write_text(one)
        out = site[0].with_name("a.geojson")
        said = heatveil("export", "--config", site[0], "--what", "maps", "--out", out)
        assert "round 1 was asked on 3x2 cells of 100 m" in said.refusal
        assert not list(site[0].parent.glob("*a.*"))


def test_a_cell_over_the_180th_meridian_stays_whole() -> None:
    """Its corners are as near each other in degrees as those of any other."""
    earth = EarthGrid(Site(0.0, 179.999, 90.0, 3_000_000, 1_000_000), (3, 1), 1_000_000)
    east = [longitude for longitude, _ in earth.list_cell_corners(0, 2)]
    assert max(east) - min(east) == pytest.approx(1000 / 111_319.5, rel=1e-3)
    assert max(east) > 180


def test_virtual_devices_do_not_stand_by_a_corner_of_their_own(site: tuple[Path, float]) -> None:
    """Degrees are metres from the points' own corner, and the deployment has another."""
    deployment, people = config.load_deployment(site[0]), site[0].with_name("people.csv")
    people.write_text("user,longitude,latitude\na,13.3780,52.5160\n")
    with pytest.raises(OperatorFault, match="metres east and south of the corner"):
        make_scenery(deployment, None, FleetInputs(points=str(people)), np.random.default_rng(1))
