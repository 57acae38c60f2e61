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
from sqlalchemy import Connection, Engine, event, insert, inspect, select, text

from edge.core import wire
from gateway.faults import OperatorFault
from gateway.service import steps
from gateway.service.intake.door import Arrival, authenticate
from gateway.service.intake.judge import judge_reports
from gateway.service.intake.outcomes import DeadLetter
from gateway.service.ledger import Charge
from gateway.service.mqtt.connection import Message
from gateway.store import postgres, sqlite
from gateway.store.migrations import OLDEST, migrate_tables
from gateway.store.places import Place
from gateway.store.reader import Reader
from gateway.store.schema import METADATA, SCHEMA
from gateway.store.store import Store
from tests.gateway.store.old import schema_4

SITE, RHO = "testsite", Fraction(1, 50)
# The rows of schema 4 in tables that a gateway of schema 7 made, and rows of its own time.
SEVEN = schema_4.KEPT.with_name("schema_7.sqlite.gz")
# Those of schema 7 in a store of schema 9, whose promise was ended: six of seven keys are its.
NINE = schema_4.KEPT.with_name("schema_9.sqlite.gz")


def _engine(place: Place) -> Engine:
    return sqlite.make_engine(place) if isinstance(place, Path) else postgres.make_engine(place)


def _old(place: Place) -> None:
    """Make a store of schema 4, as a gateway of that time really left it."""
    if isinstance(place, Path):
        place.write_bytes(gzip.decompress(schema_4.KEPT.read_bytes()))
        return
    engine = _engine(place)
    with engine.begin() as connection, schema_4.ENGINE.connect() as kept:
        schema_4.METADATA.create_all(connection)
        for table in schema_4.METADATA.sorted_tables:
            rows = [row._asdict() for row in kept.execute(select(table))]
            if rows:
                connection.execute(insert(table), rows)
            if rows and "id" in rows[0]:  # as if it had given them itself
                most = max(row["id"] for row in rows)
                connection.exec_driver_sql(f"SELECT setval('{table.name}_id_seq', {most})")
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
    Store(place, SITE).close()
    found, fresh = _shape(place), database
    if isinstance(place, Path):
        fresh = place.with_name("fresh.sqlite")
    Store(fresh, SITE).close()

    assert found == _shape(fresh)
    assert set(found) == set(METADATA.tables)


def test_every_row_survives_and_says_more_now(place: Place) -> None:
    """Nine reports with their bytes, four charges, ten dead letters by kind, three rounds."""
    _old(place)
    store = Store(place, SITE)
    with store.engine.connect() as connection, schema_4.ENGINE.connect() as kept:
        for name, table in schema_4.METADATA.tables.items():
            before = sorted(map(repr, kept.execute(select(table))))
            after = sorted(map(repr, connection.execute(select(table))))
            assert after == (
                before if name != "about" else [before[0].replace("(4,", f"({SCHEMA},")]
            )
    assert store.list_charges() == (*[Charge(RHO)] * 3, Charge(RHO, "node-0"))
    assert {who: used for (who, _), used in store.read_newest_numbers().items()} == {
        "node-0": (1, 3),
        "node-1": (1, 3),
        "node-2": (1, 2),
        "node-3": (1, 2),
    }
    assert [who for who, _ in store.list_alarms()] == ["node-0"]
    store.keep_batch([], [DeadLetter("a/b", "new", b"", "flood")])
    assert store.list_refused(1)[0].kind == "flood"
    store.close()

    reader = Reader(place)
    assert [(row.number, row.outcome, row.reports, row.rho) for row in reader.list_rounds()] == [
        (3, "open", None, RHO),
        (2, "closed", 3, RHO),
        (1, "closed", 4, RHO),
    ]
    assert all(row.closed_s is not None for row in reader.list_rounds()[1:])
    kinds = Counter(forged=3, unknown=3, late=1, changed=1, flood=1)
    assert reader.count_refused_by_kind() == kinds
    assert [row.reports for row in reader.list_devices()] == [3, 3, 2, 1]
    assert reader.read_map() == {"kind": "map", "number": 2}
    assert reader.read_ledger(Fraction(1, 5)).spent == 4 * RHO
    reader.close()


def test_a_dead_letter_of_no_known_kind_is_called_garbled(tmp_path: Path) -> None:
    """A gateway of schema 4 said more than these sentences; its rows must stay countable."""
    place = tmp_path / "heatveil.sqlite"
    _old(place)
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("UPDATE refused SET why = 'nobody foresaw it' WHERE why LIKE 'round%'")
    Store(place, SITE).close()
    reader = Reader(place)

    assert reader.count_refused_by_kind() == Counter(forged=3, unknown=3, garbled=1, changed=1)
    reader.close()


def test_a_store_of_schema_5_goes_on_and_keeps_the_empty_room(tmp_path: Path) -> None:
    """The gateway before this one left no empty room: it is marched again, and then kept."""
    path = tmp_path / "heatveil.sqlite"
    _old(path)
    engine = _engine(path)
    with engine.begin() as connection:
        migrate_tables(connection, 4, 5)
    engine.dispose()
    store = Store(path, SITE)
    assert store.load_empty_room() is None
    assert [charge.device for charge in store.list_charges()] == ["", "", "", "node-0"]
    for at_s, state in ((1.0, b"first"), (2.0, b"second")):
        store.keep_map(_name(path, 2), "{}", empty_state=(at_s, state))
    store.keep_map(_name(path, 2), "{}")
    store.close()

    again = Store(path, SITE)
    assert again.load_empty_room() == b"second"
    again.close()


@pytest.mark.parametrize("old", [SEVEN, NINE], ids=["schema7", "schema9"])
def test_a_later_store_keeps_every_row_and_has_the_tables_of_today(
    tmp_path: Path, old: Path
) -> None:
    """Its quarantine, letters, filters and empty room, too."""
    path, fresh = tmp_path / "heatveil.sqlite", tmp_path / "fresh.sqlite"
    path.write_bytes(gzip.decompress(old.read_bytes()))
    before = _dump(path)
    Store(path, SITE).close()
    Store(fresh, SITE).close()
    after = _dump(path)
    about, (columns, (was,)) = after.pop("about"), before.pop("about")
    for table in after.keys() - before.keys():
        assert len(after.pop(table)[1]) == (6 if old is NINE else 0)

    assert after == before
    assert about == (columns, [was.replace(was[:2], f"({SCHEMA}")])
    assert _shape(path) == _shape(fresh)


@pytest.mark.parametrize("schema", range(OLDEST, SCHEMA))
def test_a_promise_that_was_ended_earlier_has_ended_for_its_keys(
    place: Place, schema: int
) -> None:
    """As far as clocks tell; a key that nobody knows any more when it answered is one of them."""
    _old(place)
    now_s, engine = time.time(), _engine(place)
    with engine.begin() as connection:
        migrate_tables(connection, OLDEST, schema)
        keys = _list_keys(connection, "newest")
        if schema >= 7:
            ended = "INSERT INTO promises VALUES (:id, '{}', '1/1', 0, :at_s)"
            dates = [{"id": 1, "at_s": now_s}, {"id": 2, "at_s": 0.0}]
            connection.execute(text(ended), dates)
            heard = "INSERT INTO newest VALUES ('node-0', :key, 1, 1, 0, :at_s)"
            more = [{"key": b"late", "at_s": None}, {"key": b"next", "at_s": now_s + 1}]
            connection.execute(text(heard), more)
    engine.dispose()
    store = Store(place, SITE)
    with store.engine.connect() as connection:
        found = _list_keys(connection, "ended_keys")
    store.close()

    assert len(keys) == 4
    assert found == (sorted([*keys, ("node-0", b"late")]) if schema >= 7 else [])


def _list_keys(connection: Any, table: str) -> list[tuple[str, bytes]]:
    rows = connection.execute(text(f"SELECT device, key_id FROM {table}"))
    return sorted((device, bytes(key_id)) for device, key_id in rows)


def test_a_disk_without_room_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy, the tables anew, and their log: half of it would leave a full disk."""
    path = tmp_path / "heatveil.sqlite"
    _old(path)
    size = path.stat().st_size
    monkeypatch.setattr(sqlite, "measure_free_bytes", lambda _path: 4 * size - 1)
    with pytest.raises(OperatorFault, match="Make room"):
        Store(path, SITE)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]

    monkeypatch.setattr(sqlite, "measure_free_bytes", lambda _path: 4 * size)
    Store(path, SITE).close()
    assert (tmp_path / "heatveil.sqlite.schema4").exists()


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
    whole = module.make_engine

    def breaking(where: Any) -> Engine:
        engine = whole(where)
        _broken_at(number, engine, said)
        return engine

    with monkeypatch.context() as patch:
        patch.setattr(module, "make_engine", breaking)
        try:
            Store(place, SITE).close()
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
    Store(place, SITE).close()

    assert number > 30  # the first of them that came after the last commit
    assert _dump(place) == after
    assert after["about"][1][0].startswith(f"({SCHEMA}, '{SITE}'")
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
    with pytest.raises(OperatorFault, match="belongs to site testsite, not to attic"):
        Store(path, "attic")
    assert sqlite3.connect(path).execute("SELECT schema FROM about").fetchone() == (4,)


# A gateway of today goes on with it where it was.


@pytest.fixture(params=[schema_4.KEPT, SEVEN], ids=["schema4", "schema7"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return the file of an old store."""
    path = tmp_path / "heatveil.sqlite"
    path.write_bytes(gzip.decompress(request.param.read_bytes()))
    return path


def test_the_next_gateway_goes_on_with_it(path: Path, home: Any) -> None:
    """The frames of its time are known again, its open round is the same, the next is the next."""
    store = Store(path, SITE)
    device, frame = store.list_answers(_name(path, 3))[0]
    again = authenticate(Message(wire.topic(SITE, device, "data"), frame, (1, 1)), home.devices)
    assert isinstance(again, Arrival)
    known = store.read_known([again.key], [(again.report.round, device)])
    verdict = judge_reports([again], None, store.read_newest_numbers(), known, time.monotonic())
    assert [one.taken for one in verdict.again] == [True]
    assert (verdict.letters, verdict.alarms, verdict.extra) == ([], [], [])

    planned = home.round(3)
    asked = steps.sign_round(planned, store.find_number(wire.name_of(planned)), home.devices)
    assert asked.name == _name(path, 3)  # by the same name, so it is not charged again
    assert store.open_round(asked, Fraction(1, 5)) == ""
    assert len(store.list_charges()) == 4
    assert store.close_round(asked.name, [1, 2, None, None], 2)
    planned = home.round(4)
    more = steps.sign_round(planned, store.find_number(wire.name_of(planned)), home.devices)
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
    with closing(sqlite3.connect(sqlite.make_read_only_address(path), uri=True)) as new:
        assert list(new.iterdump()) != before
    (left,) = path.parent.glob("heatveil.sqlite.schema*")
    with closing(sqlite3.connect(left)) as copy:
        assert list(copy.iterdump()) == before


def _name(path: Path, number: int) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        wanted = "SELECT name FROM rounds WHERE number = ?"
        return bytes(connection.execute(wanted, [number]).fetchone()[0])
