"""Virtual devices against any broker: `heatveil fleet`."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from math import prod
from typing import Annotated, Any

import numpy as np
import typer

from physics.files import has_degrees

from ... import logs
from ...devices.enrol import budgets, keycount, limitsfile, roster
from ...devices.enrol import enrol as enrolment
from ...devices.fleet.crowd import Churn, Crowd, allow_open_files
from ...devices.fleet.spool import describe_frame_counts, make_folder_spools
from ...faults import OperatorFault
from ...mechanisms import find_for_deployment, find_serving, make_first_limits, plan_first_round
from ...mechanisms.worlds import EXAMPLES, FleetScene
from ...mechanisms.worlds import FleetInputs as FleetInputs
from ...settings import config, windows
from ...settings.deployment import Deployment
from .. import flags
from ..serve import call_on_signals

# What a fleet shows while it runs: who comes, what goes out, and what became of it.

NAMED = 5  # devices that are missing; of more only the number is said


@contextmanager
def show_connected_count(devices: int) -> Iterator[Callable[[int], None]]:
    """Give what shows how many of them are on the broker; nothing is seen but on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda up: None
        return
    columns = TextColumn("devices on the broker"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=devices)
        yield lambda up: progress.update(bar, completed=up)


def describe_fleet_counts(crowd: Any, dying: Churn, deployment: Deployment) -> str:
    """Return what became of the devices' frames, in a sentence.

    What they send in a secure sum is counted by the gateway alone.
    """
    if find_for_deployment(deployment).trust == "distributed":
        return "how many were in each sum, heatveil show says"
    return describe_frame_counts(crowd.counts, dying.deaths, dying.returns)


def wait_and_show_counts(over: threading.Event, crowd: Any, counts: Callable[[], str]) -> None:
    """Return once it is over; on a terminal the counts are shown until then."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        over.wait()
        return
    with console.status("") as status:
        while not over.wait(1.0):
            status.update(f"{len(crowd.up):,} devices; {counts()}")


def describe_unconnected(missing: dict[str, str]) -> list[str]:
    """Return sentences on the devices that are not on the broker."""
    said = [
        f"device {name} is not on the broker: {why}" for name, why in [*missing.items()][:NAMED]
    ]
    if len(missing) > NAMED:
        said.append(f"nor are {len(missing) - NAMED} others; they go on trying")
    return said


# What the virtual devices of a deployment stand in.


def make_scenery(
    deployment: Deployment, query: Any, seen: FleetInputs, world: np.random.Generator
) -> FleetScene:
    """Return what the virtual devices of a deployment stand in.

    Raises:
        OperatorFault: a flag or a file is wrong, or the room does not fit the query.
    """
    mechanism, own = find_for_deployment(deployment), deployment.own
    if seen.points and seen.points not in EXAMPLES and own is not None and own.corner is not None:
        try:
            degrees = has_degrees(seen.points)
        except ValueError as fault:
            raise OperatorFault(str(fault)) from fault
        if degrees:
            raise OperatorFault(
                f"{seen.points} has longitude and latitude and [{mechanism.name}] says where the "
                "corner of the grid lies; virtual devices are placed in metres from it. Write "
                "user,x,y in metres east and south of the corner, or leave corner out"
            )
    columns, rows = mechanism.sensors(deployment)
    return mechanism.stand(query, seen, columns * rows, world)


def make_world(deployment: Deployment) -> np.random.Generator:
    """Return what draws all that is random in a deployment's virtual world, alike each time."""
    return np.random.default_rng([*deployment.site.name.encode()])


# Beside the devices' half of the keys: what a key holder keeps.
HOLDER = "keyholder.json"


def fleet(
    path: flags.Config,
    nodes: Annotated[
        int | None,
        typer.Option(min=1, help="How many virtual devices; all that are enrolled else."),
    ] = None,
    sources: flags.Sources = None,
    sources_random: flags.SourcesRandom = None,
    scene: flags.Scene = None,
    speed: flags.Speed = None,
    since: flags.From = None,
    points: flags.Points = None,
    churn: Annotated[
        float, typer.Option(min=0, help="So many devices a minute die, and come back.")
    ] = 0.0,
) -> None:
    """Run virtual devices against the broker of a deployment, until told to stop."""
    logs.log_to_stderr()
    deployment = config.load_deployment(path)
    query = config.make_query(deployment)
    seen = FleetInputs(sources, sources_random, scene, speed, since, points)
    there = make_scenery(deployment, query, seen, make_world(deployment))
    kept = path.with_name("secrets.json")
    secrets = enrolment.load_secrets(kept, deployment.site.name)
    if nodes is not None and nodes > len(secrets.devices):
        raise OperatorFault(
            f"--nodes {nodes} but {len(secrets.devices)} devices are enrolled; each needs its own "
            "key. Ask for fewer, or enrol a larger fleet in a new folder: heatveil enrol"
        )
    secrets = secrets._replace(devices=secrets.devices[:nodes])
    over, folder = threading.Event(), kept.with_name(budgets.STATE)
    allow_open_files(len(secrets.devices))
    passwords = {who.name: link_key.hex() for who, link_key in secrets.devices}
    with (
        budgets.open_slot_folder(folder) as place,
        call_on_signals(over.set),
        ExitStack() as stack,
    ):
        started, off = budgets.boot_devices(secrets, place)
        virtual = there.make_fleet(started)
        alone = {one.identity.name: secrets._replace(devices=(one,)) for one in secrets.devices}

        def boot(name: str) -> Any:
            return budgets.boot_devices(alone[name], place).devices[0][1]

        crowd = Crowd(deployment.mqtt, virtual, passwords, make_folder_spools(folder), boot)
        lives = stack.enter_context(there.run_scene(virtual))
        stack.enter_context(crowd)
        with show_connected_count(len(crowd.names)) as tell:
            missing = crowd.wait_connected(tell, over)
        typer.echo(
            f"{len(crowd.names) - len(missing)} devices are on the broker; Ctrl-C ends them"
        )
        drawn = sources is None and scene is None and (points is None or points in EXAMPLES)
        alike = ["who is where is drawn by the site's name, and so alike at each start"] * drawn
        for sentence in [lives] * bool(lives) + alike + off + describe_unconnected(missing):
            typer.echo(sentence)
        with Churn(crowd, churn) as dying:
            wait_and_show_counts(
                over, crowd, lambda: describe_fleet_counts(crowd, dying, deployment)
            )
    typer.echo(describe_fleet_counts(crowd, dying, deployment))


def enrol(path: flags.Config, central: flags.Central = "") -> None:
    """Make new keys and budgets for the devices of a deployment, and keys for its gateway.

    Nothing old is overwritten, for it would be lost.
    """
    deployment = config.load_deployment(path)
    query, mechanism, site = (
        config.make_query(deployment),
        find_for_deployment(deployment),
        deployment.site,
    )
    kept = path.with_name("secrets.json")
    state, holder = kept.with_name(budgets.STATE), kept.with_name(HOLDER)
    for old in (kept, site.devices, state, holder):
        if old.exists():
            raise OperatorFault(
                f"{old} already exists; with new keys the gateway would refuse the devices that "
                "have the old ones. If it is this deployment's, it is enrolled already, and there "
                "is nothing to do; for another promise take a new folder"
            )
    keyholder, summed = deployment.privacy.keyholder, mechanism.trust == "distributed"
    limits, sensors = make_first_limits(deployment, query), prod(mechanism.sensors(deployment))
    made = enrolment.enrol_fleet(site.name, sensors, keyholder=keyholder, central=central)
    enrolment.check_may_answer_central(
        enrolment.derive_gateway_half(made.secrets), plan_first_round(deployment, query)
    )
    shards: list[Any] = []
    if summed:
        made, shards = roster.enrol_in_shards(made, query)
    devices = enrolment.derive_gateway_half(made.secrets)
    try:
        state.mkdir(0o700)
    except OSError as fault:
        raise OperatorFault(
            f"the folder {state} cannot be made ({fault.strerror}); it holds the devices' "
            "budgets, and a device without one never reports. Make its parent folder writable"
        ) from fault
    try:
        keycount.count_fleet_keys(
            site.devices, devices, find_serving(mechanism.name).key_limit(deployment)
        )
    except OperatorFault:
        state.rmdir()  # nothing is in it yet, and it would be in the way of the next try
        raise
    with budgets.open_slot_folder(state) as place:
        budgets.write_first_budgets(
            made, limits, place, windows.make_window_record(deployment, limits)
        )
    if keyholder:
        enrolment.save_roots(made, holder)
    if summed:
        roster.save_shards(site.devices, site.name, shards)
    enrolment.save_secrets(made.secrets, kept)
    enrolment.save_devices(devices, site.devices)
    hours, following = deployment.privacy.window_h, deployment.following
    limitsfile.save_first_limits(site.devices, devices, limits, hours, following)
    beside = f", with {site.devices.with_name(roster.FILE)}" * summed
    typer.echo(
        f"{sensors} devices are enrolled. {kept} and {state} are theirs, {site.devices} is the "
        f"gateway's{beside}; keep all of them from others"
    )
    if keyholder:
        typer.echo(
            f"{holder} holds the root keys: whoever has it can take the noise off. Move it away, "
            "to where only its owner comes: neither fleet nor gateway needs it"
        )
