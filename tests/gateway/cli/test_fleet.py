"""`heatveil fleet`: to its end, and what enrolling leaves on the disk."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.enrol import enrol
from gateway.devices.fleet import crowd
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


# What enrolling leaves on the disk, and a fleet that starts again.


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a deployment of six devices, whose broker is nowhere: enrolling needs none."""
    monkeypatch.setattr(crowd, "PATIENCE_S", 0.3)
    text = config.sample().replace("count = 50", "count = 6").replace("port = 8883", "port = 1")
    text = re.sub("(?m)^(ca_file|password_file).*$", "", text)
    path = tmp_path / "site.toml"
    path.write_text(text.replace("# insecure", "insecure"))
    return path


@pytest.fixture
def fleet(site: Path, heatveil: Callable[..., Any]) -> Callable[..., str]:
    """Return the command on this deployment, as the last line that it says."""

    def run(*words: str) -> str:
        said = heatveil("fleet", "--config", site, *words)
        assert said.status == 1  # there is no broker
        return str(said.err.splitlines()[-1])

    return run


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def kept(count: int) -> set[str]:
    return {f"state/node-{i}.{slot}" for i in range(count) for slot in range(3)} | {"state/lock"}


def test_a_sealed_fleet_leaves_no_root_behind(site: Path, fleet: Callable[..., str]) -> None:
    """The host forgets it: nothing on the disk leads to the noise of boots that are over."""
    assert "no MQTT broker" in fleet("--enrol")
    found = names(site.parent)
    devices = enrol.load_devices(site.parent / "devices.json", "lab")

    assert found - {"limits.json"} == {"site.toml", "secrets.json", "devices.json"} | kept(6)
    assert {device.mode for device in devices.by_name.values()} == {"sealed"}
    private = [site.parent / name for name in found - {"site.toml"}]
    assert {path.stat().st_mode & 0o77 for path in private} == {0}
    assert (site.parent / "state").stat().st_mode & 0o77 == 0


@pytest.mark.parametrize("old", ["secrets.json", "devices.json", "keyholder.json", "state"])
def test_nothing_old_is_overwritten(site: Path, fleet: Callable[..., str], old: str) -> None:
    """Keys and budgets of devices out there: there is only this one copy of them."""
    path = site.parent / old
    if old == "state":
        path.mkdir()
        path = path / "node-0.0"
    path.write_text("precious")

    assert f"{old} already exists" in fleet("--enrol")
    assert path.read_text() == "precious"
    assert names(site.parent) == {"site.toml", path.relative_to(site.parent).as_posix()}
