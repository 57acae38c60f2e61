"""Devices that come to the broker, waited for as long as more of them come."""

import threading
import time
from collections.abc import Callable

LOOK_S = 0.02


def arrivals(
    devices: int,
    up: Callable[[], int],
    patience_s: float,
    tell: Callable[[int], None],
    over: threading.Event | None = None,
    gone: Callable[[], bool] = lambda: False,
) -> bool:
    """Return once all are up or nobody comes any more; False where `over` ended the wait.

    Args:
        up: how many are on the broker. patience_s: how long nobody may come.
        tell: hears from time to time how many are. gone: whether none can come any more.
    """
    over = over or threading.Event()
    until_s, before = time.monotonic() + patience_s, 0
    while before < devices and time.monotonic() < until_s and not gone():
        if over.wait(LOOK_S):
            return False
        if (found := up()) > before:
            until_s, before = time.monotonic() + patience_s, found
        tell(found)
    return True
