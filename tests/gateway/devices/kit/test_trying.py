"""A trial of a sensor that was cut off: no board starts with it, and nothing of it stays."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.provision import kept, would_be
from gateway.devices import bundle
from gateway.devices.kit import boards, provisioning, selftest, settings
from gateway.devices.kit.provisioning import Kit
from gateway.settings import config
from tests.gateway.devices.kit.test_provisioning import Cut, Pulled, provisioned
from tests.gateway.devices.kit.test_sensing import names

NAME = "attic"
TRIAL = boards.name_beside(bundle.CONFIG)


@pytest.fixture
def folder(desk: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a board with nothing but the modules on it."""
    monkeypatch.setattr(selftest, "check_frame", lambda board: selftest.Passed("", 0))
    desk.board()
    return Path(desk.path.parent / "board")


def run(desk: Any, folder: Path, *words: object) -> Any:
    return desk.run(*words, "--board", f"folder:{folder}")


@pytest.mark.long
@pytest.mark.parametrize("late", [False, True])
def test_nothing_of_a_rehearsal_stays_on_a_spare_board(
    desk: Any, folder: Path, late: bool
) -> None:
    """It lies in a drawer then, with the site's key and the Wi-Fi's password on it."""
    would = would_be(desk.path, config.load(desk.path), NAME, None, 1)
    own, cut = settings.read_settings(desk.own), []

    def rehearsed(after: int) -> Pulled:
        cable = Pulled(desk.board(), after, late)
        with suppress(Cut):
            provisioning.rehearse(cable, would, own, None, lambda _: None)
        return cable

    for after in range(1, rehearsed(0).steps + 1):
        rehearsed(after)
        assert names(folder) <= {TRIAL}  # so it is no device, and starts nothing
        cut.append(TRIAL in names(folder))
        if cut[-1]:
            run(desk, folder, "doctor")
            assert names(folder) == set(), after
    assert sum(cut) > 1


@pytest.mark.long
def test_a_trial_that_is_broken_off_by_hand_is_taken_back_at_once(
    desk: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control-C, while the board is asked for its sensor."""
    assert run(desk, folder, "provision", NAME, "--settings", desk.own).status == 0
    desk.board("spare", bare=True)
    spare = folder.with_name("spare")

    def broken_off(*_: object) -> selftest.SensorTrial:
        assert names(spare) == {TRIAL}
        raise KeyboardInterrupt

    monkeypatch.setattr(selftest, "try_sensor", broken_off)
    with suppress(KeyboardInterrupt):
        run(desk, spare, "rotate", NAME, "--settings", desk.own, "--keys")
    assert names(spare) == set()


@pytest.mark.long
def test_a_device_starts_with_the_config_that_it_had_or_not_at_all(
    desk: Any, folder: Path, tmp_path: Path
) -> None:
    """Its cable is pulled in the trial of other settings; the next command finds what it was."""
    desk.own.write_text("tick_ms = 9000\n" + desk.own.read_text())  # whatever is measured
    provisioned(desk, desk.board())
    before, worked = (folder / bundle.CONFIG).read_bytes(), tmp_path / "worked"
    shutil.copytree(folder, worked)
    had = settings.read_settings(desk.own)
    desk.own.write_text("wake_s = 60\n" + desk.own.read_text())
    held = kept(desk.path, NAME, desk.path.with_name(f"{NAME}.device.json"))
    assert held is not None
    own = settings.read_settings(desk.own)
    new, cut = settings.make_config(held, own), 0

    def brought(after: int) -> Pulled:
        cable = Pulled(desk.board(), after, True)
        with suppress(Cut):
            provisioning.provision(cable, Kit(held, own), lambda _: None)
        return cable

    for after in range(1, brought(0).steps + 1):
        shutil.rmtree(folder)
        shutil.copytree(worked, folder)
        brought(after)
        there, tried = (folder / bundle.CONFIG).read_bytes(), (folder / TRIAL).exists()
        assert there in (before, new)
        assert not tried or (there == before and bundle.MAIN not in names(folder)), after
        if tried:
            cut += 1
            run(desk, folder, "doctor")
            assert names(folder) == {*bundle.SLOTS, bundle.CONFIG}, after
            assert (folder / bundle.CONFIG).read_bytes() == before
            provisioned(desk, desk.board(), own=False)
            assert settings.read_own(desk.board()) == had
            assert bundle.MAIN in names(folder)
    assert cut > 1
