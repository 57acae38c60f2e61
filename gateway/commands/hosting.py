"""The gateway of a deployment with its page, until it is told to stop: `heatveil serve`."""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from edge.thermal import Params
from recovery.guarantee import from_json
from recovery.thermal import Query

from .. import config, logs
from ..enrolment.enrol import load_devices
from ..operate.health import Health
from ..operate.metrics import Metrics
from ..operate.vitals import PARTS
from ..serving import Service
from ..storage.places import place_of
from ..storage.reader import Reader
from ..telling import Event
from ..web import token
from ..web.server import Page
from .choices import first_round
from .promise import in_words
from .watch import SEEDED

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last when a terminal closes


@contextmanager
def on_signal(*stops: Callable[[], None]) -> Iterator[list[Callable[[], None]]]:
    """Call these on Ctrl-C, SIGTERM and SIGHUP, instead of dying, for as long as the block lasts.

    Yields the list of them, to which more may be added.

    Whoever asks twice does not want to wait: the second time is a KeyboardInterrupt.
    """
    told, calls = False, list(stops)

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal told
        if told:
            raise KeyboardInterrupt
        told = True
        for stop in calls:
            stop()

    # Under nohup the closing of a terminal is to be ignored, and is.
    before: dict[Any, Any] = {
        number: signal.signal(number, handler)
        for number in SIGNALS
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield calls
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def shown(page: Page, query: Query, seeded: bool = False) -> Callable[[Event], None]:
    """Return what takes the service's events to the page, with words and units for people.

    Args:
        seeded: the noise can be repeated; then the page says so, whatever the Round said.
    """
    exponent = Params(*first_round(query).params).exponent

    def show(event: Event) -> None:
        if event["kind"] == "release":
            event = {**event, "exponent": exponent}  # a grain is 2**-exponent kelvin
        if seeded and "guarantee" in event:
            event = {**event, "guarantee": {**event["guarantee"], "trust": SEEDED}}
        page.feed.put(event)
        if event["kind"] == "map":
            promise = from_json(json.dumps(event["guarantee"]))
            page.feed.put({"kind": "promise", "sentences": in_words(query, promise)})

    return show


def serve(path: Path, rounds: int | None, say: Callable[[str], None]) -> None:
    """Run the gateway of a deployment file.

    Raises:
        OperatorFault: the file, the devices, the store, the port or the broker is at fault.
    """
    logs.to_stderr()
    deployment = config.load(path)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    over, health, metrics = threading.Event(), Health(*PARTS), Metrics()
    where, secret = deployment.page, token.read(deployment.page.token_file)
    with (
        Page(where.host, where.port, token=secret, health=health, metrics=metrics) as page,
        Service(
            deployment,
            devices,
            on_event=shown(page, config.query(deployment)),
            health=health,
            metrics=metrics,
        ) as service,
        closing(Reader(place_of(deployment))) as reader,
        on_signal(over.set, service.stop),
    ):
        page.attach(reader=reader)
        say(f"live page: {page.url}")
        say(service.run(rounds))
        if rounds is None and not over.is_set():
            say(f"the page stays up at {page.url} until Ctrl-C")
            over.wait()  # the promise is spent, but its map can be seen until we are told
