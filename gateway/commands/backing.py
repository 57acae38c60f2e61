"""A copy of a store, made while its gateway runs: `heatveil backup`."""

from collections.abc import Callable
from pathlib import Path

from .. import config as deployments
from ..faults import OperatorFault
from ..storage import files
from ..storage.places import place_of


def backup(config: Path, out: Path, say: Callable[[str], None]) -> None:
    """Copy the store of a deployment to a new file, whole and of one moment.

    Raises:
        OperatorFault: there is no store, the file is there already or cannot be written, or
            the store is PostgreSQL's.
    """
    place = place_of(deployments.load(config))
    if isinstance(place, Path) and not place.exists():
        raise OperatorFault(
            f"there is no store at {place} yet, so there is nothing to be copied. Start heatveil "
            "serve first, or mend [site] database in the deployment file"
        )
    files.backup(place, out)
    say(
        f"{out}: {out.stat().st_size:,} bytes, checked. Only where the store itself is lost, stop "
        f"the gateway, move {place} away with the -wal and -shm beside it, and put this in its "
        "place: what was charged after this moment is forgotten then"
    )
