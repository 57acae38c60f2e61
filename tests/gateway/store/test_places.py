"""A deployment says where its store is, and everything that opens one goes there."""

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gateway.faults import OperatorFault
from gateway.settings import config
from gateway.store.places import Database, place_of
from gateway.store.store import Store
from tests import processes

SITE = """
[site]
name = "lab"
[room]
cells = 10
[heat]
spread_m2 = 0.01
[sensors]
count = 4
[privacy]
epsilon = "8/1"
delta = "1/100000"
"""


def _deployment(folder: Path, more: str = "") -> Any:
    path = folder / "site.toml"
    path.write_text(SITE + more)
    return config.load(path)


def test_without_a_word_it_is_the_file_beside_the_deployment(tmp_path: Path) -> None:
    """Relative paths count from the deployment file."""
    deployment = _deployment(tmp_path)
    assert place_of(deployment) == tmp_path / "heatveil.sqlite"
    Store.of(deployment).close()
    assert (tmp_path / "heatveil.sqlite").exists()


def test_with_a_word_it_is_postgresql(tmp_path: Path, database: Database) -> None:
    """The password file too counts from there, and a backup is not ours to make."""
    assert database.password_file is not None
    (tmp_path / "word").write_text(database.password_file.read_text())
    more = f'[store]\npostgresql = "{database.words}"\npassword_file = "word"\n'
    deployment = _deployment(tmp_path, more)
    store = Store.of(deployment)

    assert place_of(deployment) == Database(database.words, tmp_path / "word")
    assert store.engine.dialect.name == "postgresql"
    with pytest.raises(OperatorFault, match="Run pg_dump"):
        store.backup(tmp_path / "copy")
    store.close()
    assert not (tmp_path / "heatveil.sqlite").exists()


def test_two_that_make_a_store_at_once_make_one(database: Database) -> None:
    """Workers start together; the second finds the tables of the first."""
    faults: list[BaseException] = []

    def make() -> None:
        try:
            Store(database, "lab").close()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


@pytest.mark.long
def test_without_psycopg_it_is_said_what_to_install(tmp_path: Path) -> None:
    """PostgreSQL is for those who ask for it, and nobody else has to install its driver."""
    program = (
        "import sys; sys.modules['psycopg'] = None; "
        "from gateway.store.store import Store; from gateway.store.places import Database\n"
        "try: Store(Database('host=127.0.0.1'), 'lab')\n"
        "except Exception as fault: print(type(fault).__name__, fault)"
    )
    ran = processes.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.startswith("OperatorFault"), ran.stderr
    assert "heatveil[postgres]" in ran.stdout
