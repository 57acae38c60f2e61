"""The program that draws maps hangs, or dies: the round counts, and the next one goes on."""

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from harness.children import Child
from harness.radio import Listener
from harness.sizes import sized, takes_long
from harness.stage import SITE, Stage

from tests.waiting import eventually

Staged = Callable[..., Stage]


def solvers(gateway: Child) -> list[int]:
    """Return the processes that draw a gateway's maps."""
    found = []
    for place in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if (
                parent == gateway.pid
                and b"gateway.service.solver" in (place / "cmdline").read_bytes()
            ):
                found.append(int(place.name))
    return found


@pytest.mark.long
@pytest.mark.parametrize("fault", sized(["dies"], ["hangs", "dies"]))
def test_solver_hangs_or_dies(stage: Staged, fault: str) -> None:
    """A map that cannot be drawn is a result, and a new program draws the next."""
    site = stage(readings=3, every_s=2)
    site.path.write_text(site.path.read_text().replace("[rounds]", "[rounds]\nsolve_s = 10"))
    gateway = site.gateway()
    with Listener(site.broker.port, f"heatveil/1/{SITE}/map/#") as listener:
        site.hurried()
        assert eventually(lambda: listener.messages)
        (worker,) = solvers(gateway)
        os.kill(worker, signal.SIGSTOP if fault == "hangs" else signal.SIGKILL)
        assert eventually(lambda: site.released() == 3, 60)
        assert eventually(lambda: len({one for _, one in listener.messages}) >= 3, 30)
    told = [json.loads(one) for _, one in listener.messages]
    print([(one["number"], one["status"], one["why"]) for one in told])

    assert [one["status"] for one in told] == ["solved", "unresolved", "solved"]
    assert solvers(gateway) != [worker]
    assert site.charges() == (3, 3 * site.price, 0)


@takes_long
def test_solver_hangs_control(stage: Staged) -> None:
    """Where it hangs in the gateway itself, there is no next round."""
    site = stage(readings=3)
    site.gateway("inline")
    site.hurried()
    eventually(lambda: site.released() == 3, 6)

    assert site.released() < 3
