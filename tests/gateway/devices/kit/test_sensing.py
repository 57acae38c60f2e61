"""A sensor that does not answer, or whose trial was cut off: no new device comes of it."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.devices.provision import find_board_file, preview_board_file
from gateway.devices import bundle
from gateway.devices.enrol import enrol
from gateway.devices.kit import boards, provisioning, selftest, settings, state
from gateway.devices.kit.provisioning import Kit
from gateway.settings.config import load_deployment
from tests.gateway.devices.kit.conftest import held
from tests.gateway.devices.kit.test_provisioning import Cut, Pulled, provisioned

NAME = "attic"


SILENT = '[driver]\nname = "tmp117"\nsda = 4\nscl = 5\naddress = 73\n'  # the stand-in's is at 72


@pytest.fixture
def folder(desk: Any) -> Path:
    """Return the folder of a board with nothing but the modules on it."""
    desk.board()
    return Path(desk.path.parent / "board")


def run(desk: Any, folder: Path, *words: object) -> Any:
    return desk.run(*words, "--board", f"folder:{folder}")


def given(desk: Any) -> bool:
    kept = find_board_file(desk.path, NAME, desk.path.with_name(f"{NAME}.device.json"))
    return kept is not None and kept.given


def names(folder: Path) -> set[str]:
    """Return what is there that a device has and a bare board has not, or is on its way there."""
    own = (*bundle.SLOTS, bundle.CONFIG, boards.make_temporary_name(bundle.CONFIG), bundle.MAIN)
    return {name for name in own if (folder / name).exists()}


@pytest.mark.long
def test_a_board_whose_sensor_is_silent_is_no_device(desk: Any, folder: Path) -> None:
    """Nothing there looks finished, the sentence says what to mend, and then it goes on."""
    right = desk.own.read_text()
    desk.own.write_text(SILENT)
    words = ("provision", NAME, "--settings", desk.own)
    said = run(desk, folder, *words)
    assert (said.status, "\nready" in said.out, names(folder)) == (1, False, set())
    assert "does not answer as its settings say" in said.err
    assert "only these answer: ds18b20" in said.err  # of a board in a folder
    assert "run this again" in said.err
    assert not given(desk)

    desk.own.write_text(right)
    again = run(desk, folder, *words)
    assert "it answers" in again.success
    assert names(folder) == {*bundle.SLOTS, bundle.CONFIG, bundle.MAIN}
    assert given(desk)


@pytest.mark.long
def test_a_board_for_another_keeps_its_budget_till_its_sensor_answers(
    desk: Any, folder: Path
) -> None:
    """It ends the first device, and for nothing, where the second never comes to be."""
    assert run(desk, folder, "provision", NAME, "--settings", desk.own).status == 0
    before = [(folder / path).read_bytes() for path in (*bundle.SLOTS, bundle.CONFIG)]
    assert desk.run("device", "remove", "node-4").status == 0
    desk.own.write_text(SILENT)
    said = run(desk, folder, "provision", "cellar", "--settings", desk.own, "--replace")
    assert (said.status, "cellar was not finished there" in said.err) == (1, True)
    assert [(folder / path).read_bytes() for path in (*bundle.SLOTS, bundle.CONFIG)] == before


def key_of(desk: Any) -> str:
    """Return which key of the device the gateway takes."""
    devices = enrol.load_devices(desk.path.with_name("devices.json"), "seen")
    return str(devices.by_name[NAME].key_id.hex())


@pytest.mark.long
@pytest.mark.parametrize("waiting", [False, True], ids=["made now", "made before"])
def test_new_keys_come_to_a_board_whose_sensor_broke_and_it_is_not_started(
    desk: Any, folder: Path, waiting: bool
) -> None:
    """The gateway takes the old ones no more; and no round costs it what it cannot answer."""
    assert run(desk, folder, "provision", NAME, "--settings", desk.own).status == 0
    old, before = key_of(desk), [(folder / path).read_bytes() for path in bundle.SLOTS]
    right = desk.own.read_text()
    desk.own.write_text(SILENT)
    if waiting:
        assert desk.run("device", "rotate", NAME, "--keys").status == 0
    said = run(desk, folder, "rotate", NAME, "--settings", desk.own, "--keys")

    assert said.status == 1
    assert "It was not started" in said.err
    assert f"then run heatveil provision {NAME}" in said.err
    assert not {"restart", "ready"} & {line.partition(" ")[0] for line in said.out.splitlines()}
    assert given(desk)
    assert not desk.path.with_name(f"{NAME}.device.json").exists()
    assert names(folder) == {*bundle.SLOTS, bundle.CONFIG}
    assert [(folder / path).read_bytes() for path in bundle.SLOTS] != before
    mine = held(desk)
    seen = state.read_board_state(desk.board(), mine.identity.mac_key)
    assert (seen.key, seen.ours, seen.budget_state) == (key_of(desk), True, "ready")
    assert seen.key != old

    desk.own.write_text(right)
    again = run(desk, folder, "provision", NAME, "--settings", desk.own)
    assert "it answers" in again.success
    assert bundle.MAIN in names(folder)


TRIAL = boards.make_temporary_name(bundle.CONFIG)

# A trial of a sensor that was cut off: no board starts with it, and nothing of it stays.


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no self-test of a board take its seconds."""
    monkeypatch.setattr(selftest, "compare_frame", lambda board: selftest.SelftestResult("", 0))


@pytest.mark.long
@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("late", [False, True])
def test_nothing_of_a_rehearsal_stays_on_a_spare_board(
    desk: Any, folder: Path, late: bool
) -> None:
    """It lies in a drawer then, with the site's key and the Wi-Fi's password on it."""
    would = preview_board_file(desk.path, load_deployment(desk.path), NAME, None, 1)
    own, cut = settings.read_settings_file(desk.own), []

    def rehearsed(after: int) -> Pulled:
        cable = Pulled(desk.board(), after, late)
        with suppress(Cut):
            provisioning.try_sensor_before_keys(cable, would, own, None, lambda _: None)
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
@pytest.mark.usefixtures("trusted")
def test_a_device_starts_with_the_config_that_it_had_or_not_at_all(
    desk: Any, folder: Path, tmp_path: Path
) -> None:
    """Its cable is pulled in the trial of other settings; the next command finds what it was."""
    desk.own.write_text("tick_ms = 9000\n" + desk.own.read_text())  # whatever is measured
    provisioned(desk, desk.board())
    before, worked = (folder / bundle.CONFIG).read_bytes(), tmp_path / "worked"
    shutil.copytree(folder, worked)
    had = settings.read_settings_file(desk.own)
    desk.own.write_text("wake_s = 60\n" + desk.own.read_text())
    mine = held(desk)
    own = settings.read_settings_file(desk.own)
    new, cut = settings.make_board_config(mine, own), 0

    def brought(after: int) -> Pulled:
        cable = Pulled(desk.board(), after, True)
        with suppress(Cut):
            provisioning.provision_board(cable, Kit(mine, own), lambda _: None)
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
            assert settings.read_board_settings(desk.board()) == had
            assert bundle.MAIN in names(folder)
    assert cut > 1


@pytest.mark.parametrize(
    ("method", "gives", "words"),
    [
        ("counts", "[20.5]", "counts gives float and must give int"),
        ("counts", "[True]", "counts gives bool"),
        ("counts", "[20, 21]", "counts gives 2 of 1"),
        ("read", "[5120.0]", "read gives float"),
        ("read", "[1 << 200]", "that a converter can give"),
        (
            "counts",
            "[1 // (20.5 - 20.5)]",
            "yours: its driver stops with ZeroDivisionError in "
            "counts(), line 6. Correct the driver that is named as file",
        ),
        (
            "counts",
            "__import__('edge.board.sensors.bus', None, None, ['x']).possible([99], 1, 2)",
            "or at the bounds in your driver",
        ),
    ],
)
def test_a_driver_whose_counts_are_not_whole_is_told_so(
    desk: Any, folder: Path, method: str, gives: str, words: str
) -> None:
    """On the wall it would answer no Round; here the operator hears which of its methods is it."""
    methods = {"counts": "[20]", "read": "[5120]", method: gives}
    driver = desk.own.with_name("mine.py")
    driver.write_text(
        "class Sensor:\n    step, sensors = (1, 16), 1\n"
        "    def __init__(self, device, empty=None):\n        pass\n"
        + "".join(
            f"    def {n}(self, params=None):\n        return {r}\n" for n, r in methods.items()
        )
    )
    desk.own.write_text(f'[driver]\nname = "yours"\nfile = "{driver}"\npin = 26\n')
    said = run(desk, folder, "provision", NAME, "--settings", desk.own)

    assert (said.status, words in said.err) == (1, True), said.err
    assert "20.5" not in said.err
    assert not given(desk)
