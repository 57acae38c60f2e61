"""SQLite keeps what it is held to: commits survive the power, the log stays small."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import structlog.testing

from gateway.service.intake.outcomes import Kept
from gateway.store.store import Store


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
