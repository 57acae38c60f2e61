"""A store that is taken away under whoever writes to it: nobody is told of what went there."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from gateway.faults import OperatorFault, ReplacedFault
from gateway.service.intake.outcomes import Kept, Letter
from gateway.store.store import Store


def kept(seq: int) -> Kept:
    return Kept("north", 1, seq, seq.to_bytes(4, "big"), b"frame %d" % seq, b"key1")


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
    store.identity.on_loss(lambda: lost.append(1))
    store.keep([kept(1)])
    way(path)
    for write in (lambda: store.keep([kept(2)]), lambda: store.post([Letter(0, "a", b"", True)])):
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
    assert store.checkpoint()
    store.keep([kept(1)])
    copied_over(tmp_path / "heatveil.sqlite")
    with closing(store), pytest.raises(ReplacedFault):
        store.keep([kept(2)])


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
        store.keep([kept(2)])

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
            store.keep([kept(10 + seq)])
        other.close()
        assert store.write_back()
        store.backup(tmp_path / f"copy-{seq}.sqlite")
        store.keep([kept(seq)])
    os.link(path, tmp_path / "second name")
    store.keep([kept(9)])
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
            f"host=127.0.0.1 port={cluster.port} user=keeper dbname=replaced",
            place.password_file,
        )
        store = Store(place, "lab")
        store.keep([kept(1)])
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
            store.keep([kept(2)])
        store.keep([kept(3)])

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
            store.keep([kept(1)])

    assert earlier.read_text() == "of another time"
