"""The gateway of a test, in a process of its own: `heatveil serve`, with defences switched off.

python served.py DEPLOYMENT.toml SWITCHES [ROUNDS]
"""

import os
import select
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gateway.commands import hosting
from harness.switches import switch


def plain_sleep(seconds: float) -> None:
    """Sleep without a moment to wake at.

    libfaketime takes its offset from such a moment; where that has passed by then, as on a busy
    machine, it asks the kernel for less than nothing and raises EINVAL.
    """
    select.select([], [], [], seconds)


if __name__ == "__main__":
    if "faketime" in os.environ.get("LD_PRELOAD", ""):
        time.sleep = plain_sleep
    switch(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else None
    hosting.serve(Path(sys.argv[1]), rounds, print)
