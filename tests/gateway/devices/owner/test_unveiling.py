"""`heatveil unveil`: the exact reading for the owner of the keys, and for nobody else."""

import csv
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from edge.core import entropy, wire
from edge.core.records import Grid, Guarantee, Report, Round
from edge.host import post, rootkeys
from edge.mechanisms import thermal
from gateway.devices.enrol.enrol import Device, Devices
from gateway.devices.owner import keyring, unveiling
from gateway.devices.owner.keyring import BootKeys, KeyChain, KeyRing
from gateway.devices.owner.unveiling import CUT, ExactReading, StoredReport, UnveilingPass
from gateway.faults import OperatorFault
from gateway.service.rounds import Place
from gateway.store.opening import open_store

Heatveil = Callable[..., Any]


def rows(path: Path) -> dict[tuple[str, int, int, int, int], tuple[int | None, str]]:
    """Return (grains, note) of each reading in a file that was written."""
    with sqlite3.connect(path) as file:
        found = file.execute(
            "SELECT device, epoch, seq, round, sensor, grains, note FROM readings"
        ).fetchall()
    return {tuple(row[:5]): (row[5], row[6]) for row in found}


def left_out(path: Path) -> dict[tuple[str, int], tuple[str, int]]:
    """Return what was left out of a file, by device and boot."""
    with sqlite3.connect(path) as file:
        return {row[:2]: row[2:] for row in file.execute("SELECT * FROM left_out")}


def unveil(heatveil: Heatveil, owned: Any, *words: object, out: str = "readings.sqlite") -> Any:
    """Run the command on a site."""
    return heatveil("unveil", "--config", owned.config, "--out", owned.folder / out, *words)


def change(owned: Any, statement: str, *values: object) -> None:
    """Do something to the gateway's database behind its back."""
    with sqlite3.connect(owned.database) as file:
        file.execute(statement, values)
    file.close()


def digests(folder: Path) -> dict[str, str]:
    return {one.name: one.read_bytes().hex() for one in folder.iterdir() if one.is_file()}


def test_the_readings_come_back_bit_for_bit(heatveil: Heatveil, owned: Any) -> None:
    """What the sensors gave, in every boot; at the clamp and beyond it is marked as such."""
    low, high = owned.params.low, owned.params.high
    said = unveil(heatveil, owned)

    assert said.status == 0, said.err
    expected = {
        key: (min(max(value, low), high), "at the clamp" if not low < value < high else "")
        for key, value in owned.seen.items()
    }
    assert rows(owned.folder / "readings.sqlite") == expected
    assert [note for _, note in expected.values()].count("at the clamp") == 3
    assert said.out.startswith("NOT PRIVATE")
    assert "15 frames, 15 in all" in said.out


@pytest.mark.parametrize(("words", "numbers"), [(("--since", 4), {4, 5}), (("--round", 2), {2})])
def test_rounds_can_be_chosen(
    heatveil: Heatveil, owned: Any, words: tuple[object, ...], numbers: set[int]
) -> None:
    """Nobody should have to open a year to look at an hour."""
    unveil(heatveil, owned, *words)

    assert {key[3] for key in rows(owned.folder / "readings.sqlite")} == numbers


@pytest.mark.parametrize("running", [False, True])
def test_neither_we_nor_sqlite_could_write_the_database(owned: Any, running: bool) -> None:
    """Two locks: one on the file, and one on what is said."""
    engine = open_store(owned.database, owned.devices.site)[0] if running else None
    with (
        engine.connect() if engine else nullcontext(),
        unveiling.open_source(owned.database, owned.devices.site) as found,
    ):
        said = found._connection
        assert said.execute("PRAGMA query_only").fetchone() == (1,)
        said.execute("COMMIT")
        said.execute("PRAGMA query_only=OFF")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            said.execute("DELETE FROM reports")


@pytest.mark.parametrize("kind", ["readings.csv", "readings.sqlite"])
def test_the_place_is_held_while_the_readings_are_written(tmp_path: Path, kind: str) -> None:
    """What somebody else puts there meanwhile would be replaced without a word."""
    out = tmp_path / kind

    def found() -> Iterator[ExactReading]:
        with pytest.raises(FileExistsError):
            out.open("x")
        assert out.stat().st_size == 0  # and nothing in it before all is there
        yield ExactReading("node-0", 1, 1, 1, 0, 5, 8, 0.5, "")

    unveiling.write_readings(out, "lab", found(), list)

    assert out.stat().st_size > 0
    assert list(tmp_path.iterdir()) == [out]


def test_the_gateway_s_files_stay_as_they_were(heatveil: Heatveil, owned: Any) -> None:
    """The key holder's view reads; a file laid beside the store could shut the gateway out."""
    before = digests(owned.folder)
    unveil(heatveil, owned)
    after = digests(owned.folder)

    assert after.pop("readings.sqlite")
    assert after == before


def test_csv_says_what_it_is_before_anything_else(heatveil: Heatveil, owned: Any) -> None:
    """A table is opened by somebody who never saw the command."""
    said = unveil(heatveil, owned, out="readings.csv")
    lines = (owned.folder / "readings.csv").read_text().splitlines()
    table = list(csv.DictReader(line for line in lines if not line.startswith("#")))

    assert said.status == 0, said.err
    assert lines[0].startswith("# NOT PRIVATE")
    assert {
        (row["device"], int(row["epoch"]), int(row["seq"]), int(row["round"]), int(row["sensor"]))
        for row in table
    } == set(owned.seen)
    assert all(float(r["kelvin"]) * 2 ** int(r["exponent"]) == int(r["grains"]) for r in table)


@pytest.mark.parametrize("out", ["readings.sqlite", "readings.csv"])
def test_the_file_is_for_its_owner_alone(heatveil: Heatveil, owned: Any, out: str) -> None:
    """It shows where every source of warmth stood."""
    unveil(heatveil, owned, out=out)

    assert (owned.folder / out).stat().st_mode & 0o777 == 0o600
    assert not list(owned.folder.glob(".*part"))


def test_the_service_will_not_have_the_file(heatveil: Heatveil, owned: Any) -> None:
    """Named as the gateway's database by mistake, it would be served and added to."""
    unveil(heatveil, owned)

    with pytest.raises(OperatorFault, match="schema NOT PRIVATE"):
        open_store(owned.folder / "readings.sqlite", "owned")


def test_nothing_that_is_printed_depends_on_a_reading(heatveil: Heatveil, owned: Any) -> None:
    """A terminal is scrolled back by whoever comes next."""
    said = unveil(heatveil, owned)
    warmer = owned.seen.copy()
    with sqlite3.connect(owned.folder / "readings.sqlite") as file:
        written = {str(row[0]) for row in file.execute("SELECT kelvin FROM readings")}

    assert warmer
    assert not [text for text in written if len(text) > 3 and text in said.out + said.err]
    assert owned.made.roots["node-0"].hex() not in said.out + said.err


FORGERIES = {
    "UPDATE reports SET frame = x'00' || substr(frame, 2) WHERE {}": "did not sign these bytes",
    "UPDATE reports SET frame = x'' WHERE {}": "did not sign these bytes",
    "UPDATE reports SET frame = 'text' WHERE {}": "did not sign these bytes",
    "UPDATE reports SET seq = 99 WHERE {}": "the columns beside the frame",
    "UPDATE reports SET device = 'node-9' WHERE {}": "not enrolled",
    "UPDATE OR REPLACE reports SET device = 'node-2' WHERE {}": "came under another key",
    "DELETE FROM rounds WHERE number = 3 AND 'x' <> '{}'": "the round that it answers",
    "UPDATE rounds SET message = x'0011' WHERE number = 3": "the round that it answers",
    # The frame names its round by a hash, so one of less noise cannot be slipped under it.
    "UPDATE rounds SET message = (SELECT message FROM rounds WHERE number = 1) WHERE number = 3": (
        "the round that it answers"
    ),
}


@pytest.mark.parametrize("statement", FORGERIES)
def test_a_row_that_was_forged_is_left_out(heatveil: Heatveil, owned: Any, statement: str) -> None:
    """Whoever can write to the gateway's disk must not put readings into the owner's mouth."""
    forged = "device = ''node-1'' AND round = (SELECT name FROM rounds WHERE number = 3)"
    where = forged if "<>" in statement else forged.replace("''", "'")
    change(owned, statement.format(where))
    said = unveil(heatveil, owned)

    assert FORGERIES[statement] in said.success
    found = rows(owned.folder / "readings.sqlite")
    assert found
    assert ("node-1", 2, 1, 3, 1) not in found
    assert all(owned.seen[key] == grains for key, (grains, note) in found.items() if not note)


def test_a_boot_whose_key_does_not_fit_is_left_out_whole(
    heatveil: Heatveil, tmp_path: Path, site_of: Callable[..., Any]
) -> None:
    """A wrong key gives numbers too. Where the noise is wide they are none that a sensor has."""
    owned = site_of(epsilon="1/20")
    owned.boot()
    for value in range(12):
        owned.ask([value, -value, value])
    given = {
        name: BootKeys(device.key_id, {1: bytes(32)})
        for name, device in owned.devices.by_name.items()
    }
    right = KeyChain.from_root(owned.root("node-2")).find_boot_key(1)
    given["node-2"] = BootKeys(owned.devices.by_name["node-2"].key_id, {1: right or b""})
    keyring.write_granted_keys(tmp_path / "mixed.json", "owned", given)
    said = unveil(heatveil, owned, "--keys", tmp_path / "mixed.json")

    assert "24 of node-0 and node-1 left out: the key of this boot does not fit" in said.out
    found = rows(tmp_path / "readings.sqlite")
    assert {key: grains for key, (grains, _) in found.items()} == {
        key: grains for key, grains in owned.seen.items() if key[0] == "node-2"
    }


def test_boots_without_a_key_are_counted_and_told(heatveil: Heatveil, owned: Any) -> None:
    """Or half of the readings would be taken for all of them."""
    granted = owned.folder / "epochs.json"
    heatveil(
        *("keys", "grant", "--config", owned.config, "--device", "node-1"),
        *("--epochs", "2", "--out", granted),
    )
    said = unveil(heatveil, owned, "--keys", granted)
    out = owned.folder / "readings.sqlite"

    assert "13 of node-0 and 2 others left out: no key was given for this boot" in said.success
    assert {key[:2] for key in rows(out)} == {("node-1", 2)}
    assert sum(frames for _, frames in left_out(out).values()) == 13


def edit(file: str, do: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return what changes the rows of the devices in one of the owner's files."""

    def spoil(owned: Any) -> None:
        body = json.loads((owned.folder / file).read_text())
        do(body["devices"])
        (owned.folder / file).write_text(json.dumps(body))

    return spoil


def swap(rows: Any) -> None:
    rows[0]["name"], rows[1]["name"] = rows[1]["name"], rows[0]["name"]


def each(**wrong: str) -> Callable[[Any], None]:
    return edit("devices.json", lambda rows: [row.update(wrong) for row in rows])


def first(change: Callable[[Any], dict[str, str]]) -> Callable[[Any], None]:
    return edit("keyholder.json", lambda rows: rows[0].update(change(rows[0])))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (edit("keyholder.json", swap), "is enrolled with key"),
        (first(lambda row: {"root": row["root"][::-1]}), "the root of node-0 is not that of key"),
        (first(lambda row: {"root": row["root"][:-2]}), "a key is damaged"),
        (first(lambda _: {"name": "node-7"}), "keys of node-7, which is not in the devices file"),
        (lambda it: it.holder.write_text(it.holder.read_text()[:-30]), "it is no JSON"),
        (
            lambda it: shutil.copy(it.folder / "devices.json", it.holder),
            "holds the mac keys of site owned",
        ),
        (each(mode="sealed"), "node-0 was enrolled as sealed"),
        (each(mac_key="00" * 32), "the devices file has another key for the frames of node-0"),
        (lambda it: it.database.unlink(), "cannot be read (unable to open"),
        (
            lambda it: it.database.write_bytes(b"precious" * 1000),
            "cannot be read (file is not a database)",
        ),
        (lambda it: change(it, "UPDATE about SET schema = 99"), "holds schema 99"),
        (
            lambda it: change(it, "UPDATE about SET site = 'elsewhere'"),
            "belongs to site elsewhere",
        ),
        (lambda it: change(it, "DELETE FROM reports"), "no frame could be opened"),
    ],
)
def test_what_cannot_be_opened_is_refused_and_leaves_nothing(
    heatveil: Heatveil, owned: Any, spoil: Callable[[Any], None], words: str
) -> None:
    """In one line, without a key in it, and without a file that could be taken for an answer."""
    spoil(owned)
    before = digests(owned.folder)
    said = unveil(heatveil, owned)

    assert words in said.refusal
    assert said.err.count("\n") == 1
    assert not any(root.hex()[:16] in said.err for root in owned.made.roots.values())
    assert digests(owned.folder) == before


@pytest.mark.long
@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("heatveil.sqlite", "is the gateway's database"),
        ("heatveil.sqlite-wal", "is the gateway's database or a part of it"),
        ("link.sqlite", "is the gateway's database"),
        ("heatveil.sqlite/readings.csv", "is the gateway's database or a part of it"),
        ("keyholder.json", "is there already"),
        ("dangling.csv", "is there already"),
        ("readings.parquet", "must end in .sqlite"),
        ("absent/readings.csv", "not in a folder"),
    ],
)
def test_readings_go_to_a_new_file_of_their_own(
    heatveil: Heatveil, owned: Any, out: str, words: str
) -> None:
    """Beside what is served to everybody they would be served to everybody."""
    (owned.folder / "link.sqlite").symlink_to(owned.database)
    (owned.folder / "dangling.csv").symlink_to(owned.folder / "nowhere.csv")
    before = digests(owned.folder)
    said = unveil(heatveil, owned, out=out)

    assert words in said.refusal
    assert digests(owned.folder) == before


def test_a_gateway_that_starts_meanwhile_stops_it(
    heatveil: Heatveil, owned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it commits from then on would be missing without a word."""
    unpack = post.unpack_report
    engines = []

    def late(*given: Any) -> Any:
        if not engines:
            engines.append(open_store(owned.database, "owned")[0])
            with engines[0].begin() as gateway:
                gateway.exec_driver_sql("DELETE FROM reports WHERE epoch = 3")
        return unpack(*given)

    monkeypatch.setattr("gateway.devices.owner.unveiling.post.unpack_report", late)
    said = unveil(heatveil, owned)
    engines[0].dispose()

    assert "a gateway opened the database" in said.refusal
    assert not (owned.folder / "readings.sqlite").exists()


# Frames to readings without any file: arrays of sensors, lost readings, frames out of place.

SITE, NAME, ROOT, SITE_KEY = "lab", "array-1", bytes(range(32)), bytes(32)
PARAMS = thermal.Params(70, 8, -4000, 4000, 250_000, 1, 1)
PLAN = Round(
    1,
    "thermal",
    Grid((100, 1), 0),
    tuple(PARAMS),
    Guarantee((1, 1), (1, 100_000), (1, 2), "n", "local", "u", "p"),
)
ARRAY = Place(3, 64)


def devices(place: Place = ARRAY, mode: str = "keyholder") -> Devices:
    """Return the gateway's half of one array of sensors."""
    own = rootkeys.key_id(ROOT), rootkeys.mac_key(ROOT), rootkeys.config_key(ROOT)
    return Devices(SITE, SITE_KEY, {NAME: Device(NAME, place, mode, *own)})


def open_frames(
    frames: Sequence[bytes], known: Devices, plan: Any = PLAN
) -> tuple[list[ExactReading], Any]:
    """Return the readings of frames of boot 1, and what was left out."""
    name = wire.name_of(PLAN)
    own = rootkeys.key_id(ROOT)
    stored = [StoredReport(NAME, 1, seq, name, frame, own) for seq, frame in enumerate(frames, 1)]
    one = UnveilingPass(known, {name: plan}, KeyRing(SITE, {NAME: KeyChain.from_root(ROOT)}))
    return list(one.unveil_reports(stored)), one.left


def packed(payload: list[int], seq: int = 1) -> bytes:
    """Return a frame that the device signed, whatever is in it."""
    report = Report(wire.name_of(PLAN), NAME, 1, seq, payload)
    topic = wire.topic(SITE, NAME, "data")
    return bytes(wire.pack_report(report, rootkeys.mac_key(ROOT), topic, thermal.bits(PLAN)))


def test_a_reading_that_the_frame_cut_is_lost_and_says_so() -> None:
    """Noise that far out comes once in the life of nobody; a number made up would be worse."""
    most = (1 << (thermal.bits(PLAN) - 1)) - 1
    noise = thermal.draw(PARAMS.variance, 64, entropy_of(1))
    payload = [3, *(z + 5 for z in noise)]
    payload[1], payload[64] = most, -most
    rows, _ = open_frames([packed(payload)], devices())

    assert [row.note for row in rows] == [CUT, *[""] * 62, CUT]
    assert (rows[0].grains, rows[0].kelvin, rows[1].grains) == (None, None, 5)


def entropy_of(seq: int) -> Any:
    return entropy.keyed(rootkeys.chain_at(ROOT, 1), NAME, 1, seq, ARRAY.sensor)


@pytest.mark.parametrize(
    ("payload", "known", "plan", "why"),
    [
        ([3, *[0] * 63], devices(), PLAN, unveiling.MISPLACED),
        ([4, *[0] * 64], devices(), PLAN, unveiling.MISPLACED),
        ([3, *[0] * 64], devices(mode="sealed"), PLAN, unveiling.SEALED),
        ([3, *[0] * 64], devices(), PLAN._replace(mechanism="disk"), unveiling.UNASKED),
        ([3, *[0] * 64], devices(), PLAN._replace(params=(1, 2)), unveiling.UNASKED),
        (
            [3, *[0] * 64],
            devices(),
            PLAN._replace(params=tuple(PARAMS._replace(high=1 << 40))),
            unveiling.UNASKED,
        ),
        (
            [3, *[0] * 64],
            devices(),
            PLAN._replace(params=tuple(PARAMS._replace(variance=0))),
            unveiling.UNASKED,
        ),
    ],
)
def test_what_is_out_of_place_is_left_out_with_its_reason(
    payload: list[int], known: Devices, plan: Any, why: str
) -> None:
    """Signed is not the same as right: a device, too, can be broken or in somebody's hands."""
    rows, left = open_frames([packed(payload)], known, plan)

    assert rows == []
    assert [(one.why, one.frames) for one in left] == [(why, 1)]
