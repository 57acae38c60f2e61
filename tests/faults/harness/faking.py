"""What a process needs whose clock is faked."""

import os
import select
import time


def mend_sleep() -> None:
    """Let `time.sleep` count without a moment to wake at, where libfaketime is loaded.

    It takes its offset from such a moment; where that has passed by then, as on a busy machine, it
    asks the kernel for less than nothing and raises EINVAL.
    """
    if "faketime" in os.environ.get("LD_PRELOAD", ""):
        time.sleep = _plain_sleep


def _plain_sleep(seconds: float) -> None:
    select.select([], [], [], seconds)
