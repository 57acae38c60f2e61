"""The gateway of a deployment, until it is told to stop: `heatveil serve`, `work` and `once`."""

import json
import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import numpy as np
import typer

from recovery.maps.guarantee import from_json, restore_codes, to_json
from recovery.maps.sentence import describe_sentence

from .. import logs
from ..devices.enrol.enrol import Devices, load_devices
from ..faults import OperatorFault, ReplacedFault, TakenFault
from ..logs import log
from ..mechanisms import MECHANISMS, find_for_deployment, find_for_query, find_serving
from ..mechanisms.flags import convert_plan_faults
from ..mechanisms.scores import SEEDED
from ..service import telling
from ..service.intake import writer
from ..service.operate.health import PARTS, Health
from ..service.operate.metrics import Metrics
from ..service.operate.quarantine import Quarantine, make_guard
from ..service.operate.supervision import Reloading, Supervised, reread_files
from ..service.serving import Service
from ..service.telling import Event
from ..service.workers.leases import make_unique_name
from ..service.workers.worker import Worker
from ..settings import config
from ..settings.deployment import Deployment
from ..store.places import find_place
from ..store.reader import Reader, open_reader
from ..store.store import Store
from ..web import access
from ..web.floor import Neighbour, read_floor
from ..web.server import Page
from . import flags
from .check import is_gateway_running
from .records.show import draw_letter_map

# What ends a command that runs on, and what makes it read its files again: signals.

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last when a terminal closes


@contextmanager
def call_on_signals(
    *stops: Callable[[], None], reload: Callable[[], None] | None = None
) -> Iterator[list[Callable[[], None]]]:
    """Call these on Ctrl-C, SIGTERM and SIGHUP, instead of dying, for as long as the block lasts.

    Yields the list of them, to which more may be added.

    Whoever asks twice does not want to wait: the second time is a KeyboardInterrupt.

    Args:
        reload: what SIGHUP is for, unless it came because our terminal has closed.
    """
    told, calls = False, list(stops)
    terminal = has_terminal()

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal told
        if number == signal.SIGHUP and reload is not None and terminal == has_terminal():
            reload()
            return
        if number in ignored:
            return
        if told:
            raise KeyboardInterrupt
        told = True
        for stop in calls:
            stop()

    # Under nohup the closing of a terminal is to be ignored, and is; who asks to reload has it.
    ignored = {number for number in SIGNALS if signal.getsignal(number) == signal.SIG_IGN}
    before: dict[Any, Any] = {
        number: signal.signal(number, handler)
        for number in SIGNALS
        if number not in ignored or (number == signal.SIGHUP and reload is not None)
    }
    try:
        yield calls
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def exit_cleanly_on_sigterm() -> Iterator[None]:
    """Take SIGTERM for the end of a command before `call_on_signals`, too, and not for a fault.

    By then a service may be on the broker already, or wait for years as a standby; the signal
    interrupts whatever it is, and what was begun is undone as the block is left.
    """
    try:
        yield
    except SystemExit as end:
        if end.code != 128 + signal.SIGTERM:
            raise


def has_terminal() -> bool:
    """Return whether there is a terminal that we belong to."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


# The gateway of a deployment with its page, until it is told to stop: `heatveil serve`.


def make_page_listener(
    page: Page, query: Any, seeded: bool = False, neighbours: int = 0
) -> Callable[[Event], None]:
    """Return what takes the service's events to the page, with words and units for people.

    Args:
        seeded: the noise can be repeated; then the page says so, whatever the Round said.
        neighbours: how many other rooms the page can draw.
    """
    mechanism = find_for_query(query)
    with convert_plan_faults():
        planned = mechanism.plan(query, [])
        beside = find_serving(mechanism.name).page_values(planned)

    @lru_cache(maxsize=8)
    def promise(guarantee: str) -> Event:
        given = from_json(guarantee)  # as text alone, and the page says it in German, too
        made = planned.guarantee._replace(**({"trust": SEEDED} if seeded else {}))
        said = mechanism.promise(query, restore_codes(given, made))
        told = {"sentences": [str(one) for one in said], "said": [*map(describe_sentence, said)]}
        return {"kind": "promise", "curve": mechanism.curve(query, given), **told}

    def as_told(guarantee: Event) -> Event:
        return {**guarantee, "trust": str(SEEDED)} if seeded else guarantee

    # Of thousands of sensors that takes seconds, for which a round would wait with its first map.
    promise(json.dumps(as_told(json.loads(to_json(planned.guarantee)))))

    def show(event: Event) -> None:
        if event["kind"] == "release":
            event = {**event, **beside}
        if event["kind"] == "ready":  # for releases of the store, which hold numbers alone
            event = {**event, "wire": beside, "neighbours": neighbours}
        if "guarantee" in event:
            event = {**event, "guarantee": as_told(event["guarantee"])}
        page.feed.put_event(event)
        if event["kind"] == "map":
            page.feed.put_event(promise(json.dumps(event["guarantee"])))

    return show


def pass_to_all(*listeners: Callable[[Event], None]) -> Callable[[Event], None]:
    """Return what passes an event on to all of these, in their order."""

    def tell(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return tell


def read_page_settings(deployment: Deployment) -> dict[str, Any]:
    """Return where a page listens and whom it lets in, for the arguments of `Page`.

    Raises:
        OperatorFault: a file of a token is at fault.
    """
    where = deployment.page
    return {
        "host": where.host,
        "token": access.read_token(where.token_file),
        "viewer_token": access.read_token(where.viewer_token_file, "viewer_token_file"),
        "hosts": where.hosts,
    }


RELOADED = "reloaded the deployment file; it holds once the open round is over"


@dataclass
class ConfigFiles:
    """What the files said when they were read last, and were right."""

    path: Path
    deployment: Deployment
    devices: Devices

    @classmethod
    def read(cls, path: Path) -> "ConfigFiles":
        """Return what they say now.

        Raises:
            OperatorFault: one is at fault.
        """
        deployment = config.load_deployment(path)
        find_serving(deployment.rounds.mechanism)
        return cls(path, deployment, load_devices(deployment.site.devices, deployment.site.name))

    def reload(self, take: Callable[[Deployment, Devices], None]) -> None:
        """Read them again, and have it taken what may change while we run."""
        try:
            new = reread_files(self.path, self.deployment, self.devices)
            take(*new)
            self.deployment, self.devices = new
            log.info(RELOADED, devices=len(new[1].by_name))
        except OperatorFault as fault:
            log.error(
                "the changed deployment was refused; the gateway goes on with the one before",
                why=" ".join(str(fault).split()),
            )


@contextmanager
def wait_on_store_fault(hold: bool) -> Iterator[None]:
    """Rest where the block ends for a store that is not what it was, until we are told to stop.

    Docker starts again whatever ends, on what by then may be an empty store. Nobody is
    answered meanwhile, so that a check of our health sees it.
    """
    try:
        yield
    except OperatorFault as fault:
        if not hold or fault.status != ReplacedFault.status:
            raise
        log.error(
            "the gateway has stopped working and waits; put the store right, then restart it",
            why=str(fault),
        )
        with exit_cleanly_on_sigterm():
            threading.Event().wait()


def serve(
    path: flags.Config,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="End after so many rounds; else run on.")
    ] = None,
    hold: Annotated[
        bool,
        typer.Option(
            "--hold",
            help="Instead of leaving with status 4, say why and rest until told to stop: where "
            "whoever starts it again knows no statuses, as Docker does.",
        ),
    ] = False,
) -> None:
    """Run the gateway of a deployment, with its page, until it is told to stop."""
    with wait_on_store_fault(hold):
        run_gateway(path, rounds)


@exit_cleanly_on_sigterm()  # whole: a page answers before the block below is entered
def run_gateway(path: Path, rounds: int | None = None) -> None:
    """Run the gateway of a deployment file.

    Raises:
        OperatorFault: the file, the devices, the store, the port or the broker is at fault.
    """
    logs.log_to_stderr()
    now = ConfigFiles.read(path)
    deployment = now.deployment
    over, health, metrics = threading.Event(), Health(*PARTS), Metrics()
    query, manager, where = config.make_query(deployment), Supervised(), deployment.page

    def reload() -> None:
        manager.notify_reloading()
        try:
            now.reload(service.replace_deployment)
        finally:  # a manager waits for it, whatever became of the files
            manager.notify_reloaded()

    neighbours, lets_in = _read_neighbours(deployment), read_page_settings(deployment)
    try:
        page = Page(
            port=where.port,
            health=health,
            metrics=metrics,
            probed=where.probed,
            picture=where.picture,
            neighbours=neighbours,
            **lets_in,
        )
    except TakenFault as fault:
        if is_gateway_running(deployment):
            raise TakenFault(
                f"a gateway of site {deployment.site.name} runs already, and one is enough; it "
                "has the page. Stop it first to start another"
            ) from fault
        raise
    with (
        page,
        Service(
            deployment,
            now.devices,
            on_event=pass_to_all(
                manager.take_event, make_page_listener(page, query, neighbours=len(neighbours))
            ),
            health=health,
            metrics=metrics,
        ) as service,
        closing(Reader(find_place(deployment))) as reader,
        Reloading(reload) as reloading,
        call_on_signals(over.set, service.stop, reload=reloading.request),
        manager,
    ):
        service.identity.call_on_loss(over.set)
        page.attach(reader=reader, list_keys=lambda: now.devices.key_ids)
        manager.moving = service.is_moving
        writer.collect_garbage_seldom()
        typer.echo(f"live page: {page.url}")
        if rounds is not None:  # who waits for them must not wait for a broker that never comes
            service.wait_connected()
        typer.echo(service.run_rounds(rounds))
        if rounds is None and not over.is_set():
            typer.echo(f"the page stays up at {page.url} until Ctrl-C")
            over.wait()  # the budget is spent, but its map can be seen until we are told
            service.identity.check()


def _read_neighbours(deployment: Deployment) -> tuple[Neighbour, ...]:
    """Return the other rooms of the floor: none where one is at fault, for our rounds go on."""
    try:
        return read_floor(deployment)
    except OperatorFault as fault:
        log.warning(
            "the page leaves out the other rooms of the floor; correct [[page.floor]]",
            why=str(fault),
        )
        return ()


# One round and its map, on a terminal, and nothing left running: `heatveil once`.


def once(path: flags.Config) -> None:
    """Run one round of a deployment, print its map, and leave nothing running."""
    logs.log_to_stderr(logging.WARNING)
    deployment = config.load_deployment(path)
    find_serving(deployment.rounds.mechanism)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    heard: list[Event] = []
    with (
        Service(deployment, devices, on_event=heard.append) as service,
        call_on_signals(service.stop),
    ):
        if rest_s := _compute_pause_left_s(deployment):
            typer.echo(
                f"the next round may open in {rest_s:.0f} s, for [rounds] every_s is "
                f"{deployment.rounds.every_s:g} and devices refuse to be asked sooner; "
                "waiting till then, Ctrl-C ends it"
            )
        service.wait_connected()
        why = service.run_rounds(1)
    began = next((index for index, event in enumerate(heard) if event["kind"] == "round"), None)
    if began is None:  # refused, stopped, or all spent: what was drawn again is not of this round
        typer.echo(f"no round was run: {why}")
        raise typer.Exit(1)
    if not _tell(
        heard[began:],
        why,
        len(devices.by_name),
        find_for_deployment(deployment).words.most_of,
    ):
        raise typer.Exit(1)


def _tell(heard: list[Event], why: str, enrolled: int, most_of: str) -> bool:
    """Say what came of a round; return whether there is a map."""
    found = {event["kind"]: event for event in heard}
    release, map = found.get("release"), found.get("map")
    if release is None:
        typer.echo(f"the round stays open: {why}")
        return False
    typer.echo(f"round {release['number']}: {release['reports']} of {enrolled} devices answered")
    if map is None:
        typer.echo(f"no estimate: {why if release['reports'] else telling.SILENCE}")
        return False
    for line in format_map_event(map, most_of):
        typer.echo(line)
    return map["status"] in ("solved", "nobody")


def _compute_pause_left_s(deployment: Deployment) -> float:
    """Return how much of the pause after the last round is left; 0 where one is still open."""
    with open_reader(deployment) as reader:
        last = reader.list_rounds(1)
    if not last or last[0].outcome == "open":
        return 0.0
    return max(last[0].opened_s + deployment.rounds.every_s - time.time(), 0.0)


def format_map_event(event: Event, most_of: str) -> list[str]:
    """Return a map in letters, darker where more of it is; or why there is none."""
    if event["status"] == "nobody":
        return [f"map of round {event['number']}: {event['why']}"]
    if event["status"] != "solved":
        return [f"no estimate: {event['why']}"]
    total = f"map of round {event['number']}, in all {event['total']:.3g}"
    rows = draw_letter_map(
        np.array(event["mass"]), shutil.get_terminal_size().columns, sys.stdout.encoding
    )
    return [f"{total}, darkest where most of {most_of}:", *rows]


# One worker of a site that has several, until it is told to stop: `heatveil work`.

WORKER_PARTS = ("store", "broker", "parts")  # of a worker, as /readyz names them


def work(
    path: flags.Config,
    name: Annotated[
        str | None, typer.Option(help="Of this worker, in logs; the machine's own else.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="For its /readyz and /metrics; else it has none."),
    ] = None,
) -> None:
    """Take a share of a site's devices, beside its gateway: see [workers] in the file."""
    logs.log_to_stderr()
    deployment = config.load_deployment(path)
    check_has_partitions(deployment)
    now = ConfigFiles.read(path)
    over, health, metrics = threading.Event(), Health(*WORKER_PARTS), Metrics()
    with ExitStack() as stack:
        stack.enter_context(exit_cleanly_on_sigterm())
        store = Store.open_for(deployment)
        stack.callback(store.close)
        if port is not None:
            lets_in = read_page_settings(deployment)
            page = stack.enter_context(Page(port=port, health=health, metrics=metrics, **lets_in))
            typer.echo(f"health and metrics: {page.url}readyz and {page.url}metrics")
        guard = make_guard(deployment, now.devices.by_name, store.find_opened_s())
        # Whom we find guilty is written down; the leader, who reads it, tells the broker.
        minutes = deployment.guard.minutes
        stack.enter_context(Quarantine(store, None, guard, lambda event: None, minutes=minutes))
        us = deployment, now.devices, make_unique_name(name), store
        worker = stack.enter_context(
            Worker(
                *us, say=health.set_part, away=guard.allow_backlog, metrics=metrics, guard=guard
            )
        )

        def take(deployment: Deployment, devices: Devices) -> None:
            guard.replace_limits(deployment.guard, devices.by_name)
            worker.replace_devices(devices)

        reloading = stack.enter_context(Reloading(lambda: now.reload(take)))
        stack.enter_context(call_on_signals(over.set, worker.stop, reload=reloading.request))
        typer.echo(
            f"working for site {deployment.site.name}, in {deployment.workers.partitions} parts, "
            "until Ctrl-C; SIGHUP has the devices loaded again"
        )
        writer.collect_garbage_seldom()
        store.identity.call_on_loss(over.set)
        over.wait()
        store.identity.check()


def check_has_partitions(deployment: Deployment) -> None:
    """Check that there are parts to take.

    Raises:
        OperatorFault: the deployment is for one gateway alone.
    """
    if deployment.workers.partitions == 1:
        raise OperatorFault(
            "partitions under [workers] is 1, and heatveil serve takes that one itself, so a "
            "worker would have no devices. Set partitions to several times the number of "
            "workers, and postgresql under [store]"
        )


# Everything on this machine: `heatveil demo`, of the mechanism that has one.


def demo(
    sensors: Annotated[int, typer.Option(min=2, max=1000, help="Virtual thermometers.")] = 50,
    epsilon: Annotated[str, typer.Option(help="A ratio, for all rounds together.")] = "8/1",
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="Readings of each sensor.")] = 4,
    seed: flags.Seed = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave it running until Ctrl-C.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the page; 0 for any.")] = 0,
    folder: Annotated[Path, typer.Option(help="Where veil.png is written.")] = Path("demo"),
) -> None:
    """Everything on this machine: broker, gateway, live page and virtual sensors."""
    run = next(one.demo for one in MECHANISMS if one.demo is not None)
    run(sensors, epsilon, rounds, seed=seed, keep=keep, port=port, folder=folder)
