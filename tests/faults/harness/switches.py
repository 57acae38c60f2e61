"""Defences switched off, for controls: a test that cannot fail has shown nothing.

Each function takes one defence of the gateway, or of the devices, out of the running program.
"""

import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock


def early_ack() -> None:
    """The broker is told that a message is safe before anybody has stored it."""
    from gateway.service.intake import writer

    put = writer.Intake.take_message

    def taken(intake: Any, bearer: Any, message: Any) -> None:
        bearer.acknowledge(message)
        put(intake, bearer, message)

    writer.Intake.take_message = taken  # type: ignore[method-assign]


def slow_store(seconds: float = 0.3) -> None:
    """No defence: a disk that takes its time, so that a kill finds something half done."""
    from gateway.store import store

    keep = store.Store.keep_batch

    def late(*args: Any, **words: Any) -> None:
        time.sleep(seconds)
        keep(*args, **words)

    store.Store.keep_batch = late  # type: ignore[method-assign, assignment]


def slow_commit() -> None:
    """No defence: a disk that takes two seconds."""
    slow_store(2.0)


def gated() -> None:
    """No defence: nothing is committed while there is a file named "gate" beside the store.

    A file named "waits" says that something waits for it.
    """
    import sys
    from pathlib import Path

    from gateway.store import store

    keep, gate = store.Store.keep_batch, Path(sys.argv[1]).with_name("gate")

    def late(*args: Any, **words: Any) -> None:
        while gate.exists():
            gate.with_name("waits").touch()
            time.sleep(0.01)
        keep(*args, **words)

    store.Store.keep_batch = late  # type: ignore[method-assign, assignment]


def undurable() -> None:
    """What PostgreSQL calls committed is what its own file calls so."""
    from gateway.store import postgres

    postgres.DURABLE = "SELECT 1"


def impatient() -> None:
    """A store that does not answer is asked once, and never again."""
    from gateway.service.intake import writer

    writer.retry_until_stored = lambda _stopping, do, *args, **words: do(*args, **words)  # type: ignore[assignment]


def untagged() -> None:
    """An acknowledgement goes out whatever connection its message came over."""
    from gateway.service.mqtt.service import Link

    settle = Link.acknowledge_batch

    def settled(link: Any, receipts: Any, messages: Any) -> None:
        number = link._standing.connections
        settle(link, receipts, [one._replace(token=(number, one.token[1])) for one in messages])

    Link.acknowledge_batch = settled  # type: ignore[method-assign]


def short_keepalive() -> None:
    """Whoever is silent for two seconds is given up."""
    from gateway.service.mqtt import service

    service.KEEPALIVE_S = 2


def any_file() -> None:
    """Whatever became of the store's file, what was written to it is told as kept."""
    from gateway.store.identity import Identity

    Identity.check = lambda *_: None  # type: ignore[method-assign, assignment]


def believing() -> None:
    """Whatever was asked that it does not know of, a ledger is taken for whole."""
    from gateway.store.store import Store

    Store.record_found_round = lambda *_: None  # type: ignore[method-assign, assignment]


def waits_for_broker() -> None:
    """The page is shown when the broker has answered, and not before."""
    from gateway.service import serving

    begin = serving.Uplink.__init__

    def begun(uplink: Any, *given: Any, **more: Any) -> None:
        begin(uplink, *given, **more)
        uplink.link.wait_connected(3.0)

    serving.Uplink.__init__ = begun  # type: ignore[method-assign]


def quick_chores() -> None:
    """No defence: what is done every few minutes is done every second."""
    from gateway.service.operate import health

    health.WRITE_BACK_S = 1.0


def no_checkpoint() -> None:
    """The log of the store is never truncated."""
    from gateway.store import store

    store.Store.truncate_wal = lambda *_: None  # type: ignore[method-assign, assignment]


def forgetful() -> None:
    """What came before is not known again."""
    from gateway.service.intake import writer
    from gateway.service.intake.outcomes import KnownFacts

    writer.read_known = lambda *_: KnownFacts({}, {}, frozenset())


def endless() -> None:
    """A round takes answers for ever."""
    from gateway.service import rounds

    refusal = rounds.OpenRound.find_refusal
    rounds.OpenRound.find_refusal = lambda self, report, now_s, *more: refusal(  # type: ignore[method-assign, assignment]
        self, report, -1e9, *more
    )


def fragile() -> None:
    """What is wrong with a message is everybody's fault, and ends the thread."""
    from gateway.service.intake import writer

    sift = writer.Door.sift_messages

    def sifted(*given: Any, **more: Any) -> Any:
        found = sift(*given, **more)
        if found.letters:
            raise ValueError(found.letters[0].why)
        return found

    writer.Door.sift_messages = sifted  # type: ignore[method-assign]
    writer.Intake._handle_alone = Mock(side_effect=SystemExit)  # type: ignore[method-assign, assignment]


def unverified() -> None:
    """Whatever MAC a message has, it is right."""
    from gateway.service.intake import door

    door.TopicMac.holds = lambda *_: True


def wall_clock() -> None:
    """The deadline of a round is by the clock on the wall."""
    from types import SimpleNamespace

    from gateway.service import steps
    from gateway.service.intake import writer

    wall: Any = SimpleNamespace(monotonic=time.time, time=time.time, sleep=time.sleep)
    steps.time = writer.time = wall


def queueing() -> None:
    """What a viewer has not fetched waits for it, however much that is."""
    from gateway.web import feed

    def offer(viewer: Any, told: Any) -> None:
        viewer._waiting[len(viewer._waiting)] = told
        viewer.news.set()

    feed.Viewer.offer_event = offer  # type: ignore[method-assign]


def told_once() -> None:
    """A broker is told what it is to retain, and never again."""
    from gateway.service.outbox import Outbox

    switch = Outbox.set_open

    def switched(box: Any, open: bool) -> None:
        box._standing.clear()
        switch(box, open)

    Outbox.set_open = switched  # type: ignore[method-assign]


def inline() -> None:
    """Maps are drawn where everything else is done, by something that hangs."""
    from gateway.service import serving

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
            print("it hangs", flush=True)
            time.sleep(3600)

    serving.Solver = Here  # type: ignore[misc, assignment]


# kill -9 of the gateway by itself, at a step that is named: no test could hit it from outside.

STEPS = ("open_round", "add_letters", "close_round", "keep_map", "mark_posted")


def dying(step: str, when: str) -> Callable[[], None]:
    """Return what makes the gateway die right before a step of the store, or right after."""

    def switch() -> None:
        from gateway.store.store import Store

        do = getattr(Store, step)

        def last(*args: Any, **words: Any) -> Any:
            if when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            done = do(*args, **words)
            os.kill(os.getpid(), signal.SIGKILL)
            return done

        setattr(Store, step, last)

    return switch


def publishing_first() -> None:
    """A map is published, and written down afterwards, if there is an afterwards."""
    import time

    from gateway.service.outbox import Outbox
    from gateway.store.store import Store

    made: list[Any] = []
    begin, keep = Outbox.__init__, Store.keep_map

    def begun(self: Any, *args: Any, **words: Any) -> None:
        begin(self, *args, **words)
        made.append(self)

    def kept(self: Any, name: bytes, body: str, post: Any = (), vacant: Any = None) -> None:
        for letter in post:
            made[-1]._publish(letter.topic, letter.payload, retain=letter.retain)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
        keep(self, name, body, post, vacant)

    Outbox.__init__, Store.keep_map = begun, kept  # type: ignore[method-assign]


SWITCHES: dict[str, Callable[[], None]] = {
    one.__name__: one
    for one in (
        early_ack,
        slow_store,
        slow_commit,
        gated,
        undurable,
        any_file,
        believing,
        impatient,
        untagged,
        short_keepalive,
        waits_for_broker,
        quick_chores,
        no_checkpoint,
        forgetful,
        endless,
        fragile,
        unverified,
        publishing_first,
        wall_clock,
        queueing,
        inline,
        told_once,
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


# What a process needs whose clock is faked.


def mend_sleep() -> None:
    """Let `time.sleep` count without a moment to wake at, where libfaketime is loaded.

    It takes its offset from such a moment; where that has passed by then, as on a busy machine, it
    asks the kernel for less than nothing and raises EINVAL.
    """
    if "faketime" in os.environ.get("LD_PRELOAD", ""):
        time.sleep = _plain_sleep


def _plain_sleep(seconds: float) -> None:
    select.select([], [], [], seconds)
