"""`heatveil fleet` to its end: what it says last, and with deaths."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.devices import fleet
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings import config
from tests import processes
from tests.waiting import eventually

PROGRAM = Path(sys.executable).with_name("heatveil")
SUMMARY = re.compile(
    r"(\d+) frames sent, (\d+) acknowledged by the broker, (\d+) received by the gateway, "
    r"(\d+) waiting, 0 lost(?:; \d+ of those received came too late to count, or were refused)?"
    r"(; devices died without a goodbye \d+ times and came back \d+ times)?"
)


def played(site: Path, *words: str) -> tuple[list[str], dict[str, bytes], str]:
    """Return what a fleet says till Ctrl-C after a round, its last states, and its log."""
    command = [PROGRAM, "fleet", "--config", site, "--enrol", "--sources-random", "1", *words]
    states: dict[str, bytes] = {}

    def came(link: Link, message: Message) -> None:
        link.ack(message)
        states[message.topic.split("/")[3]] = message.payload

    deployment = config.load(site)
    root = f"heatveil/1/{deployment.site.name}"
    with (
        Pump("looks") as pump,
        processes.Child(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as fleet,
    ):
        looks = Link(deployment.mqtt, f"looks-{deployment.site.name}", pump,
                     subscribe=[f"{root}/+/state"], on_message=came)  # fmt: skip
        assert fleet.stdout is not None
        first = fleet.stdout.readline()
        serve = [PROGRAM, "serve", "--config", site, "--rounds", "1"]
        served = processes.run(serve, capture_output=True, text=True, timeout=60, check=False)
        os.killpg(fleet.pid, signal.SIGINT)  # as a terminal does: all of them hear it
        rest, log = fleet.communicate(timeout=60)
        eventually(lambda: set(states.values()) <= {b"disconnected", b"lost"}, 10)
        looks.close()
    assert served.returncode == 0, served.stderr
    assert fleet.returncode == 0, log
    return [first.strip(), *rest.splitlines()], states, log


@pytest.mark.long
def test_a_fleet_says_goodbye_and_what_became_of_its_frames(living: Path) -> None:
    """Six devices were asked once: six frames, each of them in the gateway's store."""
    said, states, log = played(living)
    found = SUMMARY.fullmatch(said[-1])

    assert said[0].startswith("6 devices are on the broker")
    assert said[0].endswith("; Ctrl-C ends them")
    assert found, said
    assert found.groups() == ("6", "6", "6", "0", None)
    assert set(states.values()) == {b"disconnected"}
    assert len(states) == 6
    assert "Traceback" not in log


@pytest.mark.long
def test_a_fleet_of_mortals_loses_nothing_by_it(living: Path) -> None:
    """Whoever died has its frame on the disk; its neighbours never noticed."""
    said, _, log = played(living, "--churn", "240")
    found = SUMMARY.fullmatch(said[-1])

    assert found, said
    assert found[5], said
    assert int(found[3]) <= int(found[1]) <= int(found[3]) + int(found[4])  # died before it went
    assert "Traceback" not in log


def test_of_many_that_are_missing_a_few_are_named() -> None:
    """A thousand sentences would hide the first."""
    said = fleet.describe_absent({f"node-{number}": "it is shut out" for number in range(8)})

    assert said[0] == "device node-0 is not on the broker: it is shut out"
    assert said[-1] == "nor are 3 others; they go on trying"
    assert fleet.describe_absent({}) == []
