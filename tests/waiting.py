"""How tests wait for what other threads and processes do."""

import time
from collections.abc import Callable
from typing import Any


def eventually(true: Callable[[], Any], patience_s: float = 60.0, every_s: float = 0.01) -> bool:
    """Wait until it is true; return whether it came to that.

    Patience is a number of looks: while a machine is frozen or has no time for us, nobody waits.
    """
    for _ in range(round(patience_s / every_s)):
        if true():
            return True
        time.sleep(every_s)
    return bool(true())
