"""What a site has gathered, deleted for good: `heatveil delete`, where no gateway runs."""

import time
from collections.abc import Collection, Iterable
from contextlib import ExitStack, closing
from functools import partial
from hashlib import sha256
from pathlib import Path

import typer

from edge.core import wire
from edge.host import post

from ...devices.enrol import budgets, roster
from ...faults import LinkFault, OperatorFault, TakenFault
from ...service import homeassistant
from ...service.mqtt import access
from ...service.mqtt.connection import Message
from ...service.mqtt.service import Link, open_link
from ...service.sealing import list_key_files
from ...service.workers.leases import read_roll
from ...service.workers.part import end_old_sessions, make_session_name
from ...settings import config
from ...settings.deployment import Deployment
from ...store import sqlite
from ...store.opening import lock_store
from ...store.places import Place, find_place
from ...store.reader import RoundRow, open_reader
from ...store.store import Store
from .. import flags
from .export import PROMISE

RETAINED_S = 0.5  # for the broker to have sent what it retains
NAME_BYTES = 4  # of a round
CLEARED_S = 5.0  # for the broker to have taken what clears
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
    "jumped": "devices whose clock jumped",
}


class _Overtaken(Exception):
    """A gateway on another database has asked since."""


def delete(
    path: flags.Config,
    yes: flags.Yes = False,
) -> None:
    """Delete what a site has gathered: reports, releases, maps. It is over then.

    What was charged stays, and the database is asked on no more: no budget comes back.
    """
    deployment = config.load_deployment(path)
    place, site = find_place(deployment), deployment.site.name
    with open_reader(deployment) as reader:
        found, gone = reader.count_gathered(), reader.is_deleted()
        rounds = reader.list_rounds(1_000_000_000)
    with ExitStack() as stack:
        try:  # before it is asked: a gateway that runs is no question
            stack.enter_context(lock_store(place))
        except TakenFault:
            raise OperatorFault(
                f"heatveil serve, or another delete, uses the database {place} and would go on "
                "storing reports. Nothing was deleted. Stop it, for example with systemctl stop "
                "heatveil-gateway, and run this again"
            ) from None
        if found or not gone:
            rows = ", ".join(f"{count:,} {WORDS[name]}" for name, count in found.items())
            typer.echo(f"Of site {site}, in {place}, these go for good: {rows or 'no rows'}.")
            typer.echo(
                f"These stay: {len(rounds):,} rounds, when each was and what it cost; of second "
                "answers the device, the time and a digest; which devices there were, how often "
                "each answered and its last number. Nothing more is asked on this database: no "
                "budget comes back."
            )
        else:
            typer.echo(f"What site {site} gathered in {place} was deleted before.")
        typer.echo(
            f"At the broker goes what waits there for the gateway of site {site}, unless one on "
            "another database has asked since: its map, what Home Assistant was told, and reports "
            "not yet taken."
        )
        with closing(Store.open_for(deployment)) as store:
            _check_workers(deployment, store)
            if not yes:
                flags.ask("Delete them?", "nothing was deleted")
            store.delete_gathered()  # again too: earlier versions left what rounds asked
        if isinstance(place, Path):
            sqlite.rewrite_file(place)
        typer.echo("Deleted.")
        for line in _describe_remaining_copies(place, path, site):
            typer.echo(line)
        if keys := [str(one) for one in _yield_secret_paths(deployment, path) if one.exists()]:
            typer.echo(
                f"Keys and passwords stay: {', '.join(keys)}. With them devices report as before, "
                "to a ledger that is begun anew; remove them where the site is given up."
            )
        _clear_broker(deployment, {one.mechanism for one in rounds}, rounds)
    typer.echo(
        "Cleared at the broker: the last map, what Home Assistant was told, and what waited for "
        "the gateway. Its round topics stay until the devices file is removed, for a ledger that "
        "is begun anew is known by them; where rounds look closer at crowded squares, the last "
        "shows which. What devices say of themselves, meta and state, stays too. Home Assistant "
        "keeps a history of its own."
    )


def _check_workers(deployment: Deployment, store: Store) -> None:
    """Check that no worker is left to write down what still comes."""
    if deployment.workers.partitions < 2:
        return
    roll = read_roll(store.engine, deployment.workers.lease_s, deployment.workers.partitions)
    if alive := [one.holder for one in roll.members if one.alive]:
        raise OperatorFault(
            f"workers use this database ({', '.join(alive)}) and would go on storing reports. "
            "Stop them, for example with systemctl stop 'heatveil-worker@*', and run this again"
        )


def _is_overtaken(
    deployment: Deployment, names: Iterable[str], rounds: Collection[RoundRow]
) -> bool:
    """Return whether another database has asked since: what waits is of that, and its session."""
    found, known = dict[str, bytes](), {one.name_hex for one in rounds}
    site = deployment.site.name  # no gateway's session
    topics = [wire.round_topic(site, name) for name in names]

    def take(_: Link, message: Message) -> None:
        found[message.topic] = bytes(message.payload)

    with open_link(deployment.mqtt, f"heatveil-{site}-delete", topics, take):
        time.sleep(RETAINED_S)
    bodies = (message[: -wire.MAC_BYTES] for message in found.values())
    return any(body and sha256(body).digest()[:NAME_BYTES].hex() not in known for body in bodies)


def _clear_broker(
    deployment: Deployment, mechanisms: Iterable[str], rounds: Collection[RoundRow]
) -> None:
    """Have the broker forget what it keeps of a site, as the gateway, which alone may.

    The round that it retains is no reading, and proves to a ledger begun anew that there was one
    before: it stays. The sessions of gateway and workers end, those of former parts too, and with
    them the reports that wait there.
    """
    site, many = deployment.site.name, deployment.workers.partitions
    names = sorted({deployment.rounds.mechanism, *mechanisms})
    topics = [post.map_topic(site, name) for name in names]
    taken = list[str]()
    topics += homeassistant.list_retained_topics(deployment)
    try:
        if _is_overtaken(deployment, names, rounds):
            raise _Overtaken
        if deployment.store.postgresql is not None:  # where alone there were ever parts
            with closing(Store.open_for(deployment)) as store:
                end_old_sessions(deployment, store)
        for part in range(many if many > 1 else 0):
            with open_link(deployment.mqtt, make_session_name(site, part)):
                pass
        with open_link(deployment.mqtt, access.make_gateway_session(site)) as link:
            for topic in topics:
                link.publish(topic, b"", retain=True, on_sent=partial(taken.append, topic))
            link.wait_until_sent(CLEARED_S)
        if left := [topic for topic in topics if topic not in taken]:
            raise LinkFault(f"the broker did not acknowledge the deletion of {', '.join(left)}")
    except _Overtaken:
        raise OperatorFault(
            "the store is emptied. The broker retains a round that this database does not have, "
            "so a gateway with another database has asked it: what the broker keeps belongs to "
            "that gateway and was not deleted. To delete it too, run heatveil delete with that "
            "gateway's deployment file"
        ) from None
    except OperatorFault as fault:
        raise OperatorFault(
            "the store is emptied, but the broker may still keep the last map, the entities of "
            f"Home Assistant and reports for the gateway: {fault}. Run heatveil delete again "
            "before another gateway of this site is started; if the broker's access rights "
            "forbid it, delete the retained messages of this site at the broker by hand"
        ) from fault
    homeassistant.locate_topics_note(deployment).unlink(missing_ok=True)


def _describe_remaining_copies(place: Place, file: Path, site: str) -> Iterable[str]:
    """Yield what else may still hold some of it, and what to do there."""
    if isinstance(place, Path):
        if copies := sqlite.find_copies(place):
            yield f"Copies beside it hold it still; remove them: {', '.join(copies)}"
    else:
        yield "PostgreSQL keeps the bytes until VACUUM FULL, and its archives as you have them do."
    yield "Remove your backups, exports, reports and logs, too: they lie where you put them."
    folders = {file.resolve().parent, Path.cwd()}
    if isinstance(place, Path):
        folders.add(place.resolve().parent)
    promises = sorted(
        one
        for folder in folders
        for one in folder.glob(f"*{PROMISE}")
        if f'"site": "{site}"' in one.read_text("utf-8", "replace")
    )
    if promises:  # they stand beside every export
        yield f"Exports here: {', '.join(str(one).removesuffix(PROMISE) for one in promises)}"


def _yield_secret_paths(deployment: Deployment, path: Path) -> Iterable[Path]:
    """Yield where keys of a site may lie on this machine."""
    yield from (deployment.site.devices, deployment.site.devices.with_name(roster.FILE))
    names = "secrets.json", budgets.STATE, "keyholder.json", "broker"
    yield from (path.with_name(name) for name in names)
    for kind in ("keyholder.json", "device.json*", "board.json"):  # and unfinished ones
        yield from sorted(path.parent.glob(f"*.{kind}"))
    page = deployment.page
    passwords = [deployment.mqtt.password_file, deployment.store.password_file]
    passwords += [page.token_file, page.viewer_token_file]
    yield from dict.fromkeys(one for one in passwords if one is not None)
    yield from list_key_files(deployment)
