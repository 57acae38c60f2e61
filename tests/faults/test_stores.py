"""What a disk does: it is held by somebody else, full for a while, full for good."""

import os
import re
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from harness import FULL, sized, takes_long
from harness.children import ROOT, Child
from harness.stage import SITE, Stage, get, told
from harness.truth import ask, sound
from sqlalchemy import create_engine, insert

from edge.core import wire
from gateway.faults import ForgottenFault, ReplacedFault
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.service.steps import make_last_round_topic
from gateway.settings import config
from gateway.store import sqlite
from gateway.store.schema import SCHEMA
from gateway.store.store import Store
from tests import processes
from tests.gateway.store.old import schema_4
from tests.waiting import eventually

PROGRAM = Path(sys.executable).with_name("heatveil")
Staged = Callable[..., Stage]
SENSORS = sized(200, 2000)
FEW = 200  # where it is about a file and no load
NONE = Fraction(0)
LIMIT_MB = 8.0  # journal_size_limit is a little more


@contextmanager
def held(database: Path, how: str) -> Iterator[sqlite3.Connection]:
    """Hold a store as a backup or a curious person does."""
    with closing(sqlite3.connect(database, isolation_level=None, timeout=20)) as holder:
        holder.execute("BEGIN IMMEDIATE" if how == "writing" else "BEGIN")
        holder.execute("SELECT count(*) FROM reports").fetchall()
        yield holder
        holder.execute("ROLLBACK")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Return what mounts a disk of so many MB; skips where nothing may be mounted."""
    mounted: list[Path] = []

    def mount(megabytes: int) -> Path:
        place = tmp_path / f"disk-{len(mounted)}"
        place.mkdir()
        words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
        if os.getuid() or processes.run(words, capture_output=True).returncode:
            pytest.skip("a small disk is mounted for this test, and only root may: run as root")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        processes.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, leave_kb: int = 0) -> Path:
    """Fill a disk to the last byte, or leave so much; return what fills it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(1024)):
            pass
    if leave_kb:
        os.truncate(filler, max(filler.stat().st_size - 1024 * leave_kb, 0))
    return filler


def begun(site: Stage, *switches: str, **options: Any) -> Child:
    """Start a gateway, and devices that answer for a second; return when the first counts."""
    gateway = site.gateway(*switches)
    site.hurried(**{"pace_s": 1.0, "resend_s": 0, "frees": "puback"} | options)
    assert eventually(lambda: site.stored() > 0)
    return gateway


@pytest.mark.long
def test_database_locked_7_s(stage: Staged) -> None:
    """Whoever holds the file is waited for, and memory stays as it was."""
    site = stage(sensors=SENSORS, readings=1, gather_s=60)
    gateway = begun(site)
    before_mb = gateway.resident_mb()
    with held(site.database, "writing"):
        time.sleep(sized(3.5, 7))
        grown_mb = gateway.resident_mb() - before_mb
        assert site.truth().lost > 0  # it is held indeed
    assert eventually(lambda: len(site.said()) >= SENSORS)
    found = site.settled()
    print(f"{found}; memory grew by {grown_mb:.1f} MB")

    assert found.whole, found
    assert grown_mb < 16
    assert "the store does not answer" in gateway.said()


@takes_long
def test_database_locked_7_s_control(stage: Staged) -> None:
    """Asked once and not again, the store misses what came meanwhile."""
    site = stage(sensors=SENSORS, readings=1, gather_s=60)
    begun(site, "impatient")
    with held(site.database, "writing"):
        assert eventually(lambda: len(site.said()) >= SENSORS)
        time.sleep(5)

    assert site.settled(3).lost > 0


def on_disk(stage: Staged, disk: Path, reserve_mb: int) -> Stage:
    """Put a site on stage whose store is on this disk."""
    site = stage(sensors=SENSORS, database=str(disk / "heatveil.sqlite"), gather_s=60, readings=1)
    site.more = f"[store]\nreserve_mb = {reserve_mb}\n"
    site.write(site.broker.port)
    return site


@pytest.mark.long
def test_disk_full_6_s(stage: Staged, small_disk: Callable[[int], Path]) -> None:
    """Nothing is acknowledged that found no room; when there is room again it all comes."""
    disk = small_disk(sized(4, 12))
    site = on_disk(stage, disk, 0)
    gateway = begun(site)
    filler = fill(disk)
    time.sleep(sized(2.5, 6))
    assert site.truth().lost > 0
    filler.unlink()
    assert eventually(lambda: len(site.said()) >= SENSORS)
    found = site.settled()
    print(f"{found}; {gateway.said().count('the store does not answer')} complaints")

    assert found.whole, found
    assert sound(site.database)
    assert eventually(lambda: site.released() == 1)


@takes_long
def test_disk_full_6_s_control(stage: Staged, small_disk: Callable[[int], Path]) -> None:
    """Asked once and not again, a full disk costs what came meanwhile."""
    disk = small_disk(12)
    site = on_disk(stage, disk, 0)
    begun(site, "impatient")
    filler = fill(disk)
    time.sleep(4)
    filler.unlink()

    assert site.settled(4).lost > 0


def stays_full(stage: Staged, disk: Path, reserve_mb: int) -> tuple[Stage, bool]:
    """Let a disk run low and stay so; return whether the gateway stopped taking, and said so."""
    site = on_disk(stage, disk, reserve_mb)
    site.gateway()
    assert site.asked()
    filler = fill(disk, leave_kb=1500)
    stopped = eventually(lambda: get(site, "/readyz") == 503, sized(6, 10))
    site.hurried(resend_s=1.0)
    time.sleep(3)
    why = str(told(site, "/readyz"))
    print(f"/readyz: {why}; {site.stored()} stored of {len(site.said())}")
    taken = site.stored()
    filler.unlink()
    assert eventually(lambda: site.stored() == SENSORS)
    assert site.truth().whole
    assert sound(site.database)
    return site, stopped and "disk" in why and not taken


@takes_long
def test_disk_stays_full(stage: Staged, small_disk: Callable[[int], Path]) -> None:
    """Taking stops before the last byte, the page says so, devices keep what they have."""
    site, stopped = stays_full(stage, small_disk(8), 3)

    assert stopped
    assert eventually(lambda: get(site, "/readyz") == 200)


@takes_long
def test_disk_stays_full_control(stage: Staged, small_disk: Callable[[int], Path]) -> None:
    """Without a reserve it goes on to the last byte, and says nothing."""
    _, stopped = stays_full(stage, small_disk(8), 0)

    assert not stopped


def taken_away(site: Stage, how: str, *switches: str) -> Child:
    """Delete a store, or put another in its place, between two rounds' answers."""
    gateway = site.gateway(*switches)
    site.hurried(resend_s=1.0, pace_s=2.0)
    assert eventually(lambda: site.freed() > 0)
    if how == "deleted":
        site.database.unlink()
    elif how == "log deleted":
        Path(f"{site.database}-wal").unlink()
    elif how == "written over":
        sqlite.backup_store(site.database, copy := site.database.with_name("copy"))
        with site.database.open("r+b") as out:
            out.write(copy.read_bytes().ljust(site.database.stat().st_size, b"\0"))
    else:
        other = site.database.with_name("another")
        Store(other, SITE).close()
        other.replace(site.database)
    return gateway


@pytest.mark.long
@pytest.mark.parametrize("how", sized(["deleted"], ["deleted", "log deleted", "replaced"]))
def test_store_taken_away_under_a_gateway(stage: Staged, how: str) -> None:
    """It ends, says so and is not started again; what it had receipted is all in its copy."""
    site = stage(sensors=FEW, gather_s=60)
    gateway = taken_away(site, how)
    assert gateway.wait(20) == ReplacedFault.status
    rescued = site.database.with_name(site.database.name + ".rescued")
    kept = {row[0] for row in ask(rescued, "SELECT device FROM reports")}
    print(f"{len(kept)} of {FEW} readings kept, {site.freed()} receipted, then it ended")

    assert 0 < site.freed() <= len(kept) < FEW
    assert "nothing was receipted since" in gateway.said().lower()
    for end in ("", "-wal", "-shm"):
        Path(f"{site.database}{end}").unlink(missing_ok=True)
    rescued.rename(site.database)  # as it was told
    gateway.start()
    assert eventually(lambda: len(site.said()) >= FEW)
    found = site.settled(60)
    assert found.whole, found
    assert found.counted == FEW
    assert site.charges() == (site.opened(), site.opened() * site.price, 0)


@pytest.mark.long
def test_store_written_over_under_a_gateway(stage: Staged) -> None:
    """A copy of no less length, in place: the file's number is the same, its mark is not."""
    site = stage(sensors=FEW, gather_s=60)
    gateway = taken_away(site, "written over")
    assert gateway.wait(20) == ReplacedFault.status

    assert 0 < site.freed() < FEW
    assert "without our mark" in gateway.said()
    assert not site.database.with_name(site.database.name + ".rescued").exists()


@takes_long
def test_store_taken_away_control(stage: Staged) -> None:
    """Not looked at, a file that is gone takes everything, and all is receipted and lost."""
    site = stage(sensors=FEW, gather_s=60)
    gateway = taken_away(site, "deleted", "any_file")

    assert eventually(lambda: site.freed() == FEW)
    assert gateway.alive
    assert site.truth().lost == FEW


def spent(site: Stage) -> Fraction:
    """Return everything that is in the ledger."""
    return sum((Fraction(rho) for (rho,) in ask(site.database, "SELECT rho FROM charges")), NONE)


def put_back(site: Stage, proof: str, *switches: str) -> tuple[Child, int]:
    """Bring a copy back of after round 1, where more were answered; return the last one's number.

    Args:
        proof: "retained": the broker still has the open round. "answered": it has lost that, and
            keeps devices' answers to it.
    """
    gateway, edges = site.gateway(*switches), site.edges()
    assert eventually(lambda: site.released() >= 1)
    copy = site.database.with_name("copy.sqlite")
    sqlite.backup_store(site.database, copy)
    assert eventually(lambda: site.released() >= 2)
    edges.stop()
    assert eventually(lambda: site.opened() > site.released())  # nobody answers it any more
    assert site.asked(site.opened())
    number = site.opened()
    gateway.kill()
    if proof == "answered":
        said = len(site.said())
        edges.start()
        assert eventually(lambda: len(site.said()) > said)
        time.sleep(0.5)  # and the broker has them
        broker = config.load_deployment(site.path).mqtt
        with Pump("forgetting") as pump:
            link = Link(broker, "forgetting", pump).wait_connected()
            for topic in (
                wire.round_topic(SITE, "thermal"),
                make_last_round_topic(SITE, "thermal"),
            ):
                link.publish(topic, b"", retain=True)
            assert link.wait_until_sent(5)
            link.close()
    for end in ("", "-wal", "-shm"):
        Path(f"{site.database}{end}").unlink(missing_ok=True)
    copy.rename(site.database)
    return gateway.start(), number


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("proof", ["retained", "answered"])
def test_older_store_put_back(stage: Staged, proof: str) -> None:
    """Its gateway ends, over every start, until what was lost is charged; then it goes on."""
    site = stage(sensors=8, gather_s=20)
    gateway, number = put_back(site, proof)
    words = "retains round" if proof == "retained" else "has answered round"
    accepted = 1
    while accepted < number:  # answers of an earlier round may come first
        assert gateway.wait(60) == gateway.start().wait(60) == ForgottenFault.status
        named = int(re.findall(rf"{words} (\d+)", gateway.said())[-1])
        assert accepted < named <= number
        accept = [PROGRAM, "ledger", "--config", site.path, "--accept", str(named)]
        ran = processes.run(accept, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        accepted = named
        assert spent(site) == accepted * site.price
        gateway.start()
    if proof == "retained":
        site.edges()
    # What is asked first has been answered: it is given up after four times of `gather_s`. What is
    # asked next is charged before it is released.
    assert eventually(
        lambda: site.released() > 1 and spent(site) >= (number + 1) * site.price, 300
    )


@takes_long
@pytest.mark.parametrize("proof", ["retained", "answered"])
def test_older_store_put_back_control(stage: Staged, proof: str) -> None:
    """Not held against what proves more, the ledger says less than was spent."""
    site = stage(sensors=8, gather_s=60)
    gateway, number = put_back(site, proof, "believing")
    time.sleep(3)

    assert gateway.alive
    assert spent(site) < number * site.price


def read_slowly(site: Stage, *switches: str) -> tuple[float, float]:
    """Let somebody read for long while readings come; return the WAL's MB then, and after."""
    wal = site.database.with_name(site.database.name + "-wal")
    begun(site, "quick_chores", *switches)
    began_s = time.monotonic()
    with held(site.database, "reading"):
        eventually(lambda: site.released() >= sized(6, 12), sized(10, 20))
        time.sleep(max(sized(3, 12) - (time.monotonic() - began_s), 0))
        largest = wal.stat().st_size / 1e6
    after = [largest]
    eventually(lambda: after.append(wal.stat().st_size / 1e6) or after[-1] < 0.1, sized(15, 70))
    print(f"WAL {largest:.2f} MB while it was read, {after[-1]:.2f} MB afterwards")
    return largest, after[-1]


@takes_long
def test_reader_holds_the_database_12_s(stage: Staged) -> None:
    """The log grows while somebody reads, and is taken back when he is gone."""
    site = stage(sensors=SENSORS, readings=sized(8, 14))
    largest, after = read_slowly(site)

    assert after < 0.1 < largest
    assert ask(site.database, "SELECT count(*) FROM reports")[0][0] == site.stored()


@takes_long
def test_reader_holds_the_database_12_s_control(stage: Staged) -> None:
    """Never truncated, the log stays as large as it was, or as SQLite's own limit has it."""
    largest, after = read_slowly(stage(sensors=SENSORS, readings=sized(8, 14)), "no_checkpoint")

    assert after > min(0.9 * largest, LIMIT_MB)


# kill -9 in the middle of a migration: the old store is there, whole.

# Opens a store, and dies at the n-th statement of the migration.
DIES = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import Engine, event
from gateway.store import migrations, opening, sqlite

left = int(sys.argv[2])
if sys.argv[3] == "bare":
    begun = sqlite.make_engine
    def bare(place):
        engine = begun(place)
        for listener in list(engine.dispatch.begin):
            event.remove(engine, "begin", listener)
        @event.listens_for(engine, "connect")
        def _as_python_leaves_it(connection, record):
            connection.isolation_level = ""
        return engine
    opening.sqlite.make_engine = bare

def counting(connection, found, wanted, real=migrations.migrate_tables):
    @event.listens_for(connection, "before_cursor_execute")
    def _count(*_):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    real(connection, found, wanted)

opening.migrate_tables = counting
opening.open_store(Path(sys.argv[1]), "lab")
"""
KEPT = ("lab", "{}", "3/7")


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

    assert (9 if FULL else 0) < kills < 60  # with no statement left to die at it ends well
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
