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
    assert heatveil("ledger", "--config", kept.path, "--end-promise").status == 1
    with (
        closing(Store.of(config.load(kept.path))) as store,
        pytest.raises(OperatorFault, match="has been deleted"),
    ):
        store.check("any promise", kept.rho)


def test_who_says_no_deletes_nothing(
    kept: Any, heatveil: Heatveil, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said first what would go."""
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    said = heatveil("delete", "--config", kept.path)

    assert said.status == 1
    assert "go for good" in said.out
    assert rows(kept, "maps")
