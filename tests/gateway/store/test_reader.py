"""What people read is what the gateway wrote, and reading leaves no trace and bars no way."""

import sqlite3
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from gateway.faults import OperatorFault
from gateway.service.intake.outcomes import Again, Alarm, Asked, DeadLetter, Heard, Kept
from gateway.service.ledger import Charge
from gateway.store.places import Database, Place
from gateway.store.reader import Gap, Reader
from gateway.store.schema import SCHEMA
from gateway.store.store import Store

RHO = Fraction(1, 7)
KEY = b"key1"


def _name(number: int) -> bytes:
    return number.to_bytes(4, "big")


def _filled(place: Place, home: Any) -> Store:
    """Return a store with three rounds: released and drawn, released, open."""
    store = Store(place, "lab")
    for number in (1, 2, 3):
        asked = Asked(_name(number), _name(number), home.round(number), b"message", RHO)
        assert store.open_round(asked, 4 * RHO, enrolled=4) == ""
        kept = [Kept(who, 1, number, _name(number), b"frame", KEY) for who in ("north", "south")]
        store.keep(kept)
    for number in (1, 2):
        store.close_round(_name(number), [number, None], 2)
        store.keep_map(_name(number), f'{{"number": {number}}}')
    letters = [DeadLetter("a/b", "why", b"12345", kind) for kind in ("late", "flood", "late")]
    again = [Again(_name(1), Charge(RHO, "north"), b"again")]
    heard = [Heard("north", 1, 9, _name(3), b"late", KEY)]
    store.keep([], letters, again, heard, [Alarm("south", KEY, "set back")])
    store.quarantine("south", "it floods")
    return store


def test_everything_that_was_written_is_shown(place: Place, home: Any) -> None:
    """Each row under its round's number, newest first, page by page, exact."""
    store = _filled(place, home)
    reader = Reader(place)

    assert [row.number for row in reader.rounds(2)] == [3, 2]
    assert [row.number for row in reader.rounds(2, before=2)] == [1]
    first, last = reader.round(1), reader.round(3)
    assert first is not None
    assert last is not None
    assert first.closed_s is not None
    assert first.opened_s <= first.closed_s
    assert (first.reports, first.enrolled, first.rho, first.outcome) == (2, 4, RHO, "closed")
    assert first.name_hex == "00000001"
    assert (last.reports, last.closed_s, last.outcome) == (None, None, "open")
    assert reader.round(4) is None
    assert reader.release(2) == [2, None]
    assert reader.release(3) is None
    assert reader.map() == {"number": 2}
    assert reader.map(1) == {"number": 1}
    assert reader.map(3) is None
    assert reader.message(1) == b"message"
    assert [(one.device, one.frame) for one in reader.answers(1)] == [
        ("north", b"frame"),
        ("south", b"frame"),
    ]
    charges = reader.charges(2)
    assert [(row.number, row.device, row.rho) for row in charges] == [
        (1, "north", RHO),
        (3, "", RHO),
    ]
    assert [row.number for row in reader.charges(9, before=charges[-1].id)] == [2, 1]
    assert reader.ledger(4 * RHO).spent == 4 * RHO
    assert reader.promise()[1] == 4 * RHO
    north, south = reader.devices()
    assert (north.name, north.epoch, north.seq, north.reports) == ("north", 1, 9, 3)
    assert (south.alarm, south.quarantine, south.reports) == ("set back", "it floods", 3)
    assert (north.alarm, north.quarantine) == (None, None)
    assert north.last_s is not None
    assert north.last_s > first.opened_s
    refused = reader.refused(2)
    assert [(row.kind, row.size) for row in refused] == [("late", 5), ("flood", 5)]
    assert [row.kind for row in reader.refused(2, before=refused[-1].id)] == ["late"]
    assert reader.refused_kinds() == {"flood": 1, "late": 2}
    assert reader.gaps("north") == [Gap(1, 4, 8)]
    assert reader.gaps("south") == []
    reader.close()
    store.close()


@pytest.mark.long
def test_a_reader_cannot_write(place: Place, home: Any) -> None:
    """Whatever asks for it, and wherever its mistake is."""
    _filled(place, home).close()
    reader = Reader(place)
    with pytest.raises(DBAPIError), reader._engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM charges")
    assert len(reader.charges()) == 4
    reader.close()


def test_reading_leaves_nothing_behind_and_makes_nothing(tmp_path: Path, home: Any) -> None:
    """A log that belongs to who read, as root perhaps, would keep the gateway out."""
    path = tmp_path / "heatveil.sqlite"
    with pytest.raises(OperatorFault, match="there is no store"):
        Reader(path)
    assert list(tmp_path.iterdir()) == []
    _filled(path, home).close()
    before = path.read_bytes()

    reader = Reader(path)
    assert len(reader.rounds()) == 3
    reader.close()

    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_a_store_of_another_schema_is_not_read(tmp_path: Path) -> None:
    """Older: the gateway brings it up to date, and nobody else does; newer: nobody here can."""
    path = tmp_path / "heatveil.sqlite"
    Store(path, "lab").close()
    older, newer = "heatveil serve brings it up to date", "Use that heatveil"
    for schema, said in ((SCHEMA - 1, older), (SCHEMA + 1, newer)):
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE about SET schema = ?", [schema])
        connection.close()
        with pytest.raises(OperatorFault, match=said):
            Reader(path)


def test_a_store_is_read_while_it_is_written(place: Place) -> None:
    """Neither waits for the other, and who reads sees whole batches only."""
    store, over = Store(place, "lab"), threading.Event()

    def write() -> None:
        seq = 0
        while not over.is_set():
            seq += 1
            rows = [(f"node-{n}", 1, seq, b"%d-%d" % (n, seq)) for n in range(20)]
            store.keep([Kept(*row[:3], seq.to_bytes(4, "big"), row[3], KEY) for row in rows])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        reader, counts = Reader(place), set()
        for _ in range(200):
            counts.add(sum(row.reports for row in reader.devices()))
        reader.close()
    finally:
        over.set()
        thread.join()
        store.close()

    assert len(counts) > 2
    assert all(count % 20 == 0 for count in counts)


def test_where_a_database_is_is_said_without_its_words() -> None:
    """Its words may hold what is nobody's business."""
    place = Database("host=secret.example user=somebody")
    assert "secret" not in f"{place} {place!r}"
