"""A word every ten seconds, so that whoever waits for an hour knows that it is not in vain."""

import sys
import time
from pathlib import Path

EVERY_S = 10.0


class Progress:
    """Says how far something is, on standard error."""

    def __init__(self, who: str, total: int) -> None:
        self._who, self._total = who, total
        self._began_s = time.monotonic()
        self._due_s = self._began_s + EVERY_S

    def at(self, done: int) -> None:
        """Say how much is done, if it is time for that."""
        now_s = time.monotonic()
        if now_s >= self._due_s:
            self._due_s = now_s + EVERY_S
            took_s = now_s - self._began_s
            share = f"{done:,} of {self._total:,} ({done / self._total:.0%})"
            print(
                f"  {self._who}: {share} after {took_s:.0f} s, {done / took_s:,.0f}/s, "
                f"{memory()['VmRSS']:.0f} MB",
                file=sys.stderr,
                flush=True,
            )


def memory(process: str = "self") -> dict[str, float]:
    """Return the resident memory of a process now (VmRSS) and at its most (VmHWM), in MB."""
    found = {}
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "VmHWM"):
            found[name] = int(value.split()[0]) * 1024 / 1e6
    return found
