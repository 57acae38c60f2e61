"""A backup is the store as it was at one moment, whole, and never in the place of another file."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gateway.faults import OperatorFault
from gateway.service.intake.outcomes import Kept
from gateway.store import sqlite
from gateway.store.store import Store

SITE = """
[site]
name = "lab"
[room]
cells = 10
[heat]
spread_m2 = 0.01
[sensors]
count = 4
[privacy]
epsilon = "8/1"
delta = "1/100000"
"""
KEY = b"key1"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a deployment file, without a store yet."""
    path = tmp_path / "site.toml"
    path.write_text(SITE)
    return path


def _batch(seq: int) -> list[Kept]:
    name = seq.to_bytes(4, "big")
    return [Kept(f"node-{n}", 1, seq, name, b"frame %d" % seq, KEY) for n in range(50)]


def test_a_backup_under_writes_is_of_one_moment(
    site: Path, tmp_path: Path, heatveil: Callable[..., Any]
) -> None:
    """Whole batches only, all that were committed before it began, and a sound file."""
    store, over = Store(tmp_path / "heatveil.sqlite", "lab"), threading.Event()
    written = [0]

    def write() -> None:
        while not over.is_set():
            store.keep(_batch(written[0] + 1))
            written[0] += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for n in range(5):
            out = tmp_path / f"copy{n}.sqlite"
            before = written[0]
            said = heatveil("backup", "--config", site, "--out", out)
            after = written[0] + 1
            assert (said.status, said.err) == (0, "")
            assert "checked" in said.out
            assert out.stat().st_mode & 0o077 == 0, "it holds who answered when"
            with closing(sqlite3.connect(out)) as copy:
                assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                rows = copy.execute("SELECT count(*) FROM reports").fetchone()[0]
                last = copy.execute("SELECT min(seq), max(seq) FROM newest").fetchone()
            assert rows % 50 == 0
            assert before <= rows // 50 <= after
            if rows:
                assert last == (rows // 50, rows // 50)
    finally:
        over.set()
        thread.join()
        store.close()
    found = Store(tmp_path / "copy4.sqlite", "lab")
    found.keep(_batch(10**6))
    found.close()
    assert written[0] > 5


def test_a_backup_takes_the_place_of_nothing(
    site: Path, tmp_path: Path, heatveil: Callable[..., Any]
) -> None:
    """What is there may be the only good copy."""
    Store(tmp_path / "heatveil.sqlite", "lab").close()
    out = tmp_path / "copy.sqlite"
    out.write_text("precious")
    said = heatveil("backup", "--config", site, "--out", out)

    assert said.status == 1
    assert "is there already" in said.err
    assert out.read_text() == "precious"


def test_a_backup_that_fails_leaves_nothing(
    site: Path, tmp_path: Path, heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a copy would be found on the day that it is needed."""
    out = tmp_path / "copy.sqlite"
    said = heatveil("backup", "--config", site, "--out", out)
    assert said.status == 1
    assert "no store" in said.err

    Store(tmp_path / "heatveil.sqlite", "lab").close()
    before = sorted(one.name for one in tmp_path.iterdir())
    counts = iter(({"reports": 3}, {"reports": 2}))
    monkeypatch.setattr(sqlite, "_rows", lambda _connection: next(counts))
    said = heatveil("backup", "--config", site, "--out", out)
    assert said.status == 1
    assert "not whole" in said.err
    assert sorted(one.name for one in tmp_path.iterdir()) == before

    said = heatveil("backup", "--config", site, "--out", tmp_path / "nowhere" / "copy.sqlite")
    assert said.status == 1
    assert "cannot be copied" in said.err


def test_a_gateway_that_starts_while_its_store_is_copied_spoils_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody had it open, so it was read without a lock: what came meanwhile may be in by half."""
    path, out = tmp_path / "heatveil.sqlite", tmp_path / "copy.sqlite"
    Store(path, "lab").close()
    real, started = sqlite._rows, list[Store]()

    def starting(connection: sqlite3.Connection) -> dict[str, int]:
        if not started:
            started.append(Store(path, "lab"))
            started[0].keep(_batch(1))
        return real(connection)

    monkeypatch.setattr(sqlite, "_rows", starting)
    with pytest.raises(OperatorFault, match="a gateway was started meanwhile"):
        sqlite.backup(path, out)
    assert not out.exists()
    sqlite.backup(path, out)  # while it runs
    started[0].close()
    with closing(sqlite3.connect(out)) as copy:
        assert copy.execute("SELECT count(*) FROM reports").fetchone() == (50,)
