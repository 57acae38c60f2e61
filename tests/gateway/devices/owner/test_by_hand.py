"""Enrol, tighten and list as an operator types it: four programs and a broker."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker.embedded import find_free_port
from gateway.settings.deployment import Mqtt
from tests import processes

PROGRAM = Path(sys.executable).with_name("heatveil")


@pytest.mark.long
def test_a_fleet_that_was_enrolled_by_hand_is_tightened_and_opened_by_hand(
    mosquitto: Mqtt, write_site: Callable[..., Path]
) -> None:
    """What enrolling leaves on the disk is what the owner's commands need, no more and no less."""
    changes = {"site": "by-hand", "port": mosquitto.port, "page": find_free_port()}
    path = write_site(**changes)

    def run(*words: str) -> Any:
        command = [PROGRAM, words[0], *words[1:], "--config", path]
        return processes.run(command, capture_output=True, text=True, timeout=60)

    with processes.Child(
        [PROGRAM, "fleet", "--config", path, "--enrol"], stdout=subprocess.PIPE, text=True
    ) as fleet:
        try:
            assert fleet.stdout
            assert "holds the root keys" in fleet.stdout.readline()
            assert fleet.stdout.readline().startswith("3 devices")
            served = run("serve", "--rounds", "2")
            write_site(**changes, epsilon="4/1")
            tighter = run("tighten")
            again = run("serve", "--rounds", "1")
        finally:
            fleet.terminate()
    listed = run("keys", "list")
    opened = run("unveil", "--out", str(path.with_name("readings.csv")))

    assert served.returncode == 0, served.stderr
    assert tighter.returncode == 0, tighter.stderr
    assert again.returncode == 0, again.stderr
    assert "version 2 goes to" in tighter.stdout
    assert "taken by 3 of 3 devices" in tighter.stdout
    assert listed.stdout.count("every boot") == 3
    assert opened.returncode == 0, opened.stderr
    assert "9 frames, 9 in all" in opened.stdout
    kept = {"site.toml", "devices.json", "secrets.json", "keyholder.json", "limits.json"}
    assert {one.name for one in path.parent.iterdir()} == kept | {
        "state",
        "heatveil.sqlite",
        "heatveil.sqlite.lock",
        "readings.csv",
    }
