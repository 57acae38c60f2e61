"""A PostgreSQL of a test's own, with one database in it, on a free port."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from gateway.brokers.broker import free_port

from .children import eventually


@contextmanager
def postgresql(program: str) -> Iterator[str]:
    """Run a server for as long as the block lasts; give libpq's words for its database."""
    programs, port = Path(program).resolve().parent, free_port()
    folder = Path(tempfile.mkdtemp(prefix="heatveil-faults-"))
    who: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL}
    if os.getuid() == 0:  # it refuses to be run by root
        shutil.chown(folder, "postgres")
        who["user"] = "postgres"
    made = [programs / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust"]
    subprocess.run([*made, "--no-sync"], check=True, **who)
    options = f"-c unix_socket_directories={folder} -c listen_addresses=127.0.0.1 -p {port}"
    run = [programs / "postgres", "-D", folder / "data", *options.split()]
    words = f"host=127.0.0.1 port={port} user=postgres dbname=postgres"
    with subprocess.Popen(run, stderr=subprocess.DEVNULL, **who) as child:
        try:
            assert eventually(lambda: answers(words), 30), "PostgreSQL does not come up"
            yield words
        finally:
            child.terminate()
            try:
                child.wait(3)
            except subprocess.TimeoutExpired:
                child.send_signal(3)  # without waiting for whoever is connected
                child.wait(10)
            shutil.rmtree(folder, ignore_errors=True)


def answers(words: str) -> bool:
    """Return whether the server takes statements."""
    try:
        psycopg.connect(words, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
