"""Everything on one machine, over real MQTT: `heatveil demo`."""

import logging
import tempfile
import threading
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
from rich.console import Console

from physics.fleet import seeded_keys

from .. import config, logs
from ..brokers.broker import embedded
from ..enrolment import budgets, enrol
from ..enrolment.granting import granted
from ..operate.health import Health
from ..operate.vitals import PARTS
from ..serving import Service
from ..storage.places import place_of
from ..storage.reader import Reader
from ..telling import Event
from ..virtual.nodes import Nodes
from ..web.server import Page
from . import corridor
from .audience import Audience
from .hosting import on_signal, shown
from .outputs import check_places, make_folder
from .report import report
from .settings import ratio
from .simulated import Room
from .standing_thermal import fleet_in


def run(
    sensors: int,
    epsilon: str,
    rounds: int,
    *,
    seed: int | None,
    keep: bool,
    port: int,
    folder: Path,
) -> None:
    """Run broker, gateway, page and sensors; print what came of it; leave nothing running.

    Args:
        seed: makes the run repeatable, which needs devices whose noise can be repeated.
        keep: stay until told to stop, with the page open.

    Raises:
        OperatorFault: an argument, the port of the page or the broker is at fault.
    """
    ratio(epsilon, "--epsilon")
    make_folder(folder)
    picture = folder / "veil.png"
    check_places([picture])
    logs.to_stderr(logging.ERROR)
    console, over, health = Console(), threading.Event(), Health(*PARTS)
    with ExitStack() as stack:
        stops = stack.enter_context(on_signal(over.set))
        page = stack.enter_context(Page("127.0.0.1", port, health=health))
        broker = stack.enter_context(embedded())
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="heatveil-")))
        deployment = corridor.deployment(
            folder=temporary,
            sensors=sensors,
            epsilon=epsilon,
            rounds=rounds,
            keyholder=seed is not None,
            broker=(broker.host, broker.port),
        )
        query, world = config.query(deployment), np.random.default_rng(seed)
        room = Room(query, corridor.people(query, world), world)
        keys = {} if seed is None else {"fresh": seeded_keys(b"demo %d" % seed)}
        made = enrol.make("demo", sensors, keyholder=seed is not None, **keys)
        place = budgets.in_memory()  # keys and budgets die with the demonstration
        budgets.provision(made, granted(query, deployment.rounds.every_s), place)
        devices, _ = budgets.boot(made.secrets, place)
        console.print(
            f"{corridor.PEOPLE} people have stood in a corridor of {corridor.LENGTH_M:g} m; "
            f"{sensors} thermometers feel the warmth.\nBroker: {broker.kind} on {broker.host}:"
            f"{broker.port}, in the clear, for this machine alone. Live page: {page.url}",
            highlight=False,
        )
        heard = stack.enter_context(Audience(console, query.grid, rounds))
        to_page = shown(page, query, seeded=seed is not None)

        def tell(event: Event) -> None:
            heard.hear(event)
            to_page(event)

        known = enrol.known(made.secrets)
        service = stack.enter_context(Service(deployment, known, on_event=tell, health=health))
        page.attach(reader=stack.enter_context(closing(Reader(place_of(deployment)))))
        stack.enter_context(Nodes(deployment.mqtt, "demo", "thermal", fleet_in(room, devices)))
        stops.append(service.stop)
        if not over.is_set():
            service.wait_connected().run(rounds)
        heard.close()
        if not over.is_set() or heard.best is not None:
            report(console, room, heard, picture, seeded=seed is not None)
        if keep and not over.is_set():
            console.print(f"Still running, with the page at {page.url} (Ctrl-C ends it)")
            over.wait()
