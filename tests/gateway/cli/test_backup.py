"""A site's data by command: copied, brought back, and deleted."""

import io
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from edge.host import post
from gateway.faults import OperatorFault
from gateway.service import homeassistant
from gateway.service.intake.outcomes import CountedReport
from gateway.service.mqtt.access import make_gateway_session
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from gateway.store import sqlite
from gateway.store.opening import lock_store
from gateway.store.places import find_place
from gateway.store.store import Store
from tests import sites
from tests.waiting import find_kept

# A backup is the store as it was at one moment, whole, and never in the place of another file.

KEY = b"key1"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a deployment file, without a store yet."""
    path = tmp_path / "site.toml"
    path.write_text(sites.small("lab", 1))
    return path


def _batch(seq: int) -> list[CountedReport]:
    name = seq.to_bytes(4, "big")
    return [CountedReport(f"node-{n}", 1, seq, name, b"frame %d" % seq, KEY) for n in range(50)]


def test_a_backup_under_writes_is_of_one_moment(
    site: Path, tmp_path: Path, heatveil: Callable[..., Any]
) -> None:
    """Whole batches only, all that were committed before it began, and a sound file."""
    store, over = Store(tmp_path / "heatveil.sqlite", "lab"), threading.Event()
    written = [0]

    def write() -> None:
        while not over.is_set():
            store.keep_batch(_batch(written[0] + 1))
            written[0] += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for n in range(5):
            out = tmp_path / f"copy{n}.sqlite"
            before = written[0]
            said = heatveil("backup", "--config", site, "--out", out)
            after = written[0] + 1
            assert (said.status, said.err) == (0, "")
            assert "checked" in said.out
            assert out.stat().st_mode & 0o077 == 0, "it holds who answered when"
            with closing(sqlite3.connect(out)) as copy:
                assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                rows = copy.execute("SELECT count(*) FROM reports").fetchone()[0]
                last = copy.execute("SELECT min(seq), max(seq) FROM newest").fetchone()
            assert rows % 50 == 0
            assert before <= rows // 50 <= after
            if rows:
                assert last == (rows // 50, rows // 50)
    finally:
        over.set()
        thread.join()
        store.close()
    found = Store(tmp_path / "copy4.sqlite", "lab")
    found.keep_batch(_batch(10**6))
    found.close()
    assert written[0] > 5


def test_a_backup_takes_the_place_of_nothing(
    site: Path, tmp_path: Path, heatveil: Callable[..., Any]
) -> None:
    """What is there may be the only good copy."""
    Store(tmp_path / "heatveil.sqlite", "lab").close()
    out = tmp_path / "copy.sqlite"
    out.write_text("precious")
    said = heatveil("backup", "--config", site, "--out", out)

    assert "is there already" in said.refusal
    assert out.read_text() == "precious"


def test_a_backup_that_fails_leaves_nothing(
    site: Path, tmp_path: Path, heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a copy would be found on the day that it is needed."""
    out = tmp_path / "copy.sqlite"
    said = heatveil("backup", "--config", site, "--out", out)
    assert "no store" in said.refusal

    Store(tmp_path / "heatveil.sqlite", "lab").close()
    before = sorted(one.name for one in tmp_path.iterdir())
    counts = iter(({"reports": 3}, {"reports": 2}))
    monkeypatch.setattr(sqlite, "_count_rows", lambda _connection: next(counts))
    said = heatveil("backup", "--config", site, "--out", out)
    assert "not whole" in said.refusal
    assert sorted(one.name for one in tmp_path.iterdir()) == before

    said = heatveil("backup", "--config", site, "--out", tmp_path / "nowhere" / "copy.sqlite")
    assert "cannot be copied" in said.refusal


def test_a_gateway_that_starts_while_its_store_is_copied_spoils_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody had it open, so it was read without a lock: what came meanwhile may be in by half."""
    path, out = tmp_path / "heatveil.sqlite", tmp_path / "copy.sqlite"
    Store(path, "lab").close()
    real, started = sqlite._count_rows, list[Store]()

    def starting(connection: sqlite3.Connection) -> dict[str, int]:
        if not started:
            started.append(Store(path, "lab"))
            started[0].keep_batch(_batch(1))
        return real(connection)

    monkeypatch.setattr(sqlite, "_count_rows", starting)
    with pytest.raises(OperatorFault, match="a gateway was started meanwhile"):
        sqlite.backup_store(path, out)
    assert not out.exists()
    sqlite.backup_store(path, out)  # while it runs
    started[0].close()
    with closing(sqlite3.connect(out)) as copy:
        assert copy.execute("SELECT count(*) FROM reports").fetchone() == (50,)


# A site's data deleted: what goes, what stays, and that nothing more is asked.

Heatveil = Callable[..., Any]


@pytest.fixture
def reachable(mosquitto: Mqtt, monkeypatch: pytest.MonkeyPatch) -> Mqtt:
    """Return the broker at which the site is from now on."""
    monkeypatch.setenv("HEATVEIL_MQTT__PORT", str(mosquitto.port))
    return mosquitto


def rows(kept: Any, table: str) -> list[Any]:
    with closing(sqlite3.connect(kept.path.parent / "heatveil.sqlite")) as store:
        return store.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


def test_what_was_gathered_goes_and_what_was_charged_stays(
    kept: Any, heatveil: Heatveil, reachable: Mqtt
) -> None:
    """To the byte: what people are told is deleted must not stand in free pages of the file."""
    before = heatveil("ledger", "--config", kept.path, "--json").out
    database = kept.path.parent / "heatveil.sqlite"
    assert rows(kept, "maps")
    asked = [row[4] for row in rows(kept, "rounds")]
    assert b'"mass"' in database.read_bytes()
    assert all(one in database.read_bytes() for one in asked)
    kept.path.with_name("node-1.board.json").touch()
    exported = kept.path.with_name("day.csv")
    assert heatveil("export", "--config", kept.path, "--out", exported).status == 0
    said = heatveil("delete", "--config", kept.path, "--yes")

    assert f"\nExports here: {exported}\n" in said.out
    assert (said.status, "1 releases" in said.out, "1 maps" in said.out) == (0, True, True)
    assert "node-1.board.json" in said.out
    assert not any(rows(kept, table) for table in ("reports", "releases", "maps", "refused"))
    assert b'"mass"' not in database.read_bytes()
    # Squares that a Round asks for, since there are many people, are a map, too.
    assert not any(one in database.read_bytes() for one in asked)
    assert heatveil("ledger", "--config", kept.path, "--json").out == before
    assert heatveil("show", "--config", kept.path).status == 1


def test_nothing_is_asked_on_what_was_deleted_so_that_no_budget_comes_back(
    kept: Any, heatveil: Heatveil, reachable: Mqtt
) -> None:
    """Without releases a gateway would begin with its first round; nor is the promise ended."""
    assert heatveil("delete", "--config", kept.path, "--yes").status == 0
    assert "has been deleted" in heatveil("check", "--config", kept.path).out
    # 4: systemd starts no gateway again, which would be in vain every ten seconds.
    assert heatveil("ledger", "--config", kept.path, "--end-promise", "--yes").status == 4
    with (
        closing(Store.open_for(config.load_deployment(kept.path))) as store,
        pytest.raises(OperatorFault, match="has been deleted"),
    ):
        store.check_promise("any promise", kept.rho, {})


def test_what_an_earlier_version_left_goes_when_it_is_deleted_again(
    kept: Any, heatveil: Heatveil, reachable: Mqtt
) -> None:
    """That one kept what rounds asked: the squares in which there are many people."""
    assert heatveil("delete", "--config", kept.path, "--yes").status == 0
    database = kept.path.parent / "heatveil.sqlite"
    with closing(sqlite3.connect(database)) as store, store:
        store.execute("UPDATE rounds SET message = x'0102'")
    before = rows(kept, "rounds")
    said = heatveil("delete", "--config", kept.path, "--yes")

    assert (said.status, "was deleted before" in said.out) == (0, True)
    assert [row[4] for row in before] == [b"\1\2"] * len(before) != []
    assert rows(kept, "rounds") == [(*row[:4], b"", *row[5:]) for row in before]


def retained(broker: Mqtt, topics: list[str]) -> set[str]:
    """Return at which of these topics the broker retains something."""
    return {one.topic for one in find_kept(broker, *topics)}


def test_the_broker_forgets_the_map_what_was_announced_and_what_waits(
    kept: Any, heatveil: Heatveil, reachable: Mqtt
) -> None:
    """A map that stays retained there is read by whoever subscribes next; the round stays."""
    deployment = config.load_deployment(kept.path)
    last = post.map_topic("seen", "thermal")
    asked, data = "heatveil/1/seen/round/thermal", "heatveil/1/seen/node-1/data"
    note = homeassistant.locate_topics_note(deployment)
    note.write_text('["elsewhere/device/heatveil_seen/config"]')
    topics = [last, *homeassistant.list_retained_topics(deployment)]
    with Pump("gateway") as pump:
        session = make_gateway_session("seen")
        link = Link(reachable, session, pump, subscribe=[data]).wait_connected()
        for topic in (*topics, asked):
            link.publish(topic, b"{}", retain=True)
        assert link.wait_until_sent(5)
        link.close()
        device = Link(reachable, "node-1", pump, lasting=False).wait_connected()
        device.publish(data, b"a report that waits for the gateway")
        assert device.wait_until_sent(5)
        device.close()
    assert retained(reachable, [*topics, asked]) == {*topics, asked}
    said = heatveil("delete", "--config", kept.path, "--yes")

    assert (said.status, said.err) == (0, "")
    assert retained(reachable, [*topics, asked]) == {asked}
    assert not note.exists()
    assert find_kept(reachable, data, session=session) == []
    with Pump("again") as pump:
        link = Link(reachable, "again", pump, lasting=False).wait_connected()
        link.publish(asked, b"", retain=True)
        link.close()


def test_what_waits_for_a_gateway_on_another_database_is_left(
    kept: Any, heatveil: Heatveil, mosquitto: Mqtt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its round is retained there, and its session is not to be ended."""
    monkeypatch.setenv("HEATVEIL_MQTT__PORT", str(mosquitto.port))
    last, asked = post.map_topic("seen", "thermal"), "heatveil/1/seen/round/thermal"
    with Pump("other") as pump:
        link = Link(mosquitto, "other", pump, lasting=False).wait_connected()
        link.publish(last, b"{}", retain=True)
        link.publish(asked, b"a round of another database, and a MAC", retain=True)
        assert link.wait_until_sent(5)
        said = heatveil("delete", "--config", kept.path, "--yes")
        left = retained(mosquitto, [last, asked])
        for topic in (last, asked):
            link.publish(topic, b"", retain=True)
        assert link.wait_until_sent(5)
        link.close()

    assert (said.status, rows(kept, "maps")) == (1, [])
    assert "not deleted" in said.err
    assert left == {last, asked}


def test_where_no_broker_answers_the_same_command_clears_it_later(
    kept: Any, heatveil: Heatveil, mosquitto: Mqtt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is emptied all the same, and it is not said that all is done."""
    first = heatveil("delete", "--config", kept.path, "--yes")
    assert (first.status, rows(kept, "maps")) == (1, [])
    assert "heatveil delete again" in first.err
    monkeypatch.setenv("HEATVEIL_MQTT__PORT", str(mosquitto.port))
    again = heatveil("delete", "--config", kept.path, "--yes")

    assert (again.status, again.err) == (0, "")
    assert "was deleted before" in again.out


def test_what_another_program_still_reads_is_not_said_to_be_deleted(
    kept: Any, heatveil: Heatveil, reachable: Mqtt
) -> None:
    """Its bytes stand in the file until nobody reads the old ones; then they go."""
    database = kept.path.parent / "heatveil.sqlite"
    with closing(sqlite3.connect(database, isolation_level=None)) as reading:
        reading.execute("BEGIN")
        reading.execute("SELECT body FROM maps").fetchall()
        said = heatveil("delete", "--config", kept.path, "--yes")
        stood = b'"mass"' in database.read_bytes()

    assert (said.status, "Deleted." in said.out, stood) == (1, False, True)
    assert "heatveil delete again" in said.err
    again = heatveil("delete", "--config", kept.path, "--yes")
    assert (again.status, "Deleted." in again.out) == (0, True)
    assert b'"mass"' not in database.read_bytes()


def test_when_a_device_was_there_goes_too(kept: Any, heatveil: Heatveil, reachable: Mqtt) -> None:
    """Its last hour, its alarms and why it was shut out; what it has used up stays."""
    database = kept.path.parent / "heatveil.sqlite"
    with closing(sqlite3.connect(database)) as store, store:
        store.execute("INSERT INTO newest VALUES ('node-3', x'01', 2, 3, 4, 1e9)")
        store.execute("INSERT INTO alarms VALUES ('node-3', x'01', 'a double', 1, 1e9)")
        store.execute("INSERT INTO quarantine VALUES ('node-3', 'it floods', 1e9)")
        store.execute("INSERT INTO jumped VALUES ('node-3')")
    said = heatveil("delete", "--config", kept.path, "--yes")

    assert (said.status, "1 alarms" in said.out) == (0, True)
    assert rows(kept, "newest") == [("node-3", b"\x01", 2, 3, 4, None)]
    assert rows(kept, "alarms") + rows(kept, "quarantine") + rows(kept, "jumped") == []


@pytest.mark.parametrize(
    ("answer", "why"), [("n\n", "nothing was deleted"), ("", "nobody answered")]
)
def test_who_says_no_deletes_nothing(
    kept: Any, heatveil: Heatveil, monkeypatch: pytest.MonkeyPatch, answer: str, why: str
) -> None:
    """It is said first what would go."""
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    said = heatveil("delete", "--config", kept.path)

    assert (said.status, why in said.err) == (1, True)
    assert "go for good" in said.out
    assert rows(kept, "maps")


def test_where_a_gateway_runs_nobody_is_asked(kept: Any, heatveil: Heatveil) -> None:
    """An answer that cannot be followed is not asked for."""
    with lock_store(find_place(config.load_deployment(kept.path))):
        said = heatveil("delete", "--config", kept.path)

    assert (said.status, said.out) == (1, "")
    assert "heatveil serve, or another delete, uses the database" in said.err
