"""`heatveil fleet`: what enrolling leaves on the disk, and a fleet that starts again."""

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edge.host import rootkeys
from gateway.cli.devices import fleet as gathering
from gateway.cli.devices import fleet as virtual
from gateway.devices.enrol import enrol
from gateway.devices.fleet import crowd
from gateway.devices.fleet.spool import Counts
from gateway.settings import config


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


def test_a_keyholder_s_roots_go_to_a_file_of_their_own(
    site: Path, fleet: Callable[..., str]
) -> None:
    """And fit the keys of the other two files."""
    site.write_text(site.read_text().replace("keyholder = false", "keyholder = true"))
    fleet("--enrol")
    path = site.parent / "keyholder.json"
    devices = enrol.load_devices(site.parent / "devices.json", "lab")
    roots = {
        row["name"]: bytes.fromhex(row["root"]) for row in json.loads(path.read_text())["devices"]
    }

    assert path.stat().st_mode & 0o77 == 0
    assert {name: rootkeys.mac_key(root) for name, root in roots.items()} == {
        name: device.mac_key for name, device in devices.by_name.items()
    }
    others = names(site.parent) - {"keyholder.json"}
    everything = b"".join((site.parent / name).read_bytes() for name in others)
    assert not any(
        root in everything or root.hex().encode() in everything for root in roots.values()
    )


def test_a_fleet_that_is_not_enrolled_says_how_to(fleet: Callable[..., str]) -> None:
    """The first thing that anybody forgets."""
    assert "If no fleet is enrolled yet, run `heatveil enrol --config FILE`" in fleet()


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


def test_a_start_says_which_devices_stay_off(
    site: Path,
    fleet: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The others go on; one that lost its budget needs a new key."""
    fleet("--enrol")
    for slot in range(3):
        (site.parent / "state" / f"node-4.{slot}").write_bytes(b"spoilt")
    started: list[Any] = []
    monkeypatch.setattr(gathering, "Crowd", lambda *given: Absent(started, given))
    virtual.fleet(site)
    said = capsys.readouterr().out.splitlines()

    assert said[0].startswith("5 devices are on the broker")
    assert said[1].startswith("device node-4 stays off: ")
    assert said[-1].startswith("0 frames sent")
    assert "node-4" not in started[0][1].names


class Absent:
    """Stands where the devices would be connected, and notes which."""

    counts = Counts()

    def __init__(self, started: list[Any], given: Any) -> None:
        started.append(given)
        self.names = given[1].names

    def wait(self, tell: object, over: threading.Event) -> dict[str, str]:
        over.set()
        return {}

    def __enter__(self) -> "Absent":
        return self

    def __exit__(self, *_: object) -> None:
        pass
