"""A site's data deleted: what goes, what stays, and that nothing more is asked."""

import io
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from gateway.faults import OperatorFault
from gateway.settings import config
from gateway.store.store import Store

Heatveil = Callable[..., Any]


def rows(kept: Any, table: str) -> list[Any]:
    with closing(sqlite3.connect(kept.path.parent / "heatveil.sqlite")) as store:
        return store.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


def test_what_was_gathered_goes_and_what_was_charged_stays(kept: Any, heatveil: Heatveil) -> None:
    """To the byte: what people are told is deleted must not stand in free pages of the file."""
    before = heatveil("ledger", "--config", kept.path, "--json").out
    database = kept.path.parent / "heatveil.sqlite"
    assert rows(kept, "maps")
    assert b'"mass"' in database.read_bytes()
    said = heatveil("delete", "--config", kept.path, "--yes")

    assert (said.status, "1 releases" in said.out, "1 maps" in said.out) == (0, True, True)
    assert not any(rows(kept, table) for table in ("reports", "releases", "maps", "refused"))
    assert b'"mass"' not in database.read_bytes()
    assert heatveil("ledger", "--config", kept.path, "--json").out == before
    assert heatveil("show", "--config", kept.path).status == 1


def test_nothing_is_asked_on_what_was_deleted_so_that_no_budget_comes_back(
    kept: Any, heatveil: Heatveil
) -> None:
    """Without releases a gateway would begin with its first round; nor is the promise ended."""
    assert heatveil("delete", "--config", kept.path, "--yes").status == 0
    assert "has been deleted" in heatveil("check", "--config", kept.path).out
    # 4: systemd starts no gateway again, which would be in vain every ten seconds.
    assert heatveil("ledger", "--config", kept.path, "--end-promise").status == 4
    with (
        closing(Store.of(config.load(kept.path))) as store,
        pytest.raises(OperatorFault, match="has been deleted"),
    ):
        store.check("any promise", kept.rho)


def test_what_another_program_still_reads_is_not_said_to_be_deleted(
    kept: Any, heatveil: Heatveil
) -> None:
    """Its bytes stand in the file until nobody reads the old ones; then they go."""
    database = kept.path.parent / "heatveil.sqlite"
    with closing(sqlite3.connect(database, isolation_level=None)) as reading:
        reading.execute("BEGIN")
        reading.execute("SELECT body FROM maps").fetchall()
        said = heatveil("delete", "--config", kept.path, "--yes")
        stood = b'"mass"' in database.read_bytes()

    assert (said.status, "Deleted." in said.out, stood) == (1, False, True)
    assert "run heatveil delete again" in said.err
    again = heatveil("delete", "--config", kept.path, "--yes")
    assert (again.status, "Deleted." in again.out) == (0, True)
    assert b'"mass"' not in database.read_bytes()


def test_when_a_device_was_there_goes_too(kept: Any, heatveil: Heatveil) -> None:
    """Its last hour, its alarms and why it was shut out; what it has used up stays."""
    database = kept.path.parent / "heatveil.sqlite"
    with closing(sqlite3.connect(database)) as store, store:
        store.execute("INSERT INTO newest VALUES ('node-3', x'01', 2, 3, 4, 1e9)")
        store.execute("INSERT INTO alarms VALUES ('node-3', x'01', 'a double', 1, 1e9)")
        store.execute("INSERT INTO quarantine VALUES ('node-3', 'it floods', 1e9)")
    said = heatveil("delete", "--config", kept.path, "--yes")

    assert (said.status, "1 alarms" in said.out) == (0, True)
    assert rows(kept, "newest") == [("node-3", b"\x01", 2, 3, 4, None)]
    assert rows(kept, "alarms") + rows(kept, "quarantine") == []
    # The round that the broker retains is what a ledger begun anew is known by.
    assert "-t 'heatveil/1/seen/map/thermal'" in said.out
    assert "'heatveil/1/seen/#'" not in said.out


def test_who_says_no_deletes_nothing(
    kept: Any, heatveil: Heatveil, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said first what would go."""
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    said = heatveil("delete", "--config", kept.path)

    assert said.status == 1
    assert "go for good" in said.out
    assert rows(kept, "maps")
