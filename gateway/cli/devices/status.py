"""How devices stand, and shutting them out and letting them back by hand."""

import difflib
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from ...devices.broker.doors import BrokerAccess, find_broker_folder, open_broker_access
from ...devices.enrol.enrol import UNFINISHED, Devices, load_devices
from ...faults import LinkFault, OperatorFault
from ...output import format_duration
from ...settings import config
from ...settings.deployment import Deployment
from ...store import message_rows
from ...store.places import find_place, has_store
from ...store.reader import Reader, open_read_engine
from ...store.store import Store
from .. import flags

Say = Callable[[str], None]
STRANGER = (
    "Where the broker lets devices in is not known here: tell it yourself, with a role or rules "
    "as `heatveil broker init` writes them"
)
AWAY_S = 86_400.0  # a device that missed a round since, and was not heard for so long, is away
AWAY = (
    "AWAY: rounds go on without it, and what it misses is in no map; once it is back it answers "
    "when enough of its own uptime has passed, for time without power gives no budget back"
)


def locate_unfinished(board: Path) -> Path:
    """Return where a board's file is while its device is being changed."""
    return board.with_name(f"{board.name}{UNFINISHED}")


def find_device(path: Path, name: str) -> tuple[Deployment, Devices]:
    """Return a deployment and its devices, of which this is one.

    Raises:
        OperatorFault: it is none.
    """
    deployment = config.load_deployment(path)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    if name not in devices.by_name:
        meant = nearest_name(name, devices.by_name)
        hint = f"Did you mean {meant}?" if meant else "`heatveil device list` says which are"
        raise OperatorFault(
            f"no device {name} is enrolled; only one that is can be changed. {hint}"
        )
    return deployment, devices


def nearest_name(name: str, names: Iterable[str]) -> str:
    """Return the nearest of the names with the same number at the end, or ""; none else is meant.

    >>> near, far = ["node-43", "node-03"], ["node-2", "node-43"]
    >>> nearest_name("node-3", near), nearest_name("node-3", far)
    ('node-03', '')
    """
    stem, number = _split_number(name)
    parted = {other: _split_number(other) for other in names}
    alike = {other: own for other, (own, last) in parted.items() if last == number}
    near = difflib.get_close_matches(stem, sorted(alike.values()), n=1)
    return next((other for other in sorted(alike) if alike[other] in near), "")


def _split_number(name: str) -> tuple[str, int | None]:
    """Return a name without the number at its end, and that, however many noughts it has."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return stem, int(digits) if digits else None


def list_devices(path: flags.Config) -> None:
    """Show every device: its sensor, its keys, when it was heard, why it is shut out."""
    deployment = config.load_deployment(path)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    heard, shut_out = {}, dict[str, tuple[str, float]]()
    asked_s = 0.0  # when the last round was
    if has_store(deployment):
        with closing(Reader(find_place(deployment))) as reader:
            heard = {row.name: row for row in reader.list_devices(devices.key_ids)}
            asked_s = max((row.opened_s for row in reader.list_rounds(1)), default=0.0)
        engine = open_read_engine(find_place(deployment))
        with engine.connect() as connection:
            shut_out = message_rows.list_shut_out(connection)
        engine.dispose()
    for name, device in sorted(devices.by_name.items(), key=lambda one: one[1].place):
        row, (first, count) = heard.get(name), device.place
        sensors = f"sensor {first}" if count == 1 else f"sensors {first} to {first + count - 1}"
        words = [f"{name}: {sensors}, {device.mode}, key {device.key_id.hex()}"]
        last_s = None if row is None else row.last_s
        words.append("never heard" if last_s is None else f"heard {_format_age(last_s)} ago")
        if last_s is not None and last_s < asked_s and time.time() - last_s > AWAY_S:
            words.append(AWAY)
        if row is not None and row.alarm:
            words.append(f"NEEDS A NEW KEY: {row.alarm}")
        if row is not None and row.clock:
            words.append(f"CLOCK: {row.clock}")
        if name in shut_out:
            words.append(f"SHUT OUT: {shut_out[name][0]}")
        typer.echo(", ".join(words))


def shut(
    name: flags.Name,
    path: flags.Config,
    why: Annotated[str, typer.Option(help="For whoever looks at it later.")] = "by hand",
) -> None:
    """Shut a device out, until it is let back."""
    deployment, _ = find_device(path, name)
    with closing(Store.open_for(deployment)) as store:
        store.quarantine(name, why)
    typer.echo(f"{name} is shut out; a gateway that runs listens to it no more within seconds")
    _tell_broker_if_up(deployment, path, lambda door: door.disable_device(name))


def free(name: flags.Name, path: flags.Config) -> None:
    """Let a device back that was shut out."""
    deployment, _ = find_device(path, name)
    if has_store(deployment):
        with closing(Store.open_for(deployment)) as store:
            was = store.list_quarantined().get(name)
            store.let_back(name)
        if was is not None:
            typer.echo(f"It was shut out {_format_age(was[1])} ago: {was[0]}")
    typer.echo(f"{name} is let back; a gateway that runs listens to it again within seconds")
    _tell_broker_if_up(deployment, path, lambda door: door.enable_device(name))


def change_at_broker(
    deployment: Deployment, folder: Path, say: Say, do: Callable[[BrokerAccess], str]
) -> None:
    """Do something where the broker lets devices in, and say what came of it.

    Raises:
        OperatorFault: it was not done.
    """
    mqtt = deployment.mqtt
    if mqtt.username is None:
        say("[mqtt] has no username: the broker lets in whoever comes")
        return
    with open_broker_access(mqtt, deployment.site.name, folder) as door:
        say(STRANGER if door is None else f"At {mqtt.host}: {do(door)}")


def is_admitted_by_broker(deployment: Deployment, folder: Path, name: str) -> bool:
    """Return whether the broker knows a device of that name; no where nobody here can ask it."""
    mqtt = deployment.mqtt
    if mqtt.username is None:
        return False
    with open_broker_access(mqtt, deployment.site.name, folder) as door:
        return door is not None and door.has_device(name)


def _tell_broker_if_up(
    deployment: Deployment, path: Path, do: Callable[[BrokerAccess], str]
) -> None:
    try:
        change_at_broker(deployment, find_broker_folder(deployment.mqtt, path), typer.echo, do)
    except LinkFault as fault:
        typer.echo(f"The broker was not told, a gateway that runs will tell it: {fault}")


def _format_age(at_s: float) -> str:
    past_s = max(time.time() - at_s, 0)
    step = next((size for size in (86_400, 3600, 60) if past_s >= 2 * size), 1)
    return format_duration(step * round(past_s / step))
