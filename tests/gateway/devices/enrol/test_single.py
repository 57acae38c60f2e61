"""One device more: a name that can stand in a topic, a sensor of its own, a file for its board."""

import json
import os
import random
import stat
from pathlib import Path
from typing import Any

import pytest

from edge import limits
from edge.host import rootkeys
from gateway.devices.enrol import enrol, single
from gateway.faults import OperatorFault
from gateway.operating import Mqtt

LIMITS = limits.Limits(1, 8, 1, 10_000, 10**9, 0)


@pytest.fixture
def devices() -> enrol.Devices:
    """Return a fleet of four."""
    return enrol.known(enrol.make("lab", 4, fresh=random.Random(7).randbytes).secrets)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a/b",
        "+",
        "#",
        "$SYS",
        "a b",
        ".hidden",
        "-x",
        "a..b",
        "é",
        "x" * 64,
        "a\n",
        "map",
        "gateway",
        "ha",
    ],
)
def test_a_name_that_would_reach_further_than_its_own_topics_is_none(
    devices: enrol.Devices, name: str
) -> None:
    """In a topic, in an access list and on a disk; plain ones are, which is the control."""
    with pytest.raises(OperatorFault, match="cannot be a device's name"):
        single.check_name(name, devices, "hub")
    for good in ("attic-3", "A.b_c", "7", "x" * 63):
        single.check_name(good, devices, "hub")


@pytest.mark.parametrize(("name", "whose"), [("node-1", "enrolled already"), ("hub", "gateway's")])
def test_a_name_that_somebody_has_is_not_given_again(
    devices: enrol.Devices, name: str, whose: str
) -> None:
    """Two of one name could speak for each other."""
    with pytest.raises(OperatorFault, match=whose):
        single.check_name(name, devices, "hub")


def test_a_sensor_has_one_device(devices: enrol.Devices) -> None:
    """The first that is free, or the wanted one; an array has all that it reads."""
    array = devices.by_name["node-1"]._replace(place=enrol.Place(1, 2))
    held = devices._replace(by_name={"a": array})

    assert single.free_sensor(held, 4, None) == 0
    assert single.free_sensor(held, 4, 3) == 3
    for taken in (1, 2):
        with pytest.raises(OperatorFault, match=f"sensor {taken} is read by a"):
            single.free_sensor(held, 4, taken)
    with pytest.raises(OperatorFault, match="all 4 sensors"):
        single.free_sensor(devices, 4, None)


def test_two_devices_have_no_key_in_common_but_the_sites(devices: enrol.Devices) -> None:
    """And none of them is another's, job by job."""
    first, second = (
        single.enrolled(devices, "attic", 0, keyholder=False).secret for _ in range(2)
    )
    ours, theirs = (
        {one.identity.mac_key, one.identity.config_key, one.identity.state_key, one.link_key}
        for one in (first, second)
    )

    assert len(ours) == len(theirs) == 4
    assert not ours & theirs
    assert first.identity.site_key == second.identity.site_key == devices.site_key
    assert first.identity.key_id != second.identity.key_id


def test_a_boards_file_holds_what_it_needs_and_no_root(
    devices: enrol.Devices, tmp_path: Path
) -> None:
    """For its owner alone whatever the umask; from the root the noise of every boot follows."""
    made = single.enrolled(devices, "attic", 0, keyholder=True)
    link = single.link_of(Mqtt(insecure=True), "attic", made.password, "session")
    path, old = tmp_path / "attic.device.json", os.umask(0)
    try:
        single.save_board(path, made, LIMITS, link)
    finally:
        os.umask(old)
    text = path.read_text()
    row: dict[str, Any] = json.loads(text)["devices"][0]

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert made.root.hex() not in text
    assert row["chain"] == rootkeys.first_chain(made.root).hex()
    assert row["link"]["client_id"] == "session"
    assert row["link"]["password"] == made.secret.link_key.hex()
    assert single.key_of(path, "lab") == made.secret.identity.key_id
    assert single.key_of(path, "hall") is None
    assert single.key_of(tmp_path / "none", "lab") is None


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    """What it holds is written nowhere else."""
    path = tmp_path / "attic.device.json"
    single.refuse_old(path)
    path.write_text("precious")
    with pytest.raises(OperatorFault, match="not overwritten"):
        single.refuse_old(path)
