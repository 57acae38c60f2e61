"""One worker of a site that has several, until it is told to stop: `heatveil work`."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from .. import config, logs
from ..deployment import Deployment
from ..enrolment.enrol import Devices, load_devices
from ..faults import OperatorFault
from ..storage.store import Store
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
    store = Store.of(deployment)
    try:
        with (
            on_signal(over.set),
            Worker(deployment, devices, holder(name), store) as worker,
            on_hangup(lambda: worker.reload(_again(deployment, worker))),
        ):
            say(
                f"working for site {deployment.site.name}, in "
                f"{deployment.workers.partitions} parts, until Ctrl-C; SIGHUP has the devices "
                "loaded again"
            )
            over.wait()
    finally:
        store.close()


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
