"""What is no store of ours, or no longer one, is said in one sentence, and is left as it is.

Of SQLite's files: what PostgreSQL finds broken it says by itself.
"""

import os
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from gateway.faults import OperatorFault
from gateway.service.intake.outcomes import Kept
from gateway.store.reader import Reader
from gateway.store.store import Store

KEY = b"key1"


def _filled(path: Path) -> Path:
    """Return a store with some rows, closed."""
    store = Store(path, "lab")
    for seq in range(1, 6):
        name = seq.to_bytes(4, "big")
        store.keep([Kept(f"node-{n}", 1, seq, name, b"x" * 900, KEY) for n in range(50)])
    store.close()
    return path


def _torn(path: Path) -> None:
    """Write nonsense over the first page that holds rows of `about`, and over the schema's."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(100)  # behind SQLite's header, which stays
        file.write(os.urandom(4096 * 2))
    assert path.stat().st_size == size


def _short(path: Path) -> None:
    """Cut it in half, as a copy that broke off."""
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def _header(path: Path) -> None:
    """Write over the header alone."""
    with path.open("r+b") as file:
        file.write(b"\0" * 64)


BROKEN: list[Callable[[Path], None]] = [_torn, _short, _header]


@pytest.mark.parametrize("harm", BROKEN)
@pytest.mark.parametrize("opening", [lambda path: Store(path, "lab"), Reader])
def test_a_file_that_is_broken_is_said_and_not_touched(
    tmp_path: Path, harm: Callable[[Path], None], opening: Callable[[Path], Any]
) -> None:
    """The backup is put in its place then; until that nothing may make it worse."""
    path = _filled(tmp_path / "heatveil.sqlite")
    harm(path)
    before = path.read_bytes()
    with pytest.raises(OperatorFault, match=r"heatveil\.sqlite cannot be opened \(.+\)"):
        opening(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_what_a_killed_gateway_left_in_its_log_is_read_and_stays_there(tmp_path: Path) -> None:
    """Its last commits are in the log alone; who looks must see them, and must not move them."""
    path = tmp_path / "heatveil.sqlite"
    if (child := os.fork()) == 0:
        Store(path, "lab").keep([Kept("north", 1, 7, b"name", b"frame", KEY)])
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    log = path.with_name("heatveil.sqlite-wal")
    before = {one.name: one.stat().st_mtime_ns for one in (path, log)}
    assert log.stat().st_size > 0
    reader = Reader(path)

    assert [row.seq for row in reader.devices()] == [7]
    reader.close()
    assert {one.name: one.stat().st_mtime_ns for one in (path, log)} == before
    Store(path, "lab").close()
    assert not log.exists()


def _seen_by_nobody(path: Path) -> str:
    """Return what somebody without rights sees of a store, in a process of theirs."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            reader = Reader(path)
            said = str(len(reader.devices()))
            reader.close()
        except BaseException as fault:
            said = repr(fault)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else: run it as root")
@pytest.mark.parametrize("running", [True, False])
def test_who_may_only_read_the_folder_reads_it_and_writes_nothing(running: bool) -> None:
    """Somebody in the gateway's group looks: beside one that runs, and after one that ended."""
    folder = Path(tempfile.mkdtemp(prefix="heatveil-look-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        path = _filled(folder / "heatveil.sqlite")
        Reader(path).close()  # whatever it loads is loaded before we are nobody
        store = Store(path, "lab") if running else None
        if store is not None:
            store.keep([Kept("late", 1, 9, b"last", b"frame", KEY)])
        for one in folder.iterdir():
            one.chmod(0o644)
        before = sorted(one.name for one in folder.iterdir())
        assert ("heatveil.sqlite-wal" in before) == running

        assert _seen_by_nobody(path) == str(50 + running)
        assert sorted(one.name for one in folder.iterdir()) == before
        path.chmod(0o600)
        assert "cannot be opened" in _seen_by_nobody(path)
        if store is not None:
            store.close()
    finally:
        shutil.rmtree(folder)


def test_another_programs_database_is_no_store(tmp_path: Path) -> None:
    """Somebody else's tables are neither read as ours nor added to."""
    path = tmp_path / "heatveil.sqlite"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(OperatorFault, match="another program's tables \\(recipes\\)"):
        Store(path, "lab")
    with pytest.raises(OperatorFault, match="cannot be opened"):
        Reader(path)
    with closing(sqlite3.connect(path)) as other:
        assert "".join(other.iterdump()).count("CREATE TABLE") == 1


# SQLite keeps what it is held to: commits survive the power, the log stays small.


def test_every_commit_is_flushed_to_the_disk(tmp_path: Path) -> None:
    """WAL with synchronous=NORMAL would lose the last commits with the power."""
    store = Store(tmp_path / "heatveil.sqlite", "lab")
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    store.close()


def _batch(first: int) -> list[Kept]:
    return [
        Kept(f"node-{n % 50}", 1, first + n, (first + n).to_bytes(4, "big"), b"x" * 90, b"key1")
        for n in range(500)
    ]


@pytest.mark.long
def test_the_log_is_small_again_after_a_reader_that_stayed(tmp_path: Path) -> None:
    """While somebody reads, the log only grows; when they are gone it must not stay so."""
    path = tmp_path / "heatveil.sqlite"
    store, log = Store(path, "lab"), Path(f"{path}-wal")
    store.keep(_batch(0))
    with closing(sqlite3.connect(path)) as reader:
        reader.isolation_level = None
        reader.execute("BEGIN")
        before = reader.execute("SELECT count(*) FROM reports").fetchone()
        for n in range(1, 80):
            store.keep(_batch(500 * n))
        held = log.stat().st_size

        assert held > 10_000_000  # or this shows nothing
        assert not store.checkpoint()
        assert reader.execute("SELECT count(*) FROM reports").fetchone() == before
        reader.execute("ROLLBACK")
    for n in range(80, 84):  # without anybody's help
        store.keep(_batch(500 * n))
    assert log.stat().st_size <= 8_388_608
    assert store.checkpoint()
    assert log.stat().st_size == 0
    store.close()


@pytest.mark.parametrize("mode", [None, 0o644, 0o660])
def test_nobody_else_on_the_machine_reads_a_store(tmp_path: Path, mode: int | None) -> None:
    """Neither a new one, whatever the umask, nor one of before, which is told; nor its log."""
    path, before = tmp_path / "heatveil.sqlite", os.umask(0o022)
    try:
        if mode is not None:
            sqlite3.connect(path).close()
            path.touch(mode)
            path.chmod(mode)
        with structlog.testing.capture_logs() as told:
            store = Store(path, "lab")
        store.keep(_batch(0))
        store.backup(tmp_path / "copy.sqlite")
        modes = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)

    assert modes.keys() >= {path.name, f"{path.name}-wal", f"{path.name}-shm", "copy.sqlite"}
    assert set(modes.values()) == {0o600}
    assert [one["mode"] for one in told if "mode" in one] == ([f"{mode:04o}"] if mode else [])
