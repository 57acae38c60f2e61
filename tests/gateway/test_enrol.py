"""Keys: the two halves fit, neither file gives away what it must not, the boot counter lasts."""

import json
import stat
from pathlib import Path

import pytest

from gateway import enrol
from gateway.faults import OperatorFault
from gateway.rounds import Place


def test_the_gateways_half_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """Every key and place, or a device would be refused after a restart."""
    devices = enrol.known(enrol.make("lab", 12))

    enrol.save_devices(devices, tmp_path / "devices.json")

    assert enrol.load_devices(tmp_path / "devices.json", "lab") == devices
    assert devices.by_name["node-07"].place == Place(7, 1)


def test_the_gateways_half_holds_no_root_key(tmp_path: Path) -> None:
    """Whoever has a root key can take the noise off."""
    secrets = enrol.make("lab", 3)

    enrol.save_devices(enrol.known(secrets), tmp_path / "devices.json")

    text = (tmp_path / "devices.json").read_text()
    assert not any(secret.root.hex() in text for secret in secrets.devices)


def test_every_key_is_another() -> None:
    """One key for two devices would be one noise for two readings."""
    secrets = enrol.make("lab", 100)
    keys = [secret.root for secret in secrets.devices] + [secrets.site_key]

    assert len(set(keys)) == 101


def test_the_boot_counter_is_on_the_disk_before_the_fleet_can_speak(tmp_path: Path) -> None:
    """A counter that a crash sets back would draw the same noise for another reading."""
    path = tmp_path / "fleet.json"
    enrol.save_secrets(enrol.make("lab", 2), path)
    for epoch in (2, 3, 4):
        secrets = enrol.next_boot(path, "lab")

        assert secrets.epoch == epoch
        assert json.loads(path.read_text())["epoch"] == epoch


@pytest.mark.parametrize("half", ["devices", "secrets"])
def test_key_files_are_for_their_owner_alone(tmp_path: Path, half: str) -> None:
    """Also when the file was there before, open to all."""
    path = tmp_path / "keys.json"
    path.write_text("{}")
    path.chmod(0o644)
    if half == "devices":
        enrol.save_devices(enrol.known(enrol.make("lab", 1)), path)
    else:
        enrol.save_secrets(enrol.make("lab", 1), path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_root_keys_is_not_taken_for_the_gateways(tmp_path: Path) -> None:
    """A path mixed up must not bring root keys into the gateway, nor another site's keys."""
    path = tmp_path / "fleet.json"
    enrol.save_secrets(enrol.make("lab", 1), path)
    with pytest.raises(OperatorFault, match="holds the root keys of site lab, and the mac keys"):
        enrol.load_devices(path, "lab")
    with pytest.raises(OperatorFault, match="of site attic are needed"):
        enrol.next_boot(path, "attic")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"devices": 3}', '{"devices": [["a", 0, 1, "sealed", "ff"]]}']
)
def test_a_file_that_is_no_key_file_is_the_operators_fault(tmp_path: Path, content: str) -> None:
    """Fail closed: a lost boot counter needs new keys, never a fresh start at one."""
    path = tmp_path / "fleet.json"
    path.write_text(content)
    with pytest.raises(OperatorFault, match=r"fleet\.json cannot be read"):
        enrol.next_boot(path, "lab")
    with pytest.raises(OperatorFault, match=r"nowhere\.json cannot be read"):
        enrol.next_boot(tmp_path / "nowhere.json", "lab")

    assert path.read_text() == content


def test_devices_outside_the_room_or_on_one_sensor_are_refused() -> None:
    """Their readings would stand in the wrong place, or two in one."""
    devices = enrol.known(enrol.make("lab", 3))
    double = {**devices.by_name, "spy": devices.by_name["node-1"]._replace(name="spy")}
    enrol.check_fleet(devices, 3, keyholder=False)
    with pytest.raises(OperatorFault, match="node-2 is enrolled for sensor 2, not 0 to 1"):
        enrol.check_fleet(devices, 2, keyholder=False)
    with pytest.raises(OperatorFault, match="spy is enrolled for sensor 1, which node-1 reads"):
        enrol.check_fleet(devices._replace(by_name=double), 3, keyholder=False)


def test_a_fleet_that_would_refuse_every_round_is_refused_first() -> None:
    """The rounds would be paid for, and nobody would answer them."""
    devices = enrol.known(enrol.make("lab", 2, keyholder=True))
    enrol.check_fleet(devices, 2, keyholder=True)
    with pytest.raises(OperatorFault, match="device node-0 is not enrolled as sealed"):
        enrol.check_fleet(devices, 2, keyholder=False)
    with pytest.raises(OperatorFault, match="no device is enrolled as sealed"):
        enrol.check_fleet(devices._replace(by_name={}), 2, keyholder=False)
