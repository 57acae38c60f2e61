"""A store of an older schema is brought up whole, with every row, or is left as it was."""

import gzip
import sqlite3
import time
from collections import Counter
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, insert, inspect, select

from edge.core import wire
from gateway.faults import OperatorFault
from gateway.service import steps
from gateway.service.intake.door import Arrival, authenticate
from gateway.service.intake.judge import judge
from gateway.service.intake.outcomes import DeadLetter
from gateway.service.ledger import Charge
from gateway.service.mqtt.connection import Message
from gateway.store import postgres, sqlite
from gateway.store.migrations import bring_up
from gateway.store.places import Place
from gateway.store.reader import Reader
from gateway.store.schema import METADATA, SCHEMA
from gateway.store.store import Store
from tests.gateway.store.old import schema_4

KEY, DIGEST = b"key1", b"d" * 32
OLD: dict[str, list[tuple[Any, ...]]] = {
    "about": [(4, "lab", "{}", "3/7")],
    "rounds": [
        (b"nam1", b"pln1", 1, "thermal", b"message", 100.0),
        (b"nam2", b"pln2", 2, "thermal", b"message", 200.0),
    ],
    "charges": [
        (1, b"nam1", "", b"", "1/7", 100.0),
        (2, b"nam1", "north", DIGEST, "1/7", 110.0),
        (3, b"nam2", "", b"", "1/7", 200.0),
    ],
    "reports": [
        ("north", KEY, 1, 1, b"nam1", b"frame 1", 101.0),
        ("north", KEY, 1, 2, b"nam2", b"frame 2", 201.0),
        ("south", KEY, 7, 5, b"nam1", b"frame 3", 102.0),
    ],
    "heard": [(1, "north", KEY, 1, 3, b"nam2", DIGEST, 202.0)],
    "newest": [("north", KEY, 1, 3), ("south", KEY, 7, 5), ("east", KEY, 1, 1)],
    "alarms": [("north", KEY, "set back", 2, 300.0)],
    "refused": [
        (1, 1.0, "a/b", "east is not enrolled", 3, b"abc"),
        (2, 2.0, "a/b", "round 1 closed 3.0 s ago", 3, b"abc"),
        (3, 3.0, "a/b", "something that nobody foresaw", 3, b"abc"),
        (4, 4.0, "a/b", "it answers round aa; round 2, bb, is open", 3, b"abc"),
    ],
    "releases": [(b"nam1", "[4, null]", 2, 150.0)],
    "maps": [(b"nam1", "{}", 160.0)],
}


def _engine(place: Place) -> Engine:
    return sqlite.engine(place) if isinstance(place, Path) else postgres.engine(place)


def _old(place: Place) -> None:
    """Make a store of schema 4, as a gateway of that time left it."""
    engine = _engine(place)
    with engine.begin() as connection:
        schema_4.METADATA.create_all(connection)
        for name, rows in OLD.items():
            table = schema_4.METADATA.tables[name]
            names = [column.name for column in table.columns]
            values = [dict(zip(names, row, strict=True)) for row in rows]
            connection.execute(insert(table), values)
            if "id" in names and not isinstance(place, Path):  # as if it had given them itself
                sequence = f"SELECT setval('{name}_id_seq', {len(rows)})"
                connection.exec_driver_sql(sequence)
    engine.dispose()


def _shape(place: Place) -> dict[str, Any]:
    """Return what the database says of its own tables."""
    engine = _engine(place)
    look, shape = inspect(engine), {}
    for table in sorted(look.get_table_names()):
        columns = [
            (one["name"], str(one["type"]), one["nullable"], one["default"], one["primary_key"])
            if "primary_key" in one
            else (one["name"], str(one["type"]), one["nullable"], one["default"])
            for one in look.get_columns(table)
        ]
        uniques = sorted(tuple(one["column_names"]) for one in look.get_unique_constraints(table))
        indexes = sorted(
            (str(one["name"]), one["column_names"]) for one in look.get_indexes(table)
        )
        key = look.get_pk_constraint(table)["constrained_columns"]
        shape[table] = columns, uniques, [one for one in indexes if "_key" not in one[0]], key
    engine.dispose()
    return shape


@pytest.mark.long
def test_what_was_brought_up_is_what_is_made_today(place: Place, database: Any) -> None:
    """Else two gateways of one version would run on tables that differ."""
    _old(place)
    Store(place, "lab").close()
    found, fresh = _shape(place), database
    if isinstance(place, Path):
        fresh = place.with_name("fresh.sqlite")
    Store(fresh, "lab").close()

    assert found == _shape(fresh)
    assert set(found) == set(METADATA.tables)


@pytest.mark.long
def test_every_row_survives_and_says_what_it_can(place: Place) -> None:
    """What was charged and which numbers were used must not be lost with a new version."""
    _old(place)
    Store(place, "lab").close()
    engine = _engine(place)
    with engine.begin() as connection:
        for name, rows in OLD.items():
            old = schema_4.METADATA.tables[name]
            found = sorted(tuple(row) for row in connection.execute(select(old)))
            if name == "about":
                rows = [(SCHEMA, *rows[0][1:])]
            assert found == sorted(rows), name
        new = METADATA.tables
        kinds = connection.scalars(select(new["refused"].c.kind).order_by("id")).all()
        assert kinds == ["unknown", "late", "garbled", "other-round"]
        row = new["rounds"].c
        ended = select(row.closed_s, row.outcome, row.rho).order_by(row.number)
        assert [tuple(one) for one in connection.execute(ended)] == [
            (150.0, "closed", "1/7"),
            (None, None, "1/7"),
        ]
        counted = select(new["newest"].c["device", "reports", "last_s"]).order_by("device")
        assert [tuple(one) for one in connection.execute(counted)] == [
            ("east", 0, None),
            ("north", 2, 201.0),
            ("south", 1, 102.0),
        ]
    engine.dispose()
    store = Store(place, "lab")
    assert [charge.device for charge in store.charges()] == ["", "north", ""]
    assert {charge.rho for charge in store.charges()} == {Fraction(1, 7)}
    assert store.newest()["north", KEY] == (1, 3)
    store.keep([], [DeadLetter("a/b", "new", b"", "flood")])
    assert store.refused(1)[0].kind == "flood"
    store.close()


def test_a_store_of_schema_5_goes_on_and_keeps_the_empty_room(tmp_path: Path) -> None:
    """The gateway before this one left no empty room: it is marched again, and then kept."""
    path = tmp_path / "heatveil.sqlite"
    _old(path)
    engine = _engine(path)
    with engine.begin() as connection:
        bring_up(connection, 4, 5)
    engine.dispose()
    store = Store(path, "lab")
    assert store.vacant() is None
    assert [charge.device for charge in store.charges()] == ["", "north", ""]
    for at_s, state in ((1.0, b"first"), (2.0, b"second")):
        store.keep_map(b"nam1", "{}", vacant=(at_s, state))
    store.keep_map(b"nam1", "{}")
    store.close()

    again = Store(path, "lab")
    assert again.vacant() == b"second"
    again.close()


def _broken_at(number: int, engine: Engine, said: list[str]) -> None:
    """Let the n-th statement of an engine fail, or its n-th commit where there are no more."""

    def before(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        said.append(statement)
        if len(said) == number:
            raise RuntimeError("the power is gone")

    def commit(_connection: Connection) -> None:
        before(None, None, "COMMIT")

    event.listen(engine, "before_cursor_execute", before)
    event.listen(engine, "commit", commit)


def _dump(place: Place) -> Any:
    """Return everything that is in a store: its tables, their columns and rows."""
    engine, rows = _engine(place), {}
    with engine.connect() as connection:
        for name in sorted(inspect(connection).get_table_names()):
            found = connection.exec_driver_sql(f'SELECT * FROM "{name}"')
            rows[name] = list(found.keys()), sorted(map(str, found))
    engine.dispose()
    return rows


def _tried(place: Place, number: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Open a store with a failure at its n-th statement; return those that were sent."""
    said: list[str] = []
    module = sqlite if isinstance(place, Path) else postgres
    whole = module.engine

    def breaking(where: Any) -> Engine:
        engine = whole(where)
        _broken_at(number, engine, said)
        return engine

    with monkeypatch.context() as patch:
        patch.setattr(module, "engine", breaking)
        try:
            Store(place, "lab").close()
        except RuntimeError:
            assert len(said) == number
    return said


@pytest.mark.long
def test_a_failure_at_any_statement_leaves_the_old_store(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a schema can be read by no version; the next start then does all of it."""
    _old(place)
    before, number, after = _dump(place), 0, None
    while after is None:
        number += 1
        _tried(place, number, monkeypatch)
        found = _dump(place)
        after = None if found == before else found
    Store(place, "lab").close()

    assert number > 30  # the first of them that came after the last commit
    assert _dump(place) == after
    assert after["about"][1] == [f"({SCHEMA}, 'lab', '{{}}', '3/7')"]
    assert set(after) == set(METADATA.tables)


@pytest.mark.parametrize("schema", [3, 99])
def test_a_store_that_nobody_here_knows_is_refused(tmp_path: Path, schema: int) -> None:
    """Misread charges would be spent twice; and nothing is done to it."""
    path = tmp_path / "heatveil.sqlite"
    Store(path, "lab").close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE about SET schema = ?", [schema])
    with pytest.raises(OperatorFault, match=f"schema {schema}, and"):
        Store(path, "lab")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["heatveil.sqlite"]


def test_a_store_of_another_site_is_not_brought_up(tmp_path: Path) -> None:
    """It is not ours to change."""
    path = tmp_path / "heatveil.sqlite"
    _old(path)
    with pytest.raises(OperatorFault, match="belongs to site lab, not to attic"):
        Store(path, "attic")
    assert sqlite3.connect(path).execute("SELECT schema FROM about").fetchone() == (4,)


# A store that a gateway of schema 4 really left behind goes on where it was.

KEPT = schema_4.KEPT
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
    asked = steps.sign_round(planned, store.number_of(wire.name_of(planned)), home.devices)
    assert asked.name == _open(path)  # by the same name, so it is not charged again
    assert store.open_round(asked, Fraction(1, 5)) == ""
    assert len(store.charges()) == 4
    assert store.close_round(asked.name, [1, 2, None, None], 2)
    planned = home.round(4)
    more = steps.sign_round(planned, store.number_of(wire.name_of(planned)), home.devices)
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
