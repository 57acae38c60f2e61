"""Virtual devices, each in an interpreter of its own with the heap of a board.

They are processes. What they say comes over pipes, and one thread reads all of these: it gives
each device what its sensors see, and counts what becomes of its frames.
"""

import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable

from ...faults import LinkFault, OperatorFault
from .arriving import arrivals
from .counts import Counts, added
from .machine import Asked, Machine

PATIENCE_S = 15.0  # how long none of them may come: each loads its modules first
LOOK_S = 0.05
GOODBYE_S = 5.0


class Machines:
    """The fleet; a context manager."""

    def __init__(self, command: list[str], asked: dict[str, Asked], path: str) -> None:
        """They start when the block begins. path: where the interpreter finds edge."""
        self._command, self._environment = command, {"MICROPYPATH": path}
        self._machines = {name: Machine(name, one) for name, one in asked.items()}
        self._selector, self._lock = selectors.DefaultSelector(), threading.Lock()  # of both
        self._over = False
        self._thread = threading.Thread(target=self._listen, name="machines", daemon=True)

    def __enter__(self) -> "Machines":
        self._thread.start()
        try:
            for one in self._machines.values():
                self._start(one)
        except BaseException:
            self.close()  # nobody else will
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def names(self) -> list[str]:
        """Who is in the fleet."""
        return list(self._machines)

    @property
    def up(self) -> set[str]:
        """Who is on the broker."""
        return {one.name for one in self._machines.values() if one.up}

    @property
    def counts(self) -> Counts:
        """What has become of all frames."""
        return added(one.counts for one in self._machines.values())

    def wait(
        self,
        tell: Callable[[int], None] = lambda up: None,
        over: threading.Event | None = None,
        patience_s: float | None = None,
    ) -> dict[str, str]:
        """Return who is still not on the broker once nobody comes any more, and why.

        Raises:
            LinkFault: none of them is.
        """
        patience_s = patience_s or PATIENCE_S
        if not arrivals(
            len(self._machines), lambda: len(self.up), patience_s, tell, over, self._all_gone
        ):
            return {}
        missing = {
            one.name: one.last or "the broker is not there, or will not have it"
            for one in self._machines.values()
            if not one.up
        }
        if len(missing) == len(self._machines):
            raise LinkFault(f"no device is on the broker: {next(iter(missing.values()))}")
        return missing

    def die(self, name: str) -> None:
        """End one device without a goodbye, as when the power fails."""
        one = self._machines[name]
        one.meant = True
        if (process := one.process) is not None:
            process.kill()
            self._ended([one])

    def again(self, name: str) -> None:
        """Let one that died come back."""
        self._start(self._machines[name])

    def close(self) -> None:
        """Say goodbye for every device."""
        if self._over:
            return
        running = [one for one in self._machines.values() if one.process is not None]
        for one in running:
            one.meant = True
            one.say(b"bye\n")
        for process in self._ended(running):
            process.kill()
        self._ended(running)
        self._over = True
        self._thread.join()
        self._selector.close()

    def _all_gone(self) -> bool:
        return all(one.process is None for one in self._machines.values())

    def _start(self, one: Machine) -> None:
        with self._lock:
            try:
                pipe = one.start(self._command, self._environment)
            except OSError as fault:
                raise OperatorFault(
                    f"the interpreter of {one.name} cannot be started ({fault.strerror}); each "
                    "device has a process and two pipes of its own. Ask for fewer with --nodes, "
                    "or allow more: ulimit -n, ulimit -u"
                ) from fault
            self._selector.register(pipe, selectors.EVENT_READ, one)

    def _ended(self, some: list[Machine]) -> list[subprocess.Popen[bytes]]:
        """Wait until these are gone; return the processes that are not."""
        until_s = time.monotonic() + GOODBYE_S
        while time.monotonic() < until_s and any(one.process is not None for one in some):
            time.sleep(0.01)
        return [one.process for one in some if one.process is not None]

    def _listen(self) -> None:
        while not self._over:
            if not self._selector.get_map():
                time.sleep(LOOK_S)
                continue
            for key, _ in self._selector.select(LOOK_S):
                one: Machine = key.data
                if data := os.read(key.fd, 4096):
                    one.hear(data)
                else:
                    with self._lock:
                        self._selector.unregister(key.fd)
                    one.gone()
