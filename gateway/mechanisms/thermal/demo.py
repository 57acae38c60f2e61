"""Everything on one machine, over real MQTT: `heatveil demo`.

Two people have stood in a corridor of twenty metres for about a minute, thermometers along the
ceiling. Where air is stirred as in a ventilated corridor (0.06 m2/s) heat spreads by 4 m2 in a
minute; a person who warms the air by some 50 W in a cross-section of 3 m2 gives one kelvin metre
in that time.
"""

import logging
import tempfile
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from edge.mechanisms.thermal import params_of
from physics.fleet import make_seeded_keys
from physics.scenes import Scene, draw_sources
from recovery.thermal import Query
from recovery.thermal.query import cell_m

from ... import logs
from ...cli.serve import call_on_signals, make_page_listener, pass_to_all
from ...devices.broker.embedded import run_broker
from ...devices.enrol import budgets, enrol
from ...devices.fleet.crowd import Crowd
from ...output import check_writable, make_folder, write_all
from ...service.operate.health import PARTS, Health
from ...service.serving import Service
from ...service.telling import Event
from ...service.telling import parse_map as certainty
from ...settings import config
from ...settings.deployment import Deployment
from ...store.places import find_place
from ...store.reader import Reader
from ...web.server import Page
from ..flags import parse_ratio_flag
from ..scores import SEEDED, compute_scores, score_blind_guess
from ..summary import Floats, describe_warmest_places, find_warmest_places, format_place
from .deployment import plan_first_round
from .granting import make_first_limits
from .words import describe_promise, format_doubt_lines
from .world import Room, make_room_fleet

# Shows in a terminal what the service tells, and keeps what a report needs at the end.


class Audience:
    """Hears the service's events, on any thread, and prints each map."""

    def __init__(self, console: Console, grid: Any, rounds: int) -> None:
        self._console, self._grid, self._rounds = console, grid, rounds
        self._began_s = time.perf_counter()
        self.releases: list[Event] = []
        self.budget: Event | None = None
        self.best: Event | None = None  # the last round's map that is one

    def take_event(self, event: Event) -> None:
        """Take an event of the service."""
        if event["kind"] == "release":
            self.releases.append(event)
        elif event["kind"] == "budget":
            self.budget = event
        elif event["kind"] == "map":
            self._map(event)

    def _map(self, event: Event) -> None:
        found = str(event["why"])
        if event["mass"] is not None and event["total"] > 0:
            self.best = event
            credible = certainty(event)[0]
            found = describe_warmest_places(np.array(event["mass"]), self._grid, credible=credible)
        took_s = time.perf_counter() - self._began_s
        self._console.print(
            f"  round {event['number']} of {self._rounds} after {took_s:.1f} s: {found}",
            highlight=False,
        )


LENGTH_M, CELLS = 20.0, 80
SPREAD_M2 = 4.0
PROTECT_M = 0.5
PEOPLE = 2
DELTA = "1/100000"
ADC_STEP = "1/128"  # kelvin, as of a TMP117
EVERY_S = 1.0
APART_M = 5.0  # the warmth of two who stand together is one hump, and would show less


def place_two_people(query: Query, world: np.random.Generator) -> Scene:
    """Return two people somewhere in the corridor, not beside each other."""
    while True:
        scene = draw_sources(PEOPLE, query.grid, world)
        if np.ptp(scene.places) >= APART_M:
            return scene


def make_corridor_deployment(
    *,
    folder: Path,
    sensors: int,
    epsilon: str,
    rounds: int,
    keyholder: bool,
    broker: tuple[str, int],
) -> Deployment:
    """Return the corridor as a deployment, its files in a folder that will not stay.

    Raises:
        ValueError: a value is out of range.
    """
    return Deployment.model_validate(
        {
            "site": {
                "name": "demo",
                "devices": folder / "devices.json",
                "database": folder / "demo.sqlite",
            },
            "room": {"cells": CELLS, "length_m": LENGTH_M, "walls": "insulated"},
            "heat": {"spread_m2": SPREAD_M2, "intensity_max": 1.0},
            "sensors": {"count": sensors, "adc_step": ADC_STEP},
            "privacy": {
                "epsilon": epsilon,
                "delta": DELTA,
                "protect_distance_m": PROTECT_M,
                "readings": rounds,
                "keyholder": keyholder,
            },
            "rounds": {"gather_s": 10.0, "every_s": EVERY_S, "solve_s": 60.0},
            # Everything is on this machine, and the broker is gone with it.
            "mqtt": {"host": broker[0], "port": broker[1], "insecure": True},
        }
    )


# How a demonstration ends: truth beside map, what was promised, what was spent, a picture.


def print_summary(
    console: Console, room: Room, heard: Audience, picture: Path, seeded: bool
) -> None:
    """Print the end of a demonstration along a line, and write its picture."""
    mass = None if heard.best is None else np.array(heard.best["mass"], dtype=np.float64)
    long_m = room.query.grid.shape[0] * cell_m(room.query.grid)
    off = compute_scores(room.heat, mass)["emd_l1"]
    guess = score_blind_guess(room.heat) or 0.0
    console.print()
    if mass is not None and off is not None:
        console.print(_make_table(room, mass))
        console.print(
            f"All warmth together, the map is {off * long_m:.1f} m from the truth (earth mover's "
            f"distance); a guess that has seen no data is {guess * long_m:.1f} m from it."
        )
    for line in [] if heard.best is None else format_doubt_lines(certainty(heard.best)[2]):
        console.print(line)
    console.print("\n".join(["", *_promise(room, heard, seeded), ""]))
    titles = (
        f"The truth, which only the simulator knows: {len(room.scene.places)} people",
        "What the wire carried: every dot was blurred before it left its thermometer",
        "What was recovered: no map"
        if off is None
        else f"What was recovered: {off * long_m:.1f} m from the truth (a guess without data: "
        f"{guess * long_m:.1f} m)",
    )
    _draw(room, heard, mass, titles, picture)
    console.print(f"Picture: {picture}", soft_wrap=True)


def _make_table(room: Room, mass: Floats) -> Table:
    """Return each true source beside the recovered place that is nearest to it."""
    grid, found = room.query.grid, find_warmest_places(mass, room.query.grid)
    table = Table("person", "stood at", "the map says", "apart")
    for number, place in enumerate(room.scene.places, 1):
        nearest = min(found, key=lambda one: abs(float(one.at[0]) - place), default=None)
        seen = (
            ("nothing near", "")
            if nearest is None
            else (
                f"{nearest.share:.0%} of the warmth near {format_place(nearest.at, grid)}",
                f"{abs(float(nearest.at[0]) - place):.1f} m",
            )
        )
        table.add_row(str(number), format_place(place, grid), *seen)
    return table


def _promise(room: Room, heard: Audience, seeded: bool) -> list[str]:
    """Return the guarantee, and what is left of it."""
    guarantee = plan_first_round(room.query).guarantee
    if seeded:
        guarantee = guarantee._replace(trust=SEEDED)
    lines = describe_promise(room.query, guarantee)
    if heard.budget is not None:
        lines.append(
            f"Budget: epsilon {heard.budget['epsilon_spent']:.2f} of "
            f"{heard.budget['epsilon']:.2f} spent; rounds left: {heard.budget['rounds_left']}."
        )
    if seeded:
        lines.append("With --seed the noise is repeatable: nothing of this is private.")
    return lines


def _draw(room: Room, heard: Audience, mass: Floats | None, titles: Any, path: Path) -> None:
    from .picture import Picture, draw_picture  # half a second

    exponent = params_of(plan_first_round(room.query)).exponent
    values = np.array([event["values"] for event in heard.releases], dtype=np.float64)
    sent = np.ldexp(values.reshape(-1, len(room.temperatures)), -exponent)
    places = room.sensors.places_m
    known = () if heard.best is None else certainty(heard.best)
    shown = (room.query.grid, room.heat, room.temperatures, places, sent, mass, titles)
    picture = Picture(*shown, *known)
    write_all({path: lambda half: draw_picture(picture, half)})


def run_demo(
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
    parse_ratio_flag(epsilon, "--epsilon")
    make_folder(folder)
    picture = folder / "veil.png"
    check_writable([picture])
    logs.log_to_stderr(logging.ERROR, plain=True)
    console, over, health = Console(), threading.Event(), Health(*PARTS)
    with ExitStack() as stack:
        stops = stack.enter_context(call_on_signals(over.set))
        page = stack.enter_context(Page("127.0.0.1", port, health=health))
        broker = stack.enter_context(run_broker())
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="heatveil-")))
        deployment = make_corridor_deployment(
            folder=temporary,
            sensors=sensors,
            epsilon=epsilon,
            rounds=rounds,
            keyholder=seed is not None,
            broker=(broker.host, broker.port),
        )
        query, world = config.make_query(deployment), np.random.default_rng(seed)
        room = Room(query, place_two_people(query, world), world)
        keys: Any = {} if seed is None else {"fresh": make_seeded_keys(b"demo %d" % seed)}
        made = enrol.enrol_fleet("demo", sensors, keyholder=seed is not None, **keys)
        place = budgets.keep_slots_in_memory()  # keys and budgets die with the demonstration
        budgets.write_first_budgets(
            made, make_first_limits(query, deployment.rounds.every_s), place
        )
        devices, _ = budgets.boot_devices(made.secrets, place)
        console.print(
            f"{PEOPLE} people have stood in a corridor of {LENGTH_M:g} m; "
            f"{sensors} thermometers feel the warmth.\nBroker: {broker.kind} on {broker.host}:"
            f"{broker.port}, in the clear, for this machine alone. Live page: {page.url}",
            highlight=False,
        )
        heard = Audience(console, query.grid, rounds)
        tell = pass_to_all(
            heard.take_event, make_page_listener(page, query, seeded=seed is not None)
        )
        known = enrol.derive_gateway_half(made.secrets)
        service = stack.enter_context(Service(deployment, known, on_event=tell, health=health))
        page.attach(reader=stack.enter_context(closing(Reader(find_place(deployment)))))
        stack.enter_context(
            Crowd(deployment.mqtt, make_room_fleet(room, devices))
        ).wait_connected()
        stops.append(service.stop)
        if not over.is_set():
            service.wait_connected()
            for _ in range(rounds):  # which waits for the map of each
                service.run_rounds(1)
        if not over.is_set() or heard.best is not None:
            print_summary(console, room, heard, picture, seeded=seed is not None)
        if keep and not over.is_set():
            console.print(f"Still running, with the page at {page.url} (Ctrl-C ends it)")
            over.wait()
        elif not over.is_set():
            console.print("The page ends with this; --keep leaves it up.")
