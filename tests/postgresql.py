"""A PostgreSQL of the tests' own: in a temporary folder, on a free port, and then gone."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg

from gateway.store.places import Database
from tests import processes
from tests.processes import find_free_port

NUMBERS = count(1)


@dataclass
class Cluster:
    """A server, its folder, and how to come to it."""

    bin: Path
    folder: Path
    port: int
    password: str

    def place(self) -> Database:
        """Return an empty place: a schema of its own, which costs less than a database."""
        name = self._new("SCHEMA")
        words = f"host=127.0.0.1 port={self.port} user=keeper dbname=postgres"
        return Database(f"{words} options='-c search_path={name}'", self.folder / "password")

    def database(self) -> Database:
        """Return an empty database, whose locks are no other's; for a cluster without password."""
        name = self._new("DATABASE")
        return Database(f"host=127.0.0.1 port={self.port} user=keeper dbname={name}")

    def _new(self, kind: str) -> str:
        name = f"test{next(NUMBERS)}"
        with psycopg.connect(**self.words(), autocommit=True) as connection:
            connection.execute(f"CREATE {kind} {name}")
        return name

    def words(self) -> dict[str, str]:
        """Return what a connection is made with."""
        where = {"host": "127.0.0.1", "port": str(self.port), "dbname": "postgres"}
        return {**where, "user": "keeper", "password": self.password}

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        log = self.folder / "log"
        listens = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -N 200"
        self._run("pg_ctl", "-D", self.folder / "data", "-l", log, "-o", listens, "-w", "start")

    def stop(self, how: str = "fast") -> None:
        """Stop the server: fast, or immediate, which is as good as kill -9."""
        self._run("pg_ctl", "-D", self.folder / "data", "-m", how, "-w", "stop")

    def make(self) -> None:
        """Make the cluster."""
        word = self.folder / "password"
        word.write_text((self.password or "none") + "\n")
        if os.getuid() == 0:  # PostgreSQL does not run as root
            shutil.chown(self.folder, "postgres", "postgres")
            shutil.chown(word, "postgres", "postgres")
        how = "scram-sha-256" if self.password else "trust"
        settings = ("-A", how, "--pwfile", word, "-E", "UTF8", "--no-locale")
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
        )
        if ran.returncode:
            log = self.folder / "log"
            said = log.read_text()[-2000:] if log.exists() else "nothing"
            raise RuntimeError(f"{program} left with {ran.returncode} and said {said}")


@contextmanager
def running(postgres: str, password: str = "") -> Iterator[Cluster]:
    """Run a cluster for as long as the block lasts; `postgres` is the path of the program.

    Without a password everybody on this machine is let in.
    """
    folder = Path(tempfile.mkdtemp(prefix="heatveil-pg-"))
    one = Cluster(Path(postgres).resolve().parent, folder, find_free_port(), password)
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
