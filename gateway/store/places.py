"""Where a store is: a file of SQLite's, or a database of PostgreSQL's."""

from dataclasses import dataclass, field
from pathlib import Path

from ..settings.deployment import Deployment


@dataclass(frozen=True)
class Database:
    """A database at PostgreSQL; what it says of itself never holds a secret."""

    words: str = field(repr=False)  # libpq's, or an address; without the password
    password_file: Path | None = None

    def __str__(self) -> str:
        return "at PostgreSQL"


Place = Path | Database


def place_of(deployment: Deployment) -> Place:
    """Return where a deployment keeps what comes."""
    if deployment.store.postgresql is None:
        return deployment.site.database
    return Database(deployment.store.postgresql, deployment.store.password_file)
