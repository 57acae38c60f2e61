"""The gateway of a deployment with its page, until it is told to stop: `heatveil serve`."""

import json
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from recovery.maps.guarantee import from_json

from .. import config, logs, mechanisms
from ..deployment import Deployment
from ..enrolment.enrol import Devices, load_devices
from ..faults import OperatorFault
from ..intake import garbage
from ..operate.health import Health
from ..operate.metrics import Metrics
from ..operate.reloading import Reloading, reread
from ..operate.supervised import Supervised
from ..operate.vitals import PARTS
from ..serves.table import named
from ..serving import Service
from ..storage.places import place_of
from ..storage.reader import Reader
from ..telling import Event
from ..web import token
from ..web.server import Page
from .choices import refused
from .signals import ending_well
from .signals import on_signal as on_signal
from .watch import SEEDED

log = structlog.get_logger()


def shown(
    page: Page, query: Any, seeded: bool = False, mechanism: str = "thermal"
) -> Callable[[Event], None]:
    """Return what takes the service's events to the page, with words and units for people.

    Args:
        seeded: the noise can be repeated; then the page says so, whatever the Round said.
    """
    entry = named(mechanism)
    with refused():
        beside = entry.shown(mechanisms.named(mechanism).plan(query, []))

    def show(event: Event) -> None:
        if event["kind"] == "release":
            event = {**event, **beside}
        if seeded and "guarantee" in event:
            event = {**event, "guarantee": {**event["guarantee"], "trust": SEEDED}}
        page.feed.put(event)
        if event["kind"] == "map":
            promise = from_json(json.dumps(event["guarantee"]))
            page.feed.put({"kind": "promise", "sentences": entry.in_words(query, promise)})

    return show


def each(*listeners: Callable[[Event], None]) -> Callable[[Event], None]:
    """Return what passes an event on to all of these, in their order."""

    def tell(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return tell


@dataclass
class Now:
    """What the files said when they were read last, and were right."""

    path: Path
    deployment: Deployment
    devices: Devices

    def reload(self, service: Service, manager: Supervised) -> None:
        """Read them again, and go on with what may change while we run."""
        manager.reloading()
        try:
            new = reread(self.path, self.deployment, self.devices)
            service.renew(*new)
            self.deployment, self.devices = new
            log.info("the deployment file was read again", devices=len(new[1].by_name))
        except OperatorFault as fault:
            log.error("the deployment stays as it was", why=" ".join(str(fault).split()))
        except Exception:
            log.exception("the deployment stays as it was")
        manager.reloaded()


def serve(path: Path, rounds: int | None, say: Callable[[str], None]) -> None:
    """Run the gateway of a deployment file.

    Raises:
        OperatorFault: the file, the devices, the store, the port or the broker is at fault.
    """
    logs.to_stderr()
    deployment = config.load(path)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    now = Now(path, deployment, devices)
    over, health, metrics = threading.Event(), Health(*PARTS), Metrics()
    query, mechanism = config.query(deployment), deployment.rounds.mechanism
    manager = Supervised()
    where = deployment.page
    secret = token.read(where.token_file)
    known: Any = {"token": secret, "hosts": where.hosts, "health": health, "metrics": metrics}
    known["probed"] = where.probed
    with (
        ending_well(),
        Page(where.host, where.port, **known) as page,
        Service(
            deployment,
            devices,
            on_event=each(manager.hear, shown(page, query, mechanism=mechanism)),
            health=health,
            metrics=metrics,
        ) as service,
        closing(Reader(place_of(deployment))) as reader,
        Reloading(lambda: now.reload(service, manager)) as reloading,
        on_signal(over.set, service.stop, reload=reloading.ask),
        manager,
    ):
        service.identity.on_loss(over.set)
        page.attach(reader=reader)
        manager.moving = service.moving
        garbage.seldom()
        say(f"live page: {page.url}")
        if rounds is not None:  # who waits for them must not wait for a broker that never comes
            service.wait_connected()
        say(service.run(rounds))
        if rounds is None and not over.is_set():
            say(f"the page stays up at {page.url} until Ctrl-C")
            over.wait()  # the promise is spent, but its map can be seen until we are told
            service.identity.check()
