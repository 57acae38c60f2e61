"""kill -9 of the gateway by itself, at a step that is named: no test could hit it from outside."""

import os
import signal
from collections.abc import Callable
from typing import Any

STEPS = ("open_round", "post", "close_round", "keep_map", "posted")


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
