"""What each database is held to: what is no store is left as it is, and commits last."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
import structlog.testing
from sqlalchemy.exc import DBAPIError

from gateway.faults import OperatorFault
from gateway.service.intake.outcomes import AskedRound, CountedReport
from gateway.store import places
from gateway.store.places import Database
from gateway.store.reader import Reader
from gateway.store.store import Store
from tests import processes

# What is no store of ours, or no longer one, is said in one sentence, and is left as it is.

KEY = b"key1"


def _filled(path: Path) -> Path:
    """Return a store with some rows, closed."""
    store = Store(path, "lab")
    for seq in range(1, 6):
        name = seq.to_bytes(4, "big")
        store.keep_batch(
            [CountedReport(f"node-{n}", 1, seq, name, b"x" * 900, KEY) for n in range(50)]
        )
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
        Store(path, "lab").keep_batch([CountedReport("north", 1, 7, b"name", b"frame", KEY)])
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    log = path.with_name("heatveil.sqlite-wal")
    before = {one.name: one.stat().st_mtime_ns for one in (path, log)}
    assert log.stat().st_size > 0
    reader = Reader(path)

    assert [row.seq for row in reader.list_devices()] == [7]
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
            said = str(len(reader.list_devices()))
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
            store.keep_batch([CountedReport("late", 1, 9, b"last", b"frame", KEY)])
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
    with pytest.raises(OperatorFault, match="tables of another program \\(recipes\\)"):
        Store(path, "lab")
    with pytest.raises(OperatorFault, match="cannot be opened"):
        Reader(path)
    with closing(sqlite3.connect(path)) as other:
        assert "".join(other.iterdump()).count("CREATE TABLE") == 1


# SQLite keeps what it is held to: commits survive the power, the log stays small.


def test_what_is_deleted_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However this SQLite was built: some leave the bytes of a deleted row in the file."""
    connect = sqlite3.connect

    def connect_as_built_elsewhere(*args: Any, **words: Any) -> sqlite3.Connection:
        made = connect(*args, **words)
        made.execute("PRAGMA secure_delete=OFF")
        return made

    monkeypatch.setattr("sqlite3.dbapi2.connect", connect_as_built_elsewhere)
    store = Store(tmp_path / "heatveil.sqlite", "lab")
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA secure_delete").scalar() == 1
    store.close()


def test_every_commit_is_flushed_to_the_disk(tmp_path: Path) -> None:
    """WAL with synchronous=NORMAL would lose the last commits with the power."""
    store = Store(tmp_path / "heatveil.sqlite", "lab")
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    store.close()


def _batch(first: int) -> list[CountedReport]:
    return [
        CountedReport(
            f"node-{n % 50}", 1, first + n, (first + n).to_bytes(4, "big"), b"x" * 90, b"key1"
        )
        for n in range(500)
    ]


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
        store.keep_batch(_batch(0))
        store.backup(tmp_path / "copy.sqlite")
        modes = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)

    assert modes.keys() >= {path.name, f"{path.name}-wal", f"{path.name}-shm", "copy.sqlite"}
    assert set(modes.values()) == {0o600}
    assert [one["mode"] for one in told if "mode" in one] == ([f"{mode:04o}"] if mode else [])


# PostgreSQL keeps what SQLite is held to, over a server that is gone; no secret shows.


def kept(seq: int, frame: bytes = b"frame") -> CountedReport:
    return CountedReport("north", 1, seq, seq.to_bytes(4, "big"), frame, KEY)


def test_a_commit_is_on_the_disk_whatever_the_server_would_do(database: Database) -> None:
    """A server that was made fast for others would lose what a device has let go of."""
    words = database.words.replace("options='", "options='-c synchronous_commit=off ")
    store = Store(Database(words, database.password_file), "lab")
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    store.close()


def test_an_error_says_nothing_of_the_row_it_is_about(database: Database) -> None:
    """PostgreSQL would print the row; errors go to logs, and logs to places nobody reviews."""
    store = Store(database, "lab")
    store.keep_batch([kept(1)])
    broken: Any = kept(2, b"what nobody may read")._replace(device=None)
    for batch in ([kept(1, b"what nobody may read")], [broken]):
        with pytest.raises(DBAPIError) as caught:
            store.keep_batch(batch)
        for said in (str(caught.value), repr(caught.value), str(caught.value.orig)):
            assert "nobody" not in said
            assert b"what nobody may read".hex() not in said
            assert "north" not in said
    store.close()


def test_the_password_is_in_no_error(database: Database, cluster: Any, tmp_path: Path) -> None:
    """Whatever is wrong with the way to the database, its key is not shown for it."""
    wrong, secret = tmp_path / "wrong", "hunter2-and-more"
    wrong.write_text(secret)
    faults = {
        Database(database.words, wrong): "password authentication failed",
        Database(database.words, tmp_path / "none"): "cannot be read",
        Database(f"{database.words} password={secret}"): "must not",
        Database(f"postgresql://keeper:{secret}@127.0.0.1/x"): "must not",
        Database(f"host=127.0.0.1 {secret}"): "cannot be read",
        Database(f"postgresql://keeper:{secret}@[127.0.0.1/x"): "cannot be read",
        Database("host=127.0.0.1 port=1 user=keeper", wrong): "cannot be opened",
    }
    for place, said in faults.items():
        with pytest.raises(OperatorFault, match=said) as caught:
            Store(place, "lab")
        causes, fault = [], caught.value.__cause__ or caught.value
        while fault is not None:
            causes.append(repr(fault))
            fault = fault.__cause__ or fault.__context__
        assert secret not in " ".join([str(caught.value), repr(place), *causes])


OPENS = """
import sys
from fractions import Fraction
from types import SimpleNamespace as Some
from pathlib import Path
from gateway.service.intake.outcomes import AskedRound
from gateway.store.places import Database
from gateway.store.store import Store

store = Store(Database(sys.argv[1], Path(sys.argv[2])), "lab")
promise = Some(neighbours="n", trust="t", epsilon=None, delta=None, unit="")
sys.stdin.readline()
for n in range(40):
    plan = Some(number=int(sys.argv[3]) * 1000 + n, mechanism="thermal", guarantee=promise)
    name = plan.number.to_bytes(4, "big")
    asked = AskedRound(name, name, plan, b"", Fraction(1, 7))
    print(store.open_round(asked, Fraction(40, 7)) == "")
"""


@pytest.mark.long
def test_two_processes_cannot_spend_more_than_there_is(database: Database) -> None:
    """Each sees what the other has charged before it charges: there is enough for forty."""
    Store(database, "lab").close()
    words = [database.words, str(database.password_file)]
    children = [
        processes.Child(
            [sys.executable, "-c", OPENS, *words, str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in (1, 2)
    ]
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    said = "".join(child.communicate(timeout=60)[0] for child in children)

    assert said.count("True") == 40
    assert said.count("False") == 40
    store = Store(database, "lab")
    assert sum(charge.rho for charge in store.list_charges()) == Fraction(40, 7)
    store.close()


@pytest.mark.long
def test_a_lock_that_another_holds_is_waited_for_only_so_long(
    database: Database, cluster: Any, home: Any
) -> None:
    """Else a tool that was left in a transaction would hold a gateway for ever, unheard."""
    store, plan = Store(database, "lab"), home.round()
    options = database.words.partition("options=")[2].strip("'")
    with psycopg.connect(**cluster.words(), options=options) as other:
        other.execute("SELECT * FROM about FOR UPDATE")
        began_s = time.monotonic()
        with pytest.raises(DBAPIError) as caught:
            store.open_round(AskedRound(b"name", b"name", plan, b"", Fraction(1)), Fraction(1))
        assert places.is_disk_fault(caught.value)
        assert time.monotonic() - began_s > 1
    store.close()
