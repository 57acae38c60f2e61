"""What a site has gathered, deleted for good: `heatveil delete`, where no gateway runs."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from edge.host import post

from ..faults import OperatorFault
from ..service import homeassistant
from ..settings import config
from ..settings.deployment import Deployment
from ..store import sqlite
from ..store.opening import alone
from ..store.places import Place, place_of
from ..store.reader import open_reader
from ..store.store import Store
from . import flags

WORDS = {
    "reports": "blurred or sealed reports",
    "heard": "marks of messages that did not count",
    "refused": "messages that were refused",
    "releases": "releases",
    "maps": "maps",
    "tallies": "sums of workers",
    "vacant": "state of the empty room",
    "outbox": "messages that wait for the broker",
    "alarms": "alarms of devices",
    "quarantine": "devices that were shut out",
}


def delete(
    path: flags.Config,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; delete.")] = False,
) -> None:
    """Delete what a site has gathered: reports, releases, maps. It is over then.

    What was charged stays, and the database is asked on no more: no budget comes back.
    """
    deployment = config.load(path)
    place, site = place_of(deployment), deployment.site.name
    with open_reader(deployment) as reader:
        found, rounds = reader.count_gathered(), len(reader.rounds(1_000_000_000))
    rows = ", ".join(f"{count:,} {WORDS[name]}" for name, count in found.items())
    typer.echo(f"Of site {site}, in {place}, these go for good: {rows or 'nothing is left'}.")
    typer.echo(
        f"These stay: {rounds:,} rounds, when each was and what it cost; of second answers the "
        "device, the time and a digest; which devices there were, how often each answered and "
        "its last number. Nothing more is asked on this database: no budget comes back."
    )
    if not yes and not typer.confirm("Delete them?"):
        raise OperatorFault("nothing was deleted")
    with alone(place):
        with closing(Store.of(deployment)) as store:
            store.delete_gathered()
        if isinstance(place, Path):
            sqlite.rewrite(place)
    typer.echo("Deleted.")
    for line in _elsewhere(deployment, place):
        typer.echo(line)


def _elsewhere(deployment: Deployment, place: Place) -> Iterable[str]:
    """Yield what may still hold some of it, and what to do there.

    The round that the broker retains is no reading, and proves to a ledger begun anew that there
    was one before: it is not among what is to be removed.
    """
    site, announced = deployment.site.name, homeassistant.config_topic(deployment)
    map_topic = post.map_topic(site, deployment.rounds.mechanism)
    if isinstance(place, Path):
        beside = [place.parent.glob(f"{place.name}.{kind}*") for kind in ("schema", "rescued")]
        if copies := sorted(one.name for found in beside for one in found):
            yield f"Copies beside it hold it still; remove them: {', '.join(copies)}"
    else:
        yield "PostgreSQL keeps the bytes until VACUUM FULL, and its archives as you have them do."
    yield (
        "The broker retains the last map, and what Home Assistant was told; with its rights: "
        f"mosquitto_sub --remove-retained -W 2 -t '{map_topic}' -t 'heatveil/1/{site}/ha/#' "
        f"-t '{announced}'. Leave its round topics until the devices file is removed: a ledger "
        "that is begun anew is known by them. Home Assistant keeps a history of its own."
    )
    if (noted := homeassistant.locate_note(deployment)).exists():
        yield f"{noted} names what Home Assistant was told; remove it then."
    yield "Remove backups and exports, too."
