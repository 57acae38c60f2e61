"""One worker of a site that has several, until it is told to stop: `heatveil work`."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import structlog

from .. import config, logs
from ..deployment import Deployment
from ..enrolment.enrol import Devices, load_devices
from ..faults import OperatorFault
from ..operate.guarding import guard_of
from ..operate.quarantine import Quarantine
from ..storage.store import Store
from ..telling import Event
from ..workers.naming import holder
from ..workers.worker import Worker
from .hosting import on_signal

log = structlog.get_logger()


def work(path: Path, name: str | None, say: Callable[[str], None]) -> None:
    """Take a share of a site's parts and work on it.

    Args:
        name: of this worker, for people; the machine's own else.

    Raises:
        OperatorFault: the file, the devices or the database is at fault.
    """
    logs.to_stderr()
    deployment = config.load(path)
    check_parts(deployment)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    over = threading.Event()
    with ExitStack() as stack:
        store = Store.of(deployment)
        stack.callback(store.close)
        guard = guard_of(deployment, devices.by_name, store.opened_s())
        # Whom we find guilty is written down; the leader, who reads it, tells the broker.
        minutes = deployment.guard.minutes
        stack.enter_context(Quarantine(store, None, guard, _nobody, minutes=minutes))
        stack.enter_context(on_signal(over.set))
        worker = stack.enter_context(Worker(deployment, devices, holder(name), store, guard=guard))

        def again() -> None:
            found = _again(deployment, worker)
            guard.renew(deployment.guard, found.by_name)
            worker.reload(found)

        stack.enter_context(on_hangup(again))
        say(
            f"working for site {deployment.site.name}, in {deployment.workers.partitions} parts, "
            "until Ctrl-C; SIGHUP has the devices loaded again"
        )
        over.wait()


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


def _again(deployment: Deployment, worker: Worker) -> Devices:
    """Return the devices as their file has them now; as they were, where it is broken."""
    try:
        found = load_devices(deployment.site.devices, deployment.site.name)
    except OperatorFault as fault:
        log.error("the devices stay as they were", why=str(fault))
        return worker.devices
    log.info("devices loaded again", devices=len(found.by_name))
    return found


@contextmanager
def on_hangup(do: Callable[[], None]) -> Iterator[None]:
    """Call this on SIGHUP, for as long as the block lasts."""
    before = signal.signal(signal.SIGHUP, lambda number, frame: do())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
