"""A process of its own that draws the maps, timed and killable.

A convex program can hang, run out of memory or die in a library's own code; the gateway must
go on taking reports meanwhile. What a solver costs to import, cvxpy above all with its second
and its hundred megabytes, is the worker's cost too: it is paid while the first reports are
still under way, and never by the gateway.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from multiprocessing.connection import Connection
from typing import Any

from recovery.kernels import listen_for_compiling, load_scipy
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.maps.sentence import Wording

from .. import logs
from ..logs import log
from ..settings.roomfile import ClearedMap, Vacancy

NICER = 5  # a report does not wait for a map; on a full machine a map has a third of a turn
IMPORT_S = 60.0  # longest time to come up, on a busy machine; the same for all compiling of a map

_BEGUN, _OVER = "compiling", "compiled"  # what the worker says

_SLOW = Wording(
    "solver.slow",
    "no map was found within {limit} s: the machine is too busy, or the room too large for it. "
    "The next round tries again. End what else runs here, or raise solve_s under [rounds]",
)
_DIED = Wording("solver.died", "the program that draws the map died; it was started again")()
FAILED = Wording("solver.failed", "the program that draws the map failed: {why}")


class Solver:
    """The worker process; a context manager. One map at a time."""

    def __init__(
        self, limit_s: float = 10.0, on_state: Callable[[bool, str], object] = lambda *_: None
    ) -> None:
        """Start the worker; it is ready when the first map is asked of it, or soon after.

        Args:
            limit_s: longest time for one map.
            on_state: hears whether there was one, or why not.
        """
        self._limit_s = self._allowed_s = limit_s
        self._on_state = on_state
        self._lock, self._stopped = threading.Lock(), False
        self._begin()

    def __enter__(self) -> "Solver":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def recover(
        self, mechanism: str, query: Any, releases: Sequence[Any], *vacant: Vacancy
    ) -> Heatmap | Unresolved | ClearedMap | None:
        """Return the map, or why there is none; None after `stop`: nobody waits for it then."""
        with self._lock:
            if self._stopped:
                return None
            if self._limit_s != self._allowed_s:
                self._limit_s = self._allowed_s
                self._end()
                self._begin()
            try:  # too slow, dead and failed are results too
                return self._ask_worker(mechanism, query, releases, *vacant)
            except TimeoutError:  # which is an OSError, so it comes first
                why = _SLOW(limit=f"{self._limit_s:g}")
            except (EOFError, OSError):
                why = _DIED
            if self._stopped:
                return None
            log.error("no map", why=why)
            self._on_state(False, why)
            self._end()
            self._begin()
        return Unresolved(query.grid, releases[-1].round.guarantee, inf, inf, why)

    def set_limit_s(self, limit_s: float) -> None:
        """Let maps that are begun from now on take so long."""
        self._allowed_s = limit_s  # not under the lock, which a drawing holds

    def stop(self) -> None:
        """Give up the map that is being drawn, if there is one, and draw no other."""
        self._stopped = True  # not under the lock, which the drawing holds
        self._process.kill()

    def close(self) -> None:
        """End the worker, whatever it is doing."""
        self.stop()
        with self._lock:
            self._end()

    def _begin(self) -> None:
        near, far = socket.socketpair()
        with far:  # ours is closed again, so that the worker's death is the end of the pipe
            # A fresh interpreter, with none of our locks and threads, and -P so that no folder
            # of the user's is taken for a package of ours. A Ctrl-C is for us, not for it; in a
            # session of its own Linux would weigh its niceness against nobody's.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(far.fileno()), str(self._limit_s)],
                stdin=subprocess.DEVNULL,
                pass_fds=[far.fileno()],
                process_group=0,
            )
        self._pipe = Connection(near.detach())
        self._ready = False

    def _end(self) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.wait()

    def _ask_worker(self, *job: Any) -> Heatmap | Unresolved | ClearedMap:
        if not self._ready:
            if not self._pipe.poll(IMPORT_S):
                raise EOFError
            self._pipe.recv()
            self._ready = True
        self._pipe.send(job)
        # The clock stands still while something is compiled or the empty room marched.
        drawing_s, compiling_s = self._limit_s, IMPORT_S
        while True:
            said, took_s = self._read_answer(drawing_s)
            if said != _BEGUN:
                self._on_state(True, "")
                return said
            drawing_s -= took_s
            compiling_s -= self._read_answer(compiling_s)[1]

    def _read_answer(self, patience_s: float) -> tuple[Any, float]:
        """Return what the worker says next, and how long that took."""
        began_s = time.monotonic()
        if not self._pipe.poll(max(patience_s, 0)):
            raise TimeoutError
        return self._pipe.recv(), time.monotonic() - began_s


def run_worker(pipe: Connection, limit_s: float) -> None:
    """Draw maps until the other end of the pipe closes; runs in the worker."""
    from ..mechanisms import find_mechanism

    def compiling(begun: bool) -> None:
        pipe.send(_BEGUN if begun else _OVER)
        signal.setitimer(signal.ITIMER_REAL, 2 * (IMPORT_S if begun else limit_s) + 1)

    listen_for_compiling(compiling)
    load_scipy()
    with suppress(OSError):  # where a service manager forbids it, maps compete with the intake
        os.nice(NICER)
    pipe.send("ready")
    while True:
        try:
            mechanism, query, releases, *vacant = pipe.recv()
        except EOFError:
            return
        # Should the gateway be killed while we hang in a library, this ends us.
        signal.setitimer(signal.ITIMER_REAL, 2 * limit_s + 1)
        try:
            result: Any = (
                find_mechanism(mechanism).clear(query, releases, vacant[0], compiling)
                if vacant
                else find_mechanism(mechanism).recover(query, releases)
            )
        except Exception as fault:
            log.exception("recovery failed")
            why = FAILED(why=str(fault))
            result = Unresolved(query.grid, releases[-1].round.guarantee, inf, inf, why)
        signal.setitimer(signal.ITIMER_REAL, 0)
        pipe.send(result)


if __name__ == "__main__":
    logs.log_to_stderr()
    run_worker(Connection(int(sys.argv[1])), float(sys.argv[2]))
