"""One worker of a site that has several, until it is told to stop: `heatveil work`."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import structlog

from .. import config, logs
from ..deployment import Deployment
from ..enrolment.enrol import Devices, load_devices
from ..faults import OperatorFault
from ..intake import garbage
from ..operate.guard import Guard
from ..operate.guarding import guard_of
from ..operate.health import Health
from ..operate.metrics import Metrics
from ..operate.quarantine import Quarantine
from ..operate.reloading import Reloading, reread
from ..storage.store import Store
from ..telling import Event
from ..web import token
from ..web.server import Page
from ..workers.naming import holder
from ..workers.worker import Worker
from .signals import ending_well, on_signal

PARTS = ("store", "broker", "parts")  # of a worker, as /readyz names them

log = structlog.get_logger()


@dataclass
class Now:
    """What the files said when they were read last, and were right."""

    path: Path
    deployment: Deployment
    devices: Devices

    def reload(self, worker: Worker, guard: Guard) -> None:
        """Read them again, and go on with what may change while we run."""
        try:
            self.deployment, self.devices = reread(self.path, self.deployment, self.devices)
        except OperatorFault as fault:
            log.error("everything stays as it was", why=" ".join(str(fault).split()))
            return
        guard.renew(self.deployment.guard, self.devices.by_name)
        worker.reload(self.devices)
        log.info("devices loaded again", devices=len(self.devices.by_name))


def work(path: Path, name: str | None, port: int | None, say: Callable[[str], None]) -> None:
    """Take a share of a site's parts and work on it.

    Args:
        name: of this worker, for people; the machine's own else.
        port: where its health and its metrics are asked for, on [page] host; None for nowhere.

    Raises:
        OperatorFault: the file, the devices, the database or the port is at fault.
    """
    logs.to_stderr()
    deployment = config.load(path)
    check_parts(deployment)
    now = Now(path, deployment, load_devices(deployment.site.devices, deployment.site.name))
    over, health, metrics = threading.Event(), Health(*PARTS), Metrics()
    with ExitStack() as stack:
        store = Store.of(deployment)
        stack.callback(store.close)
        if port is not None:
            secret, hosts = token.read(deployment.page.token_file), deployment.page.hosts
            page = Page(
                deployment.page.host,
                port,
                token=secret,
                hosts=hosts,
                health=health,
                metrics=metrics,
            )
            stack.enter_context(page)
            say(f"health and metrics: {page.url}readyz and {page.url}metrics")
        guard = guard_of(deployment, now.devices.by_name, store.opened_s())
        # Whom we find guilty is written down; the leader, who reads it, tells the broker.
        minutes = deployment.guard.minutes
        stack.enter_context(Quarantine(store, None, guard, _nobody, minutes=minutes))
        us = deployment, now.devices, holder(name), store
        stack.enter_context(ending_well())
        worker = stack.enter_context(
            Worker(*us, say=health.say, away=guard.away, metrics=metrics, guard=guard)
        )
        reloading = stack.enter_context(Reloading(lambda: now.reload(worker, guard)))
        stack.enter_context(on_signal(over.set, worker.stop, reload=reloading.ask))
        say(
            f"working for site {deployment.site.name}, in {deployment.workers.partitions} parts, "
            "until Ctrl-C; SIGHUP has the devices loaded again"
        )
        garbage.seldom()
        store.identity.on_loss(over.set)
        over.wait()
        store.identity.check()


def _nobody(event: Event) -> None:
    """Hear of who is shut out: the leader tells it."""


def check_parts(deployment: Deployment) -> None:
    """Check that there are parts to take.

    Raises:
        OperatorFault: the deployment is for one gateway alone.
    """
    if deployment.workers.partitions == 1:
        raise OperatorFault(
            "partitions under [workers] is 1: a worker takes some of the parts that the devices "
            "are split into, and the one part there is belongs to heatveil serve. Set partitions "
            "to several times the number of workers, and postgresql under [store]"
        )
