"""The API over a real store, beside the one that writes it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.web.server import Page

Ask = Callable[..., Any]


def test_every_list_is_of_what_was_written(stored: Page, ask: Ask) -> None:
    """Rounds, maps, charges, devices and dead letters, from the rows themselves."""
    rounds = ask(stored, "/api/v1/rounds").json["rounds"]
    maps = ask(stored, "/api/v1/maps").json["maps"]
    ledger = ask(stored, "/api/v1/ledger").json
    (north,) = ask(stored, "/api/v1/devices").json["devices"]

    assert [(row["number"], row["outcome"]) for row in rounds] == [
        (3, "open"),
        (2, "closed"),
        (1, "closed"),
    ]
    assert [(one["number"], one["status"]) for one in maps] == [(1, "solved")]
    assert [ledger[key]["exact"] for key in ("budget", "spent", "left")] == ["4/7", "3/7", "1/7"]
    assert (north["name"], north["seq"], north["refused"]) == ("north", 3, 1)
    assert (north["left"]["exact"], north["quarantine"]) == ("1/7", "it floods")
    assert ask(stored, "/api/v1/rounds/2/release").json["values"] == [2, None]
    assert ask(stored, "/api/v1/maps/latest").json["mass"] == [[1.0]]
    assert ask(stored, "/api/v1/refused").json["kinds"] == {"garbled": 1}
    (shut,) = ask(stored, "/api/v1/quarantine").json["devices"]
    assert (shut["device"], shut["why"]) == ("north", "it floods")


def test_a_store_that_cannot_be_read_is_said(stored: Page, ask: Ask, tmp_path: Path) -> None:
    """Held by somebody else, or moved away: 503 and when to come again, and the page stays."""
    path = tmp_path / "lab.sqlite"
    before = ask(stored, "/api/v1/rounds").status
    path.rename(tmp_path / "away.sqlite")
    gone, alive = ask(stored, "/api/v1/rounds?limit=9"), ask(stored, "/livez")
    (tmp_path / "away.sqlite").rename(path)
    back = ask(stored, "/api/v1/rounds").status

    assert (before, gone.status, back, alive.status) == (200, 503, 200, 200)
    assert gone.json["code"] == "store"
    assert int(gone.headers["retry-after"]) > 0
    assert str(tmp_path) not in gone.body.decode()  # where it is, is nobody else's business
    assert not path.with_suffix(".sqlite-journal").exists()


def test_no_frame_leaves_by_any_address(stored: Page, ask: Ask) -> None:
    """What a device sent stays in the store, whether it counted or was refused."""
    paths = list(ask(stored, "/api/v1/openapi.json").json["paths"])
    for path in paths:
        if path.endswith("/events"):
            continue
        asked = path.replace("{number}", "1").replace("{name}", "north")
        answer = ask(stored, asked)
        assert answer.status == 200, (path, answer.body)
        assert b"SECRET" not in answer.body
        assert b"U0VDUkVU" not in answer.body  # nor in base 64
