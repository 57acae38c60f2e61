"""A slip of the hand costs nothing: board and settings are looked at before the enrolment.

Serial lines that a chip has, and those that no wiring makes one of.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from gateway.devices import bundle
from gateway.devices.kit import fit, interpreter
from gateway.devices.kit.boards import list_files
from gateway.devices.kit.interpreter import Interpreter
from gateway.faults import OperatorFault
from tests.gateway.devices.kit.test_tells import GPS, NAME, Park
from tests.gateway.devices.kit.test_tells import park as park

BOARD = "attic"


def kept(desk: Any) -> dict[str, bytes]:
    """Return what an enrolment or new keys would change."""
    folder = desk.path.parent
    return {file.name: file.read_bytes() for file in folder.glob("*.json*")}


@pytest.fixture
def made(desk: Any) -> str:
    """Return the address of a board that is a device, where a sensor is free for another."""
    desk.board()
    where = f"folder:{desk.path.parent / 'board'}"
    done = desk.run("provision", BOARD, "--board", where, "--settings", desk.own)
    assert done.status == 0, done.err
    assert desk.run("device", "remove", "node-4").status == 0
    return where


@pytest.mark.long
def test_a_name_that_was_mistyped_is_not_enrolled(desk: Any, made: str) -> None:
    """The board is attic: nothing of `attik` is left behind, no sensor taken, no file written."""
    before = kept(desk)
    said = desk.run("provision", "attik", "--board", made, "--settings", desk.own)
    assert (said.status, f"holds the budget of {BOARD}" in said.err) == (1, True)
    assert "enrolled for sensor" not in said.out
    assert kept(desk) == before


@pytest.mark.parametrize(
    ("driver", "more", "says"),
    [
        ('name = "sht4x"', (), "adc_step"),
        ('name = "tmp177"', (), "tmp117"),
        ('name = "tmp117"', ("--sensors", 2), "reads 1 sensors and attic is to have 2"),
        ('name = "ds18b20"\npin = 4\nroms = ["28ff641e8216041c"]', ("--sensors", 2), "reads 1"),
        ('name = "ds18b20"\npin = 4\nempty = "warm"', (), "empty"),
        pytest.param('name = "ds18b20"\ntick_ms = 1900', (), "out: it is 2000 then", id="tick"),
    ],
)
def test_what_the_settings_say_is_held_against_the_deployment_first(
    desk: Any, driver: str, more: tuple[Any, ...], says: str
) -> None:
    """A device that would refuse every round, or whose readings have no place, is none of ours."""
    assert desk.run("device", "remove", "node-4").status == 0
    name, _, tick = driver.partition("\ntick_ms")
    desk.own.write_text(f"{tick and 'tick_ms' + tick}\n[driver]\n{name}\n")
    before = kept(desk)
    where = ("--board", f"folder:{desk.path.parent / 'bare'}", "--settings", desk.own)
    said = desk.run("provision", BOARD, *where, *more)
    assert said.status == 1
    assert says in " ".join(said.err.split())
    assert kept(desk) == before


def test_a_board_without_settings_is_not_enrolled(desk: Any) -> None:
    """Nothing says which sensor it has, so it could not be finished."""
    before = kept(desk)
    said = desk.run("provision", BOARD, "--board", f"folder:{desk.path.parent / 'bare'}")
    assert (said.status, "--settings" in said.err) == (1, True)
    assert kept(desk) == before


@pytest.mark.long
def test_old_keys_are_worth_something_until_the_new_ones_can_be_brought(
    desk: Any, made: str
) -> None:
    """Another's board, or settings that it would refuse: they stay, and what to do is said."""
    before = kept(desk)
    other = desk.run("rotate", "node-3", "--board", made, "--keys")
    assert (other.status, "Plug in its own board" in other.err) == (1, True)
    assert "--replace" not in other.err

    desk.own.write_text('[driver]\nname = "sht4x"\n')
    wrong = desk.run("rotate", BOARD, "--board", made, "--keys", "--settings", desk.own)
    assert (wrong.status, "adc_step" in wrong.err) == (1, True)
    nobody = desk.run("rotate", "attik", "--board", made, "--keys")
    assert (nobody.status, "no device attik is enrolled" in nobody.err) == (1, True)
    assert kept(desk) == before


def test_how_many_sensors_a_driver_reads(tmp_path: Path) -> None:
    """As far as it can be known without the wire."""
    own = tmp_path / "mine.py"
    own.write_text("class Sensor:\n    step, sensors = (1, 16), 4\n")
    mine = {"name": "yours", "file": str(own)}
    assert fit.find_count({"driver": mine}) == 4
    assert fit.find_step({"driver": mine}) == (1, 16)
    assert fit.find_count({"driver": {"name": "amg8833"}}) == 64
    assert fit.find_count({"driver": {"name": "ds18b20"}}) is None
    assert fit.find_count({"driver": {"name": "yours"}}) is None
    assert fit.find_count({}) is None


PICTURE = Path(__file__).parents[4] / "edge" / "pictures" / "gps.svg"


def checked(kind: str, uart: int | None, tx: int = 4, rx: int = 5, name: str = "gps") -> None:
    found = Interpreter("1.25.0", "any", "00", 1 << 17, True, 2026, 6, kind)
    driver = {"name": name, "uart": uart, "tx": tx, "rx": rx}
    fit.check_line(found, {"driver": {k: v for k, v in driver.items() if v is not None}})


@pytest.mark.parametrize(
    ("kind", "uart", "tx", "rx"),
    [
        # Of the pin-out cards of the makers, and MicroPython's own defaults.
        *[("RP2040", 0, tx, tx + 1) for tx in (0, 12, 16, 28)],
        *[("RP2040", 1, tx, tx + 1) for tx in (4, 8, 20, 24)],
        ("RP2040", 1, 20, 5),  # of one line, though not beside each other
        ("RP2350", 0, 2, 3),
        ("RP2350", 1, 6, 7),
        ("RP2350", 1, 36, 37),
        ("ESP32", 2, 17, 16),
        ("ESP32", 1, 4, 34),
        # Of what is not known here nothing is said, nor of what is at no line.
        ("ESP32S3", 0, 43, 44),
        ("", 7, 4, 5),
        ("version", 7, 4, 5),
        ("RP2040", None, 4, 5),
    ],
)
def test_lines_that_are_there_are_taken(kind: str, uart: int | None, tx: int, rx: int) -> None:
    """A board that would work is never turned away."""
    checked(kind, uart, tx, rx)


@pytest.mark.parametrize(
    ("kind", "uart", "tx", "rx", "says"),
    [
        ("RP2040", 7, 4, 5, "uart = 7 and an RP2040 has 0 and 1 for a sensor; what is wired"),
        ("RP2350", 2, 4, 5, "uart = 2 and an RP2350 has 0 and 1"),
        ("ESP32", 0, 1, 3, "an ESP32 has 1 and 2 for a sensor; 0 is the cable's"),
        ("ESP32", 3, 4, 5, "uart = 3 and an ESP32 has 1 and 2"),
        ("RP2040", 0, 4, 5, "tx = 4, and an RP2040 has that tx on 0, 12, 16, 28 alone"),
        ("RP2040", 1, 5, 4, "tx = 5, and an RP2040 has that tx on 4, 8, 20, 24 alone"),
        ("RP2040", 1, 4, 1, "rx = 1, and an RP2040 has that rx on 5, 9, 21, 25 alone"),
        ("RP2040", 1, 6, 7, "tx = 6"),  # which an RP2350 has
        ("RP2350", 0, 4, 5, "tx = 4"),
        ("ESP32", 1, 10, 9, "tx = 10, .*on 0, 2, 4, 5, 12 to 23, 25 to 27, 32, 33 alone"),
        ("ESP32", 2, 34, 16, "tx = 34"),  # which only hears
        ("ESP32", 2, 17, 3, "rx = 3, .*25 to 27, 32 to 39 alone"),
        ("ESP32", 2, 17, 28, "rx = 28"),
        ("ESP32", 2, 17, 40, "rx = 40"),
    ],
)
def test_lines_that_are_not_there_are_said(
    kind: str, uart: int, tx: int, rx: int, says: str
) -> None:
    """What was given, what there is, why it matters, what to do."""
    for name in ("gps", "yours"):
        with pytest.raises(OperatorFault, match=says) as told:
            checked(kind, uart, tx, rx, name)
        assert f"the driver {name} of the settings has" in str(told.value)
        assert "under [driver]" in str(told.value)
    checked(kind, uart, tx, rx, "fixed")  # which reads none of it


def test_what_our_own_picture_shows_is_there() -> None:
    """Or who follows it is turned away."""
    shown = re.findall(r"uart = (\d+), tx = (\d+), rx = (\d+)", PICTURE.read_text())
    assert len(shown) == 2
    for kind, words in zip(("RP2040", "ESP32"), shown, strict=True):
        checked(kind, *map(int, words))


def test_the_chip_is_the_last_word_of_what_a_firmware_says(park: Park) -> None:
    """As MicroPython's boards have it: the board's name, "with", the chip's."""
    code = interpreter._ASK.replace('sys.implementation, "_machine", ""', 'Said, "text", ""')
    said = park.board().run('class Said:\n    text = "Raspberry Pi Pico W with RP2040"\n' + code)

    assert said.splitlines()[-1] == "kind RP2040"
    assert interpreter.examine(park.board()).kind not in fit.CHIPS


@pytest.fixture
def pico(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every board be an RP2040, and what there is of it be as it is."""
    examined = interpreter.examine
    monkeypatch.setattr(interpreter, "examine", lambda it: examined(it)._replace(kind="RP2040"))


@pytest.mark.usefixtures("pico")
def test_a_line_that_no_pico_has_is_said_before_anything_is_made(park: Park) -> None:
    """On the desk: no device is enrolled by it, nothing is on the board, and then it goes on."""
    park.own.write_text(GPS.replace("uart = 1", "uart = 7"))
    said = park.run("provision", NAME, "--settings", park.own)
    assert (said.status, "uart = 7 and an RP2040 has 0 and 1" in said.err) == (1, True)
    assert bundle.CONFIG not in list_files(park.board(), ".")
    assert not list(park.path.parent.glob(f"{NAME}.*"))

    park.own.write_text(GPS)
    assert park.run("provision", NAME, "--settings", park.own).status == 0


@pytest.mark.usefixtures("pico")
@pytest.mark.parametrize("words", [("rotate",), ("rotate", "--keys"), ("provision",)])
def test_a_device_that_works_is_left_at_it(park: Park, words: tuple[Any, ...]) -> None:
    """No password and no key is made anew for settings under which it would be silent."""
    assert park.run("provision", NAME, "--settings", park.own).status == 0
    before = {one: one.read_bytes() for one in park.path.parent.glob("*.json*")}
    there = {one: (park.flash / one).read_bytes() for one in (bundle.CONFIG, *bundle.SLOTS)}
    park.own.write_text(GPS.replace("tx = 4", "tx = 6"))
    said = park.run(words[0], NAME, *words[1:], "--settings", park.own)

    assert (said.status, "tx = 6, and an RP2040" in said.err) == (1, True), said.err
    assert {one: one.read_bytes() for one in park.path.parent.glob("*.json*")} == before
    assert {one: (park.flash / one).read_bytes() for one in there} == there
    assert (park.flash / bundle.MAIN).exists()
