"""Virtual devices against any broker: `heatveil fleet`."""

import threading
from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np

from edge.thermal import Params
from physics.fleet import Fleet
from recovery.thermal import Query

from .. import config, enrol, logs
from ..deployment import Deployment
from ..faults import OperatorFault
from ..nodes import Nodes
from .choices import first_round
from .hosting import on_signal
from .simulated import Room, scene_of


def fleet_in(room: Room, secrets: enrol.Secrets) -> Fleet:
    """Return devices that stand in the room, with the planned noise as the least they accept.

    Raises:
        OperatorFault: the query cannot be served, or the devices do not fit the room.
    """
    try:
        params = Params(*first_round(room.query).params)
        grain = max(params.exponent, 0), max(-params.exponent, 0)
        floor = (params.variance << 2 * grain[1], 1 << 2 * grain[0])
        fleet = Fleet(secrets, room.sensors, room.world, floor)
        fleet.show(room.temperatures)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    return fleet


def fleet(
    path: Path,
    nodes: int | None,
    secrets_path: Path | None,
    enrolling: bool,
    sources: Path | None,
    sources_random: int | None,
    say: Callable[[str], None],
) -> None:
    """Put the virtual devices of a deployment on its broker, until told to stop.

    Args:
        nodes: how many of them; None for all that are enrolled.
        secrets_path: None for secrets.json beside the deployment file.
        enrolling: make new keys first, for the fleet and for the gateway.

    Raises:
        OperatorFault: a file or the broker is at fault, or there are not so many devices.
    """
    logs.to_stderr()
    deployment = config.load(path)
    query = config.query(deployment)
    world = np.random.default_rng()
    if sources is None and sources_random is None:
        sources_random = 2
    room = Room(query, scene_of(query, sources, sources_random, world), world)
    kept = secrets_path or path.with_name("secrets.json")
    if enrolling:
        _enrol(deployment, query, kept)
    secrets = _first(enrol.next_boot(kept, deployment.site.name), nodes)
    over = threading.Event()
    with (
        Nodes(deployment.mqtt, secrets.site, deployment.rounds.mechanism, fleet_in(room, secrets)),
        on_signal(over.set),
    ):
        say(f"{len(secrets.devices)} devices are on the broker; Ctrl-C ends them")
        over.wait()


def _enrol(deployment: Deployment, query: Query, kept: Path) -> None:
    """Make new keys; an old file is not overwritten, for its keys would be lost."""
    for old in (kept, deployment.site.devices):
        if old.exists():
            raise OperatorFault(
                f"{old} is there already; new keys would shut out the devices that have the old "
                "ones. Remove it first, or leave --enrol out"
            )
    made = enrol.make(
        deployment.site.name, prod(query.sensors), keyholder=deployment.privacy.keyholder
    )
    enrol.save_secrets(made, kept)
    enrol.save_devices(enrol.known(made), deployment.site.devices)


def _first(secrets: enrol.Secrets, nodes: int | None) -> enrol.Secrets:
    if nodes is not None and nodes > len(secrets.devices):
        raise OperatorFault(
            f"--nodes {nodes} but {len(secrets.devices)} devices are enrolled; each needs its own "
            "key. Ask for fewer, or enrol a larger fleet with --enrol"
        )
    return secrets._replace(devices=secrets.devices[:nodes])
