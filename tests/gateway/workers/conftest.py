"""What the workers' tests share: a real PostgreSQL, with a database of its own for each test."""

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.brokers.broker import free_port
from gateway.storage.places import Database
from gateway.storage.store import Store

SITE = "testsite"
SOCKETS = "-c unix_socket_directories={folder} -c listen_addresses=127.0.0.1 -p {port}"


@pytest.fixture(scope="session")
def cluster(
    need: Callable[[str], str], answers: Callable[[int], None]
) -> Iterator[Callable[[], Database]]:
    """Run PostgreSQL on a free port; gives a new database whenever it is called."""
    programs = Path(need("postgres")).resolve().parent
    folder = Path(tempfile.mkdtemp(prefix="heatveil-postgres-"))
    # PostgreSQL refuses to be run by root.
    who: dict[str, Any] = {"user": "postgres"} if os.getuid() == 0 else {}
    if who:
        shutil.chown(folder, "postgres")
    port, data = free_port(), folder / "data"
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "cwd": folder, **who}
    made = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8"]
    subprocess.run([*made, "--no-sync"], check=True, **quiet)
    options = SOCKETS.format(folder=folder, port=port).split()
    run = [programs / "postgres", "-D", data, *options, "-c", "max_connections=200"]
    numbers = itertools.count()

    def fresh() -> Database:
        name = f"test{next(numbers)}"
        create = [programs / "createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres"]
        subprocess.run([*create, name], check=True)
        return Database(f"host=127.0.0.1 port={port} user=postgres dbname={name}")

    with subprocess.Popen(run, stderr=subprocess.DEVNULL, **quiet) as child:
        answers(port)
        _wait(programs, port)
        yield fresh
        child.terminate()  # SIGTERM waits for connections that are left; a test has closed its own
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.send_signal(3)
    shutil.rmtree(folder, ignore_errors=True)


def _wait(programs: Path, port: int) -> None:
    """Return once the server takes statements: it listens before that."""
    probe = [programs / "pg_isready", "-h", "127.0.0.1", "-p", str(port), "-q", "-t", "10"]
    for _ in range(100):
        if not subprocess.run(probe).returncode:
            return
    sys.exit("PostgreSQL does not come up")


@pytest.fixture
def database(cluster: Callable[[], Database]) -> Database:
    """Return a new database."""
    return cluster()


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    """Return a store at PostgreSQL, cleared away afterwards."""
    store = Store(database, SITE)
    yield store
    store.close()
