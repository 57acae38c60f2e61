"""What the store's tests share: a place for a store, at SQLite and at PostgreSQL.

The cluster is of the tests' own: in a temporary folder, on a free port, and it is gone afterwards.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest

from gateway.devices.broker.embedded import find_free_port
from gateway.store.places import Database, Place
from gateway.store.store import Store
from tests import processes

PASSWORD = "a word that no log may hold"
SCHEMAS = count(1)
collect_ignore = ["old"]  # it speaks with the modules of its own time


@dataclass
class Cluster:
    """A server, its folder, and how to come to it."""

    bin: Path
    folder: Path
    port: int

    def place(self) -> Database:
        """Return an empty database: a schema of its own, which costs less than a database."""
        name = f"t{next(SCHEMAS)}"
        with psycopg.connect(**self.words(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        words = f"host=127.0.0.1 port={self.port} user=keeper dbname=postgres"
        return Database(f"{words} options='-c search_path={name}'", self.folder / "password")

    def words(self) -> dict[str, str]:
        """Return what a connection is made with."""
        where = {"host": "127.0.0.1", "port": str(self.port), "dbname": "postgres"}
        return {**where, "user": "keeper", "password": PASSWORD}

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        log = self.folder / "log"
        listens = f"-p {self.port} -h 127.0.0.1 -k {self.folder}"
        self._run("pg_ctl", "-D", self.folder / "data", "-l", log, "-o", listens, "-w", "start")

    def stop(self, how: str = "fast") -> None:
        """Stop the server: fast, or immediate, which is as good as kill -9."""
        self._run("pg_ctl", "-D", self.folder / "data", "-m", how, "-w", "stop")

    def make(self) -> None:
        """Make the cluster."""
        word = self.folder / "password"
        word.write_text(PASSWORD + "\n")
        if os.getuid() == 0:  # PostgreSQL does not run as root
            shutil.chown(self.folder, "postgres", "postgres")
            shutil.chown(word, "postgres", "postgres")
        settings = ("-A", "scram-sha-256", "--pwfile", word, "-E", "UTF8", "--no-locale")
        self._run("initdb", "-D", self.folder / "data", "-U", "keeper", "--no-sync", *settings)

    def _run(self, program: str, *words: object) -> None:
        as_whom = "postgres" if os.getuid() == 0 else None
        ran = processes.run(
            [str(self.bin / program), *map(str, words)],
            user=as_whom,
            group=as_whom,
            extra_groups=None if as_whom is None else [],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # the server keeps it open, and a pipe would never end
            stderr=subprocess.DEVNULL,
            timeout=60,
        )
        if ran.returncode:
            log = self.folder / "log"
            said = log.read_text()[-2000:] if log.exists() else "nothing"
            raise RuntimeError(f"{program} left with {ran.returncode} and said {said}")


@contextmanager
def running(postgres: str) -> Iterator[Cluster]:
    """Run a cluster for as long as the block lasts; `postgres` is the path of the program."""
    folder = Path(tempfile.mkdtemp(prefix="heatveil-pg-"))
    one = Cluster(Path(postgres).resolve().parent, folder, find_free_port())
    try:
        one.make()
        one.start()
        try:
            yield one
        finally:
            one.stop("immediate")
    finally:
        for _ in range(20):  # its last children may still write
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.1)


@pytest.fixture(scope="session")
def cluster(need: Callable[[str], str]) -> Iterator[Cluster]:
    """Return a server that is not to be stopped, for all tests."""
    with running(need("postgres")) as one:
        yield one


@pytest.fixture
def own_cluster(need: Callable[[str], str]) -> Iterator[Cluster]:
    """Return a server that the test may stop and start."""
    with running(need("postgres")) as one:
        yield one


@pytest.fixture
def database(cluster: Cluster) -> Database:
    """Return an empty place at PostgreSQL."""
    return cluster.place()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return an empty place for a store, of each kind."""
    if request.param == "sqlite":
        return tmp_path / "heatveil.sqlite"
    found: Database = request.getfixturevalue("database")
    return found


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    """Return an empty store, of each kind."""
    store = Store(place, "lab")
    yield store
    store.close()
