"""A store that a gateway of schema 4 really left behind goes on where it was.

It was made with the code of that time: four devices, of which one was set back, two rounds that
ended and one that is open.
"""

import gzip
import sqlite3
import time
from collections import Counter
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from edge.core import wire
from gateway.faults import OperatorFault
from gateway.service import steps
from gateway.service.intake.door import Arrival, authenticate
from gateway.service.intake.judge import judge
from gateway.service.ledger import Charge
from gateway.service.mqtt.connection import Message
from gateway.store import sqlite
from gateway.store.reader import Reader
from gateway.store.store import Store

KEPT = Path(__file__).parent / "old" / "schema_4.sqlite.gz"
SITE, RHO = "testsite", Fraction(1, 50)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the old store's file."""
    path = tmp_path / "heatveil.sqlite"
    path.write_bytes(gzip.decompress(KEPT.read_bytes()))
    return path


def _frames(path: Path) -> list[tuple[Any, ...]]:
    wanted = "SELECT device, hex(key_id), epoch, seq, hex(round), frame FROM reports ORDER BY 1, 4"
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(wanted).fetchall()


def test_every_row_of_it_is_there_and_says_more_now(path: Path) -> None:
    """Nine reports with their bytes, four charges, ten dead letters by kind, three rounds."""
    frames = _frames(path)
    store = Store(path, SITE)
    assert _frames(path) == frames
    assert store.charges() == (*[Charge(RHO)] * 3, Charge(RHO, "node-0"))
    assert {who: used for (who, _), used in store.newest().items()} == {
        "node-0": (1, 3),
        "node-1": (1, 3),
        "node-2": (1, 2),
        "node-3": (1, 2),
    }
    assert [who for who, _ in store.alarms()] == ["node-0"]
    store.close()

    reader = Reader(path)
    assert [(row.number, row.outcome, row.reports, row.rho) for row in reader.rounds()] == [
        (3, "open", None, RHO),
        (2, "closed", 3, RHO),
        (1, "closed", 4, RHO),
    ]
    assert all(row.closed_s is not None for row in reader.rounds()[1:])
    assert reader.refused_kinds() == Counter(forged=3, unknown=3, late=1, changed=1)
    assert [row.reports for row in reader.devices()] == [3, 3, 2, 1]
    assert reader.map() == {"kind": "map", "number": 2}
    assert reader.ledger(Fraction(1, 5)).spent == 4 * RHO
    reader.close()


def test_the_next_gateway_goes_on_with_it(path: Path, home: Any) -> None:
    """The frames of its time are known again, its open round is the same, the next is the next."""
    store = Store(path, SITE)
    device, frame = store.answers(_open(path))[0]
    again = authenticate(Message(wire.topic(SITE, device, "data"), frame, (1, 1)), home.devices)
    assert isinstance(again, Arrival)
    known = store.known([again.key], [(again.report.round, device)])
    verdict = judge([again], None, store.newest(), known, time.monotonic())
    assert [one.taken for one in verdict.again] == [True]
    assert (verdict.letters, verdict.alarms, verdict.extra) == ([], [], [])

    planned = home.round(3)
    asked = steps.signed(planned, store.number_of(wire.name_of(planned)), home.devices)
    assert asked.name == _open(path)  # by the same name, so it is not charged again
    assert store.open_round(asked, Fraction(1, 5)) == ""
    assert len(store.charges()) == 4
    assert store.close_round(asked.name, [1, 2, None, None], 2)
    planned = home.round(4)
    more = steps.signed(planned, store.number_of(wire.name_of(planned)), home.devices)
    assert more.plan.number == 4
    assert store.open_round(more, Fraction(1, 5)) == ""
    with pytest.raises(OperatorFault, match="was promised"):  # what it promised binds us too
        store.open_round(more, Fraction(1, 4))
    store.close()


def test_the_copy_that_is_left_is_the_old_store(path: Path) -> None:
    """Row for row, so that the older version may be run on it again."""
    with closing(sqlite3.connect(path)) as old:
        before = list(old.iterdump())
    Store(path, SITE).close()
    with closing(sqlite3.connect(sqlite.address(path), uri=True)) as new:
        assert list(new.iterdump()) != before
    with closing(sqlite3.connect(path.with_name("heatveil.sqlite.schema4"))) as copy:
        assert list(copy.iterdump()) == before


def _open(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        wanted = "SELECT name FROM rounds ORDER BY number DESC LIMIT 1"
        return bytes(connection.execute(wanted).fetchone()[0])
