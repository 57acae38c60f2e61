"""Defences switched off, for controls: a test that cannot fail has shown nothing.

Each function takes one defence of the gateway, or of the devices, out of the running program.
"""

import json
import time
from collections.abc import Callable
from typing import Any

from .dying import dying, publishing_first


def early_ack() -> None:
    """The broker is told that a message is safe before anybody has stored it."""
    from gateway import serving

    class Early(serving.Link):  # type: ignore[misc, name-defined]
        def __init__(self, *args: Any, on_message: Any = None, **words: Any) -> None:
            def taken(link: Any, message: Any) -> None:
                super().ack(message)
                on_message(link, message)

            super().__init__(*args, on_message=taken, **words)

        def ack(self, message: Any) -> None:
            pass

    serving.Link = Early  # type: ignore[misc]


def slow_store(seconds: float = 0.3) -> None:
    """No defence: a disk that takes its time, so that a kill finds something half done."""
    from gateway.storage import store

    keep = store.Store.keep

    def late(*args: Any, **words: Any) -> None:
        time.sleep(seconds)
        keep(*args, **words)

    store.Store.keep = late  # type: ignore[method-assign, assignment]


def slow_commit() -> None:
    """No defence: a disk that takes two seconds."""
    slow_store(2.0)


def impatient() -> None:
    """A store that does not answer is asked once, and never again."""
    from gateway.intake import writer

    writer.patiently = lambda _stopping, do, *args, **words: do(*args, **words)  # type: ignore[assignment]


def untagged() -> None:
    """An acknowledgement goes out whatever connection its message came over."""
    from gateway.mqtt import service

    service.Link.ack = lambda link, message: link._client.ack(message.token[1], 1)  # type: ignore[method-assign, assignment, return-value]


def short_keepalive() -> None:
    """Whoever is silent for two seconds is given up."""
    from gateway.mqtt import service

    service.KEEPALIVE_S = 2


def waits_for_broker() -> None:
    """The page is shown when the broker has answered, and not before."""
    from gateway import serving
    from gateway.mqtt import service

    class Waiting(serving.Link):  # type: ignore[misc, name-defined]
        def __init__(self, *args: Any, **words: Any) -> None:
            super().__init__(*args, **words)
            self.wait(3.0)

    serving.Link = Waiting  # type: ignore[misc]
    assert service


def no_checkpoint() -> None:
    """The log of the store is never truncated."""
    from gateway.storage import store

    store.Store.checkpoint = lambda *_: None  # type: ignore[method-assign, assignment]


def forgetful() -> None:
    """What came before is not known again."""
    from gateway.intake.outcomes import Known
    from gateway.storage import store

    store.Store.known = lambda *_: Known({}, {}, frozenset())  # type: ignore[method-assign, assignment]


def endless() -> None:
    """A round takes answers for ever."""
    from gateway import rounds

    refusal = rounds.OpenRound.refusal
    rounds.OpenRound.refusal = lambda self, report, now_s, *more: refusal(  # type: ignore[method-assign, assignment]
        self, report, -1e9, *more
    )


def fragile() -> None:
    """What a decoder throws is nobody's to catch."""
    from edge import wire
    from gateway.intake import genuine, writer

    def bare(message: Any, devices: Any) -> Any:
        sender = message.topic.split("/")[-2]
        one = devices.by_name[sender]
        report = wire.unpack_report(message.payload, one.mac_key, message.topic, sender)
        return genuine.Arrival(report, message, one.key_id)

    from gateway.intake import door

    door.authenticate = bare
    writer.Intake._handle_alone = writer.Intake._handle  # type: ignore[method-assign, assignment]


def unverified() -> None:
    """Whatever MAC a message has, it is right."""
    from edge import wire

    wire.same_bytes = lambda *_: True


def wall_clock() -> None:
    """Every deadline is by the clock on the wall."""
    time.monotonic = time.time


def queueing() -> None:
    """What a viewer has not fetched waits for it, however much that is."""
    from gateway.web import feed

    def offer(viewer: Any, told: Any) -> None:
        viewer._waiting[len(viewer._waiting)] = told
        viewer.news.set()

    feed.Viewer.offer = offer  # type: ignore[method-assign]


def inline() -> None:
    """Maps are drawn where everything else is done, by something that hangs."""
    from gateway import serving

    class Here:
        def __init__(self, *_: Any) -> None:
            pass

        def __enter__(self) -> "Here":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def stop(self) -> None:
            pass

        def recover(self, *_: Any) -> None:
            time.sleep(3600)

    serving.Solver = Here  # type: ignore[misc, assignment]


SWITCHES: dict[str, Callable[[], None]] = {
    one.__name__: one
    for one in (
        early_ack,
        slow_store,
        slow_commit,
        impatient,
        untagged,
        short_keepalive,
        waits_for_broker,
        no_checkpoint,
        forgetful,
        endless,
        fragile,
        unverified,
        publishing_first,
        wall_clock,
        queueing,
        inline,
    )
}


def switch(words: str) -> None:
    """Apply switches, a JSON list of names."""
    for name in json.loads(words):
        step, dies, when = name.partition(":")
        if dies:
            dying(step, when)()
        else:
            SWITCHES[name]()
