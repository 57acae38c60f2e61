"""A promise over noise from tables counts sixteen keys of each sensor, and there are no more."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from gateway.devices.enrol import enrol, keycount
from gateway.faults import OperatorFault
from gateway.service.rounds import Place
from recovery.thermal.guarantee import KEYS
from tests import sites

Heatveil = Any


@pytest.fixture
def site(tmp_path: Path, heatveil: Heatveil) -> Path:
    """Return the file of an enrolled site of six sensors whose noise comes from tables."""
    path = tmp_path / "site.toml"
    text = sites.small("seen", 1883).replace("[rounds]\n", '[rounds]\nsampler = "table"\n')
    path.write_text(text)
    assert heatveil("enrol", "--config", path).status == 0
    return path


def devices(path: Path) -> enrol.Devices:
    return enrol.load_devices(path.with_name("devices.json"), "seen")


def count(path: Path, sensor: int) -> int:
    return keycount.load_key_counts(path.with_name("devices.json"), devices(path), {})[sensor]


def moved_away(path: Path, to: str) -> None:
    for name in ("devices.json", "secrets.json", "state"):
        path.with_name(name).rename(path.with_name(f"{to}-{name}"))


def kept(path: Path) -> dict[str, bytes]:
    return {
        file.name: file.read_bytes()
        for file in path.parent.rglob("*")
        if file.is_file() and file.suffix != ".lock"
    }


@pytest.mark.long
def test_the_key_after_the_last_that_is_counted_is_not_made(
    site: Path, heatveil: Heatveil
) -> None:
    """PRIVACY promises for sixteen; who asks for a seventeenth is told, and nothing changes."""
    run = lambda *words: heatveil("device", *words, "--config", site)  # noqa: E731
    seen = {devices(site).by_name["node-1"].key_id}
    for _ in range(KEYS - 1):
        said = run("rotate", "node-1", "--keys")
        assert said.status == 0, said.err
        seen.add(devices(site).by_name["node-1"].key_id)
    assert (len(seen), count(site, 1), count(site, 0)) == (16, 16, 1)

    before = kept(site)
    refused = run("rotate", "node-1", "--keys")
    assert "sensor 1 has had 16 keys, and the promise allows 16" in refused.refusal
    assert kept(site) == before
    assert run("rotate", "node-1").status == 0  # a password is no key of noise
    assert run("rotate", "node-2", "--keys").status == 0


@pytest.mark.long
def test_another_name_is_no_way_round_it(site: Path, heatveil: Heatveil) -> None:
    """What hides a person is the noise of a sensor, whatever the device is called.

    Nor where an older heatveil, which wrote no counts, enrolled the fleet.
    """
    keycount.locate_key_counts(site.with_name("devices.json")).unlink()
    run = lambda *words: heatveil("device", *words, "--config", site)  # noqa: E731
    for turn in range(KEYS - 1):
        assert run("remove", "node-5" if not turn else f"attic-{turn - 1}").status == 0
        assert run("add", f"attic-{turn}", "--virtual").status == 0
    assert run("remove", f"attic-{KEYS - 2}").status == 0

    refused = run("add", "cellar", "--virtual")
    assert "sensor 5 has had 16 keys" in refused.refusal


def test_a_key_that_never_left_this_machine_is_not_counted(
    site: Path, heatveil: Heatveil, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that is away for a day of tries must not use up what a sensor may have."""
    assert heatveil("device", "remove", "node-5", "--config", site).status == 0
    monkeypatch.setattr(
        "gateway.cli.devices.change.change_at_broker",
        Mock(side_effect=OperatorFault("the broker is away")),
    )
    for _ in range(3):
        assert heatveil("device", "add", "attic", "--config", site).status == 1
    assert keycount.load_key_counts(site.with_name("devices.json"), devices(site), {})[5] == 1


def test_what_the_gateway_heard_counts_where_nothing_was_counted(site: Path) -> None:
    """A fleet of an older heatveil has no file; of each key that spoke there is a row."""
    path = site.with_name("devices.json")
    heard = {"node-2": KEYS, "node-3": KEYS - 1}

    with pytest.raises(OperatorFault, match="sensor 2 has had 16"):
        keycount.count_new_key(path, devices(site), Place(2, 1), heard, KEYS)
    keycount.count_new_key(path, devices(site), Place(3, 1), heard, KEYS)


def test_a_fleet_that_is_enrolled_anew_in_its_folder_goes_on_counting(
    site: Path, heatveil: Heatveil
) -> None:
    """Its database has the same promise, so its keys are of the same sixteen."""
    moved_away(site, "first")
    assert heatveil("enrol", "--config", site).status == 0
    assert (count(site, 1), count(site, 2)) == (2, 2)

    assert heatveil("device", "rotate", "node-1", "--keys", "--config", site).status == 0
    moved_away(site, "second")
    assert heatveil("enrol", "--config", site).status == 0
    assert (count(site, 1), count(site, 2)) == (4, 3)


def test_no_whole_fleet_has_the_key_after_the_last(site: Path, heatveil: Heatveil) -> None:
    """One sensor of it is enough; nothing is made, and nothing is left in the way."""
    path, fleet = site.with_name("devices.json"), devices(site)
    keycount.save_key_counts(path, fleet, {**keycount.load_key_counts(path, fleet, {}), 4: KEYS})
    moved_away(site, "first")
    before = kept(site)
    refused = heatveil("enrol", "--config", site)

    assert "sensor 4 has had 16 keys" in refused.refusal
    assert kept(site) == before
    assert not site.with_name("state").exists()


def test_a_count_that_cannot_be_read_stops_it(site: Path) -> None:
    """What is not known may be sixteen."""
    path = site.with_name("devices.json")
    keycount.count_new_key(path, devices(site), Place(0, 1), {}, KEYS)
    beside = keycount.locate_key_counts(path)
    beside.write_text(beside.read_text().replace('"keys": 2', '"keys": -2'))

    with pytest.raises(OperatorFault, match=r"keys\.json cannot be read"):
        keycount.count_new_key(path, devices(site), Place(0, 1), {}, KEYS)
