"""What the store's tests share: a place for a store, at SQLite and at PostgreSQL."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.store.places import Database, Place
from gateway.store.store import Store
from tests.postgresql import Cluster, running

PASSWORD = "a word that no log may hold"
collect_ignore = ["old"]  # it speaks with the modules of its own time


@pytest.fixture(scope="session")
def cluster(need: Callable[[str], str]) -> Iterator[Cluster]:
    """Return a server that is not to be stopped, for all tests."""
    with running(need("postgres"), PASSWORD) as one:
        yield one


@pytest.fixture
def own_cluster(need: Callable[[str], str]) -> Iterator[Cluster]:
    """Return a server that the test may stop and start."""
    with running(need("postgres"), PASSWORD) as one:
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
