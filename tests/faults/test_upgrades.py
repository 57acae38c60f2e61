"""kill -9 in the middle of a migration: the old store is there, whole."""

import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from harness.children import ROOT
from harness.sizes import FULL, takes_long
from harness.truth import ask, sound
from sqlalchemy import create_engine, insert

from gateway.store.schema import SCHEMA
from gateway.store.store import Store
from tests import processes
from tests.gateway.store.old import schema_4

# Opens a store, and dies at the n-th statement of the migration.
DIES = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import Engine, event
from gateway.store import migrations, opening, sqlite

left = int(sys.argv[2])
if sys.argv[3] == "bare":
    begun = sqlite.engine
    def bare(place):
        engine = begun(place)
        for listener in list(engine.dispatch.begin):
            event.remove(engine, "begin", listener)
        @event.listens_for(engine, "connect")
        def _as_python_leaves_it(connection, record):
            connection.isolation_level = ""
        return engine
    opening.sqlite.engine = bare

def counting(connection, found, wanted, real=migrations.bring_up):
    @event.listens_for(connection, "before_cursor_execute")
    def _count(*_):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    real(connection, found, wanted)

opening.bring_up = counting
opening.opened(Path(sys.argv[1]), "lab")
"""
KEPT = ("lab", "terms", "3/7")


def old(path: Path) -> None:
    """Make a store as the last schema's gateway left it."""
    engine = create_engine(f"sqlite:///{path}")
    tables = schema_4.METADATA.tables
    with engine.begin() as connection:
        schema_4.METADATA.create_all(connection)
        about = dict(zip(("site", "promise", "budget"), KEPT, strict=True))
        connection.execute(insert(tables["about"]).values(schema=4, **about))
        asked = {"name": b"nam1", "planned": b"pln1", "number": 1, "mechanism": "thermal"}
        connection.execute(
            insert(tables["rounds"]).values(**asked, message=b"message", opened_s=100.0)
        )
        paid = {"round": b"nam1", "device": "", "answer": b"", "rho": "1/7", "at_s": 100.0}
        connection.execute(insert(tables["charges"]).values(**paid))
    engine.dispose()


def inside(path: Path) -> dict[str, Any]:
    """Return all that a store holds: its tables as they were made, and their rows."""
    with closing(sqlite3.connect(path)) as opened:
        made = opened.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        rows = {
            name: opened.execute(f'SELECT * FROM "{name}"').fetchall()
            for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    return {"made": made, "rows": rows}


def dies_at(path: Path, statement: int, how: str) -> bool:
    """Bring a store up in a process that is killed at a statement; return whether it was."""
    words = [sys.executable, "-c", DIES, str(path), str(statement), how]
    ended = processes.run(words, cwd=ROOT, capture_output=True, env={**os.environ})
    return ended.returncode == -signal.SIGKILL


@pytest.mark.long
def test_migration_fails_half_way(tmp_path: Path) -> None:
    """Killed at any statement, the file is what it was; and the next start brings it up."""
    path, kills = tmp_path / "old.sqlite", 0
    old(path)
    before = inside(path)
    statements = range(60) if FULL else range(12, 60, 24)
    for statement in statements:
        if not dies_at(path, statement, "ours"):
            break
        kills += 1
        assert inside(path) == before, statement
    print(f"{kills} kills")
    Store(path, "lab").close()

    assert kills > (9 if FULL else 0)
    assert sound(path)
    assert ask(path, "SELECT schema, site, promise, budget FROM about") == [(SCHEMA, *KEPT)]
    assert ask(path, "SELECT rho FROM charges") == [("1/7",)]


@pytest.mark.long
def test_migration_control(tmp_path: Path) -> None:
    """Left to itself, Python's sqlite3 begins no transaction: half a schema stays behind."""
    path = tmp_path / "old.sqlite"
    old(path)
    before = inside(path)

    assert dies_at(path, 12, "bare")
    assert inside(path) != before


@takes_long
@pytest.mark.parametrize("how", ["ours"])
def test_migration_that_is_not_killed_goes_through(tmp_path: Path, how: str) -> None:
    """The program above does what it says: with no statement to die at, it ends well."""
    path = tmp_path / "old.sqlite"
    old(path)

    assert not dies_at(path, 10_000, how)
    assert ask(path, "SELECT schema FROM about") == [(SCHEMA,)]
