"""An error at every step of every transaction: nothing half is left, and the next try is whole."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event, select
from sqlalchemy.exc import OperationalError

from edge.core import wire
from gateway.faults import OperatorFault, ReplacedFault
from gateway.service.intake.outcomes import (
    Alarm,
    AskedRound,
    CountedReport,
    DeadLetter,
    HeardMessage,
    Letter,
    SecondAnswer,
)
from gateway.service.intake.writer import Intake
from gateway.service.ledger import Charge
from gateway.service.mqtt.connection import Message
from gateway.service.rounds import OpenRound
from gateway.store.schema import METADATA
from gateway.store.store import Store
from tests.waiting import eventually

SITE = "testsite"
KEY, NAME, RHO = b"key1", b"nam1", Fraction(1, 7)
LETTER = Letter(0, "heatveil/1/lab/map/thermal", b"{}", True)
TIMES = {"at_s", "taken_s", "opened_s", "closed_s", "since_s", "last_s"}
METHODS = ["keep", "open_round", "open_unpaid", "close_round", "close_paid", "keep_map", "post"]


def _rows(store: Store) -> dict[str, list[Any]]:
    """Return all that a store holds, but for when it came."""
    found = {}
    with store.engine.connect() as connection:
        for name, table in METADATA.tables.items():
            columns = [one for one in table.columns if one.name not in TIMES | {"id"}]
            found[name] = sorted(map(repr, connection.execute(select(*columns))))
    return found


def _method(store: Store, name: str, home: Any) -> Callable[[], object]:
    """Return one transaction of a store, and bring the store to where it may happen."""
    promise = home.round(1).guarantee

    def asked(number: int) -> AskedRound:
        name = b"nam%d" % number
        return AskedRound(
            name, name, home.round(number)._replace(guarantee=promise), b"message", RHO
        )

    def keep() -> None:
        store.keep_batch(
            [CountedReport(f"node-{n}", 1, 2, b"nam2", b"frame %d" % n, KEY) for n in range(3)],
            [DeadLetter("a/b", "why", b"bytes", "late"), DeadLetter("c/d", "why", b"bytes")],
            [SecondAnswer(NAME, Charge(RHO, "node-0"), b"again")],
            [HeardMessage("node-3", 1, 2, NAME, b"late", KEY)],
            [Alarm("node-0", KEY, "set back")],
        )

    store.open_round(asked(1), 4 * RHO, paid=name != "close_paid")
    store.keep_batch([CountedReport("node-0", 1, 1, NAME, b"frame", KEY)])
    store.add_letters([Letter(0, "old", b"old", False), LETTER])
    words: dict[str, Any] = {"letters": [LETTER, LETTER._replace(topic="else", retain=False)]}
    return {
        "keep": keep,
        "open_round": lambda: store.open_round(asked(2), 3 * RHO),
        "open_unpaid": lambda: store.open_round(asked(2), 3 * RHO, paid=False),
        "close_round": lambda: store.close_round(NAME, [1, None], 1, **words),
        "close_paid": lambda: store.close_round(NAME, [1], 1, charge=Charge(RHO), **words),
        "keep_map": lambda: store.keep_map(NAME, "{}", **words),
        "post": lambda: store.add_letters([LETTER._replace(payload=b"newer")]),
    }[name]


class _Breaks:
    """Lets the n-th step of an engine fail; a commit is a step."""

    def __init__(self, store: Store) -> None:
        self.steps, self.at = 0, 0
        event.listen(store.engine, "before_cursor_execute", lambda *_: self._step())
        event.listen(store.engine, "commit", lambda _connection: self._step())

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            raise OSError("no")


@pytest.mark.long
@pytest.mark.parametrize("name", METHODS)
def test_a_failure_at_any_step_leaves_nothing_half(store: Store, home: Any, name: str) -> None:
    """What was not committed is not there at all, so that it may simply be tried again."""
    method, breaks = _method(store, name, home), _Breaks(store)
    before = _rows(store)
    at, failed = 0, 0
    while True:
        at += 1
        breaks.steps, breaks.at = 0, at
        try:
            method()
        except OSError:
            failed += 1
        else:
            break
        breaks.at = 0
        assert _rows(store) == before, f"step {at} of {name}"
    breaks.at = 0
    after = _rows(store)

    assert failed >= 3  # begin, or a statement, and the commit
    assert after != before
    if name in ("keep", "open_round", "close_paid"):
        assert len(after["charges"]) == len(before["charges"]) + 1


@pytest.mark.parametrize("name", ["open_round", "open_unpaid", "close_round", "close_paid"])
def test_a_second_time_changes_nothing(store: Store, home: Any, name: str) -> None:
    """A commit whose answer was lost is tried again: one charge, one release, one letter."""
    method = _method(store, name, home)
    first = method()
    after = _rows(store)

    assert first in ("", True)
    assert method() in ("", False)
    assert _rows(store) == after


def test_a_round_that_is_paid_when_it_closes_holds_its_price_back(store: Store, home: Any) -> None:
    """Else two open rounds could each be promised the same last of the budget."""
    plan = home.round(1)

    def asked(number: int) -> AskedRound:
        name = b"nam%d" % number
        return AskedRound(name, name, plan._replace(number=number), b"message", RHO)

    assert store.open_round(asked(1), 2 * RHO, paid=False) == ""
    assert store.list_charges() == ()
    assert store.open_round(asked(2), 2 * RHO, paid=False) == ""
    assert "round 3 asks" in store.open_round(asked(3), 2 * RHO)
    assert store.close_round(b"nam1", [1], 1, charge=Charge(RHO), outcome="late")
    assert "round 3 asks" in store.open_round(asked(3), 2 * RHO)
    assert store.list_charges() == (Charge(RHO),)
    assert store.read_release(b"nam1") == ([1], 1)


def test_the_promise_of_a_round_paid_later_binds_at_once(store: Store, home: Any) -> None:
    """Its devices have been asked under it."""
    store.open_round(AskedRound(NAME, NAME, home.round(1), b"", RHO), 2 * RHO, paid=False)
    with pytest.raises(OperatorFault, match="was promised"):
        store.open_round(AskedRound(b"nam2", b"nam2", home.round(2), b"", RHO), 3 * RHO)


@pytest.mark.long
def test_a_commit_whose_answer_was_lost_is_not_a_loss(
    store: Store, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is tried again and is known by then: receipts, and nobody's dead letter."""
    plan, bearer, keep, lost = home.round(), Bearer(), store.keep_batch, [0]

    def committed(kept: Any, *rest: Any) -> None:
        keep(kept, *rest)
        if kept and not lost[0]:
            lost[0] = len(kept)
            raise OperationalError("COMMIT", None, OSError("the server is gone"))

    monkeypatch.setattr(store, "keep_batch", committed)
    intake = Intake(store, home.devices, lambda *_: None, lambda _alarms: None)
    try:
        name = wire.name_of(plan)
        places = {one: device.place for one, device in home.devices.by_name.items()}
        intake.open_round(OpenRound(plan, name, time.monotonic() + 60, places))
        for packet, device in enumerate(places):
            topic = wire.topic(SITE, device, "data")
            intake.take_message(bearer, Message(topic, home.answer(device, plan), (1, packet)))
        bearer.wait(len(places))
        closed = intake.close_round()
    finally:
        intake.stop()

    assert lost[0]
    assert bearer.receipts == len(places)
    assert closed.reports.keys() == places.keys()
    assert sorted(device for device, _ in store.list_answers(name)) == sorted(places)
    assert store.list_refused() == []


class Bearer:
    """Stands for the link: counts what is receipted and let go of."""

    def __init__(self) -> None:
        self.receipts, self.acked = 0, 0

    def acknowledge_batch(self, receipts: Any, messages: Any) -> None:
        self.receipts += len(list(receipts))
        self.acked += len(list(messages))

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        self.receipts += 1

    def wait(self, count: int) -> None:
        assert eventually(lambda: self.acked >= count), (self.receipts, self.acked)


# A store that is taken away under whoever writes to it: nobody is told of what went there.


def kept(seq: int) -> CountedReport:
    return CountedReport("north", 1, seq, seq.to_bytes(4, "big"), b"frame %d" % seq, b"key1")


def deleted(path: Path) -> None:
    path.unlink()


def renamed_over(path: Path) -> None:
    """As a restore does that is careful not to leave half a file."""
    other = path.with_name("other.sqlite")
    Store(other, "lab").close()
    other.replace(path)


def log_deleted(path: Path) -> None:
    """As somebody does who tidies up."""
    path.with_name(path.name + "-wal").unlink()


def index_deleted(path: Path) -> None:
    path.with_name(path.name + "-shm").unlink()


def folder_swapped(path: Path) -> None:
    path.parent.rename(path.parent.with_name("away"))
    path.parent.mkdir()
    Store(path, "lab").close()


def linked_elsewhere(path: Path) -> None:
    other = path.with_name("other.sqlite")
    Store(other, "lab").close()
    path.unlink()
    path.symlink_to(other)


def copied_over(path: Path) -> None:
    """`cp backup heatveil.sqlite`: the same file by its number, with less in it."""
    other = path.with_name("other.sqlite")
    Store(other, "lab").close()
    with closing(sqlite3.connect(path)) as file:  # what a long life has written back
        file.execute("CREATE TABLE padding AS SELECT zeroblob(100000) AS hundred_pages")
        file.commit()
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with other.open("rb") as source, path.open("wb") as out:
        shutil.copyfileobj(source, out)


WAYS = (deleted, renamed_over, log_deleted, index_deleted, folder_swapped, linked_elsewhere)


@pytest.mark.parametrize("way", WAYS)
def test_a_commit_to_a_store_that_is_not_there_is_none(
    tmp_path: Path, way: Callable[[Path], None]
) -> None:
    """Whatever writes is told so, ever after, and what was there is saved beside it."""
    (folder := tmp_path / "store").mkdir()
    path, lost = folder / "heatveil.sqlite", list[int]()
    store = Store(path, "lab")
    store.identity.call_on_loss(lambda: lost.append(1))
    store.keep_batch([kept(1)])
    way(path)
    for write in (
        lambda: store.keep_batch([kept(2)]),
        lambda: store.add_letters([Letter(0, "a", b"", True)]),
    ):
        with pytest.raises(ReplacedFault) as fault:
            write()

    assert fault.value.status == 4
    assert lost == [1]
    rescued = path.with_name(path.name + ".rescued")
    assert rescued.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(rescued)) as file:
        assert (1,) in file.execute("SELECT seq FROM reports").fetchall()
    store.close()
    path.unlink(missing_ok=True)
    with pytest.raises(OperatorFault, match=r"Put the copy back: mv ") as refused:
        Store(path, "lab")
    assert refused.value.status == 4
    assert not path.exists()


def test_a_copy_over_the_file_is_seen_by_its_length(tmp_path: Path) -> None:
    """Its number is the same; but a store never becomes shorter."""
    store = Store(tmp_path / "heatveil.sqlite", "lab")
    with store.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE life AS SELECT zeroblob(100000) AS pages")
    assert store.truncate_wal()
    store.keep_batch([kept(1)])
    copied_over(tmp_path / "heatveil.sqlite")
    with closing(store), pytest.raises(ReplacedFault):
        store.keep_batch([kept(2)])


@pytest.mark.parametrize("made_by", ["cp", "heatveil backup"])
def test_a_copy_over_the_file_is_seen_by_its_mark(tmp_path: Path, made_by: str) -> None:
    """However long it is; and nobody is told that what was there is saved."""
    path, copy = tmp_path / "heatveil.sqlite", tmp_path / "copy.sqlite"
    store = Store(path, "lab")
    assert store.write_back()
    if made_by == "cp":
        shutil.copyfile(path, copy)
        assert store.write_back()  # as every five minutes
    else:
        store.backup(copy)
    assert copy.stat().st_size == path.stat().st_size
    with path.open("r+b") as out:
        out.write(copy.read_bytes())
    with closing(store), pytest.raises(ReplacedFault):
        store.keep_batch([kept(2)])

    assert not path.with_name(path.name + ".rescued").exists()


def test_what_comes_and_goes_beside_a_store_is_no_loss(tmp_path: Path) -> None:
    """The control: other readers and writers, copies, an emptied log, a second name."""
    path = tmp_path / "heatveil.sqlite"
    store = Store(path, "lab")
    for seq in range(1, 4):
        other = Store(path, "lab")
        other.quarantine("north", "why")
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN").execute("SELECT count(*) FROM reports").fetchone()
            assert not store.write_back()  # the mark of before stands in the file
            store.keep_batch([kept(10 + seq)])
        other.close()
        assert store.write_back()
        store.backup(tmp_path / f"copy-{seq}.sqlite")
        store.keep_batch([kept(seq)])
    os.link(path, tmp_path / "second name")
    store.keep_batch([kept(9)])
    assert store.identity.fault is None
    store.close()


def test_a_connection_made_later_makes_no_file(tmp_path: Path) -> None:
    """Whoever connects anew would find an empty file, or make one."""
    path = tmp_path / "heatveil.sqlite"
    store = Store(path, "lab")
    path.unlink()
    with store.engine.connect(), pytest.raises(ReplacedFault), store.engine.connect():
        pass
    store.close()


@pytest.mark.long
@pytest.mark.parametrize("made_by", ["schema", "database"])
def test_a_database_that_is_dropped_and_made_anew_is_another(cluster: Any, made_by: str) -> None:
    """Its tables are as they were, and empty."""
    with psycopg.connect(**cluster.words(), autocommit=True) as keeper:
        keeper.execute("DROP DATABASE IF EXISTS replaced WITH (FORCE)")
        keeper.execute("CREATE DATABASE replaced")
        words = {**cluster.words(), "dbname": "replaced"}
        place = cluster.place()
        place = type(place)(
            f"host=127.0.0.1 port={cluster.port} user=keeper dbname=replaced", place.password_file
        )
        store = Store(place, "lab")
        store.keep_batch([kept(1)])
        if made_by == "database":
            keeper.execute("DROP DATABASE replaced WITH (FORCE)")
            keeper.execute("CREATE DATABASE replaced")
        else:
            with psycopg.connect(**words, autocommit=True) as owner:
                owner.execute("DROP SCHEMA public CASCADE")
                owner.execute("CREATE SCHEMA public")
    Store(place, "lab").close()  # a gateway that was started meanwhile

    def again() -> None:
        with suppress(OperationalError):  # the connections of before were cut
            store.keep_batch([kept(2)])
        store.keep_batch([kept(3)])

    with closing(store), pytest.raises(ReplacedFault):
        again()


def test_a_file_into_which_its_log_is_being_written_back_is_still_ours(tmp_path: Path) -> None:
    """SQLite writes the first page first: for a moment it names pages that are not there yet."""
    path = tmp_path / "heatveil.sqlite"
    store = Store(path, "lab")
    store.write_back()
    with path.open("r+b") as file:
        file.seek(28)  # SQLite's file format, section 1.3: how many pages the file has
        pages = file.read(4)
        file.seek(28)
        file.write((int.from_bytes(pages, "big") + 60).to_bytes(4, "big"))
    with (
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as other,
        pytest.raises(sqlite3.DatabaseError, match="malformed"),
    ):
        other.execute("PRAGMA user_version")

    with suppress(ReplacedFault):
        store.identity.check()

    assert store.identity.fault is None
    with path.open("r+b") as file:
        file.seek(28)
        file.write(pages)
    store.close()


def test_what_was_rescued_before_is_not_written_over(tmp_path: Path) -> None:
    """Nobody has looked at it yet, and it may hold the only receipts of its time."""
    path = tmp_path / "heatveil.sqlite"
    with closing(Store(path, "lab")) as store:
        (earlier := tmp_path / "heatveil.sqlite.rescued").write_text("of another time")
        path.unlink()
        with pytest.raises(ReplacedFault, match=r"saved as .*rescued-2"):
            store.keep_batch([kept(1)])

    assert earlier.read_text() == "of another time"
