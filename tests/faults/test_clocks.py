"""Clocks that are wrong by a day, and clocks that jump: rounds go on as they were."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.sizes import sized, takes_long
from harness.stage import Stage
from harness.truth import ask

from tests.waiting import eventually

Staged = Callable[..., Stage]
SENSORS = 40


def faketime() -> str:
    """Return the library that fakes clocks."""
    for found in Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"):
        return str(found)
    pytest.skip(
        "clocks are faked for this test, and libfaketime is not here: apt install faketime"
    )


def skewed(**more: str) -> dict[str, str]:
    """Return the environment of a process that has another date; seconds pass as they do."""
    return {"LD_PRELOAD": faketime(), "FAKETIME_DONT_FAKE_MONOTONIC": "1"} | more


@takes_long
@pytest.mark.parametrize("days", sized(["+1d"], ["+1d", "-1d"]))
def test_clock_skew_on_device(stage: Staged, days: str) -> None:
    """No device is ever asked what time it is."""
    site = stage(readings=2)
    site.gateway()
    edges = site.edges(start=False)
    edges.start(**skewed(FAKETIME=days))
    assert eventually(lambda: site.released() == 2)

    assert site.truth().whole
    assert site.stored() == 40
    day = (site.folder / "spool.log").read_text().split("\n")[0].split()
    assert abs(abs(float(day[1]) - time.time()) - 86_400) < 600  # they have another date indeed


def stepped(site: Stage, steps: list[str], *switches: str) -> tuple[int, float]:
    """Step the gateway's clock while answers come; return who is in the round, and its length."""
    clock = site.folder / "clock"
    clock.write_text("+0\n")
    gateway = site.gateway(*switches, start=False)
    gateway.start(**skewed(FAKETIME_TIMESTAMP_FILE=str(clock), FAKETIME_NO_CACHE="1"))
    assert site.asked()
    began_s = time.monotonic()
    site.hurried(names=[0, SENSORS - 1], pace_s=1.0 * len(steps) + 1)
    for step in steps:
        time.sleep(1)
        clock.write_text(f"{step}\n")
    assert eventually(lambda: site.released() >= 1)
    took_s = time.monotonic() - began_s
    ((reports,),) = ask(site.database, "SELECT reports FROM releases ORDER BY at_s LIMIT 1")
    print(f"{reports} of {SENSORS - 1} answers, closed after {took_s:.1f} s")
    return reports, took_s


@takes_long
def test_clock_step_on_gateway(stage: Staged) -> None:
    """A round closes after its time, whatever the clock on the wall does meanwhile."""
    site = stage(sensors=SENSORS, readings=2, gather_s=6, every_s=3600)
    reports, took_s = stepped(site, ["+1d", "-1d", "+0"])

    assert reports == SENSORS - 1
    assert 5 < took_s < 9
    time.sleep(1)
    assert site.opened() == 1  # and no other came early
    assert site.truth().whole


@pytest.mark.long
def test_clock_step_on_gateway_control(stage: Staged) -> None:
    """By the clock on the wall, a jump of a day ends the round, and opens the next at once."""
    site = stage(sensors=SENSORS, readings=2, gather_s=6, every_s=3600)
    reports, took_s = stepped(site, ["+1d"], "wall_clock")

    assert took_s < 5
    assert reports < SENSORS - 1
