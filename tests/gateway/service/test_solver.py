"""Maps are drawn in a process that may be killed; a map says of how many sensors it is."""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core.records import Grid, Release
from gateway.mechanisms import find_mechanism
from gateway.service import solver as solvers
from gateway.service.drawing import Turnout, draw_map
from gateway.service.solver import Solver
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.packed import pack_release
from recovery.thermal import Query
from tests import processes
from tests.waiting import eventually

# The worker: a map comes back, and a hang, a death or a fault is a result like any other.

QUERY = Query(Grid((20, 1), 0), (10,), 0.05, (1, 1))


def releases(query: Query = QUERY) -> list[Any]:
    """Return what ten sensors said that saw nothing at all, without any noise."""
    mechanism = find_mechanism("thermal")
    round = mechanism.plan(query, [])
    return [mechanism.release(round, [[sensor, 0] for sensor in range(10)], None)]


@pytest.mark.long
def test_a_map_comes_back_and_is_the_same_as_without_the_worker() -> None:
    """The process must change nothing but where the work is done."""
    with Solver() as solver:
        result = solver.recover("thermal", QUERY, releases())
    here = find_mechanism("thermal").recover(QUERY, releases())

    assert isinstance(result, Heatmap)
    assert result.mass.tolist() == here.mass.tolist()
    assert result.guarantee == here.guarantee


LEAST = -(1 << 63)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [None, 0, -1],
        [127, -129, None],
        [128],
        [40_000, None],
        [1 << 31],
        [-(LEAST + 1)],
        [LEAST, 0],
        [LEAST + 1, -(LEAST + 1)],
        [-LEAST],
        [LEAST - 1],
        [2.0, 1],
        [True, 1],
    ],
)
def test_a_release_that_is_kept_for_later_maps_says_what_it_said(values: list[Any]) -> None:
    """Silent sensors and whatever else was stored, too; to the worker it comes as it was kept."""
    release = releases()[0]._replace(values=values)
    kept = pack_release(release)

    assert kept == release
    assert kept.values != [*values, 0]
    assert len(kept.values) == len(values)
    assert [kept.values[at] for at in range(len(values))] == values
    assert kept.values[1:] == values[1:]
    there = pickle.loads(pickle.dumps(kept))
    assert there == release
    assert list(map(type, there.values)) == list(map(type, values))
    np.testing.assert_array_equal(np.array(there.values), np.array(values))
    seen = [np.array([one.values] * 2, dtype=np.float64) for one in (there, release)]
    np.testing.assert_array_equal(*seen)


def test_an_array_of_what_is_kept_is_one_s_own_and_holds_every_number() -> None:
    """As one of a list does: what does not fit is refused, and nobody writes into a release."""
    values = pack_release(releases()[0]._replace(values=[300, -1])).values
    array = np.array(values)
    array[:] = 0

    assert (array.dtype, list(values)) == (np.int64, [300, -1])
    for narrow in (np.int8, np.uint64):
        with pytest.raises(OverflowError):
            np.array(values, dtype=narrow)
    with pytest.raises(ValueError, match="no array of them to share"):
        np.array(values, copy=False)


def test_the_releases_of_years_take_few_bytes_a_number() -> None:
    """As objects they took 36, and a gateway that asks every minute keeps them for weeks."""
    release = releases()[0]._replace(values=list(range(-30_000, 30_000)))

    assert len(pickle.dumps(pack_release(release))) < 2.1 * len(release.values)


@pytest.mark.long
def test_a_fault_in_recovery_is_a_reason_and_not_an_end(capfd: pytest.CaptureFixture[str]) -> None:
    """The map of another query's releases cannot be drawn; the worker says so and lives on."""
    other = Query(Grid((30, 1), 0), (10,), 0.05, (1, 1))
    with Solver() as solver:
        failed = solver.recover("thermal", other, releases())

        assert isinstance(failed, Unresolved)
        assert "failed" in failed.why
        assert isinstance(solver.recover("thermal", QUERY, releases()), Heatmap)


def test_stopping_does_not_wait_for_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway ends long before the map's time is over, whatever is being drawn."""
    monkeypatch.setattr("gateway.service.solver.IMPORT_S", 600.0)
    with Solver(limit_s=600.0) as solver:
        os.kill(solver._process.pid, signal.SIGSTOP)
        threading.Timer(0.2, solver.stop).start()
        began_s = time.monotonic()

        assert solver.recover("thermal", QUERY, releases()) is None
        assert solver.recover("thermal", QUERY, releases()) is None
        assert time.monotonic() - began_s < 300  # of six hundred


@pytest.mark.long
def test_another_limit_holds_from_the_next_map_on_and_waits_for_none() -> None:
    """It is asked for between two rounds, beside a map that may take its time."""
    with Solver(limit_s=30.0) as solver:
        os.kill(solver._process.pid, signal.SIGSTOP)
        drawing = threading.Thread(target=solver.recover, args=("thermal", QUERY, releases()))
        drawing.start()
        assert eventually(solver._lock.locked)
        solver.set_limit_s(0.001)
        assert drawing.is_alive()
        os.kill(solver._process.pid, signal.SIGKILL)
        drawing.join(60)

        assert "within 0.001 s" in solver.recover("thermal", QUERY, releases()).why


OWNER = """
from gateway.service.solver import Solver
solver = Solver()
print(solver._process.pid, flush=True)
input()
"""


@pytest.mark.long
def test_a_report_does_not_wait_for_a_map() -> None:
    """The kernel gives the worker what the intake leaves: its niceness is higher by five.

    Linux weighs niceness within a session only (sched(7), autogroup), so it must be in ours.
    """
    with Solver() as solver:
        solver.recover("thermal", QUERY, releases())
        worker = solver._process.pid

        assert os.getpriority(os.PRIO_PROCESS, worker) == os.getpriority(os.PRIO_PROCESS, 0) + 5
        assert os.getsid(worker) == os.getsid(0)
        assert os.getpgid(worker) != os.getpgid(0)  # a Ctrl-C is not for it


@pytest.mark.long
def test_the_worker_goes_when_its_gateway_is_killed() -> None:
    """kill -9 of the gateway closes the pipe, which ends the worker."""
    with processes.Child(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        pid = int(owner.stdout.readline())
        owner.kill()

        # Before what is left of the block is killed.
        assert eventually(lambda: not running(pid), solvers.IMPORT_S)


HUNG = """
import sys, time
from multiprocessing.connection import Connection
from gateway import mechanisms
from gateway.service import solver

class Library:
    def recover(self, query, releases):
        if query == "hang":
            while True:
                time.sleep(0.05)
        return "a map"

mechanisms.find_mechanism = lambda name: Library()
solver.run_worker(Connection(int(sys.argv[1])), 0.1)
"""


@pytest.mark.long
def test_a_worker_that_hangs_ends_itself_when_nobody_is_left_to_end_it() -> None:
    """The gateway was killed while a library never came back: nothing may run on for ever.

    A worker that waits between two maps is not hung, however long that is.
    """
    near, far = socket.socketpair()
    with far:
        command = [sys.executable, "-c", HUNG, str(far.fileno())]
        worker = processes.Child(command, pass_fds=[far.fileno()], stderr=subprocess.DEVNULL)
    pipe = Connection(near.detach())
    assert pipe.poll(solvers.IMPORT_S)
    assert pipe.recv() == "ready"
    pipe.send(("thermal", "draw", []))
    assert pipe.recv() == "a map"
    time.sleep(2 * 0.1 + 1 + 0.3)
    assert worker.poll() is None
    pipe.send(("thermal", "hang", []))

    assert worker.wait() == -signal.SIGALRM
    pipe.close()


KERNEL = """
def slow(x):
    return x + 1
"""
COMPILES = """
import sys, time
from multiprocessing.connection import Connection
from types import SimpleNamespace
from gateway import mechanisms
from gateway.service import solver
from numba.core import dispatcher
from recovery.kernels import make_compiled_twin

sys.path.insert(0, sys.argv[1])
import slow_for_a_test

# A compilation as it is on a small machine.
plain = dispatcher._FunctionCompiler.compile
def slowly(self, *given):
    time.sleep(1.5 * float(sys.argv[3]))  # longer than a map may take
    return plain(self, *given)
dispatcher._FunctionCompiler.compile = slowly

class Library:
    def recover(self, query, releases):
        found = make_compiled_twin(slow_for_a_test).slow(1)
        time.sleep(query.drift)
        return found

mechanisms.find_mechanism = lambda name: Library()
solver.run_worker(Connection(int(sys.argv[2])), float(sys.argv[3]))
"""


@pytest.mark.long
@pytest.mark.parametrize(("limit_s", "rest_s", "drawn"), [(10.0, 0.0, True), (2.0, 3.0, False)])
def test_a_first_compilation_is_not_the_maps_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit_s: float, rest_s: float, drawn: bool
) -> None:
    """Once on a machine it takes seconds, and the map of that round must not be lost for it.

    The clock stands still for that long and no longer: what hangs afterwards is given up.
    """
    pytest.importorskip("numba")
    (tmp_path / "slow_for_a_test.py").write_text(KERNEL)
    popen = subprocess.Popen

    def other(command: list[str], **rest: Any) -> Any:
        return popen([sys.executable, "-c", COMPILES, str(tmp_path), *command[-2:]], **rest)

    monkeypatch.setattr(subprocess, "Popen", other)
    with Solver(limit_s=limit_s) as solver:
        found = solver.recover("thermal", replace(QUERY, drift=rest_s), releases())

    assert (found == 2) == drawn
    assert drawn or "within 2 s" in found.why


def running(pid: int) -> bool:
    """True while the process is there and not merely waiting to be buried."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.long
def test_the_gateway_itself_loads_nothing_that_only_a_map_needs(tmp_path: Path) -> None:
    """They would cost the ingest process seconds and hundreds of megabytes; planning is no map."""
    script = """
import sys
import gateway.cli.serve
from gateway.settings import config
from gateway.mechanisms.thermal.words import describe_promise
from gateway.mechanisms import find_mechanism
from pathlib import Path
Path(sys.argv[1]).write_text(config.make_sample())
query = config.make_query(config.load_deployment(sys.argv[1]))
print(len(describe_promise(query, find_mechanism("thermal").plan(query, []).guarantee)) > 1)
heavy = "cvxpy matplotlib pandas numba alembic scipy.special scipy.optimize scipy.linalg".split()
print([name for name in heavy if name in sys.modules])
"""
    words = [sys.executable, "-c", script, str(tmp_path / "site.toml")]
    out = processes.run(words, capture_output=True, text=True)

    assert out.stdout == "True\n[]\n", out.stderr


# A map says how many sensors made it; too few make none, and that is a result with a reason.


class CountingSolver:
    """Draws the same map of whatever comes, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def recover(self, mechanism: str, query: Any, releases: Sequence[Any]) -> Heatmap | Unresolved:
        self.asked += 1
        last = releases[-1].round
        return Heatmap(last.grid, np.full((1, 10), 0.1), last.guarantee, 1.0, "optimal")

    def stop(self) -> None: ...


@pytest.mark.parametrize(("used", "quorum"), [(0, 1), (2, 3), (3, 4)])
def test_below_the_quorum_there_is_no_map_and_the_reason_is_published(
    home: Any, used: int, quorum: int
) -> None:
    """A map of three sensors where twelve were meant looks like one of twelve."""
    plan, solver = home.round(), CountingSolver()
    found = draw_map(solver, "lab", plan, [Release(plan, [1] * 4, 4)], Turnout(used, 4, 1, quorum))

    assert solver.asked == 0
    said = json.loads(found.letter.payload)
    assert (said["status"], said["mass"]) == ("unresolved", None)
    assert f"of 4 answered and [rounds] quorum asks for {quorum}" in said["why"]
    assert (said["sensors_used"], said["sensors_enrolled"], said["late"]) == (used, 4, 1)
