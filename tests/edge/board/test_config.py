"""The file that a board is given: what it may say; and a sensor of one's own in it."""

import ast
import copy
import json
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import edge
from edge.board import drivers
from edge.board.config import Config, load, pack
from edge.board.sensors import yours
from edge.core.entropy import Identity

# The file that a device is told everything in: what is right is read, all else is named.

RIGHT: dict[str, Any] = {
    "site": "lab",
    "name": "attic-3",
    "sensor": 3,
    "sensors": 1,
    "mode": "sealed",
    "site_key": "5e" * 32,
    "mac_key": "a1" * 32,
    "config_key": "c0" * 32,
    "state_key": "57" * 32,
    "key_id": "1d" * 4,
    "link": {
        "host": "broker.example",
        "port": 8883,
        "tls": True,
        "client_id": "attic-3-7ab2",
        "username": "attic-3",
        "password": "hunter2",
        "ca": "-----BEGIN CERTIFICATE-----",
    },
    "wifi": {"ssid": "ours", "password": "hunter3"},
    "driver": {"name": "tmp117", "sda": 4, "scl": 5, "empty": 2700},
}
NOTHING = object()


def written(folder: Path, *changes: tuple[str, Any]) -> str:
    """Return the path of a right file with these changes: `link.port` names a word of a table."""
    body = copy.deepcopy(RIGHT)
    for where, what in changes:
        *tables, word = where.split(".")
        table = body
        for name in tables:
            table = table[name]
        if what is NOTHING:
            del table[word]
        else:
            table[word] = what
    (folder / "heatveil.json").write_text(json.dumps(body))
    return str(folder / "heatveil.json")


def test_a_right_file_is_read_whole(tmp_path: Path) -> None:
    """What is not said has its usual value, and keys are bytes."""
    found = load(written(tmp_path))

    keys = (b"\x5e" * 32, b"\xa1" * 32, b"\xc0" * 32, b"\x57" * 32, b"\x1d" * 4)
    assert isinstance(found, Config)
    assert found.identity == Identity("lab", "attic-3", 3, 1, "sealed", *keys)
    assert found.link["port"] == 8883
    assert found.wifi == {"ssid": "ours", "password": "hunter3", "country": None}
    assert (found.driver["name"], found.driver["empty"]) == ("tmp117", 2700)
    assert (found.tick_ms, found.wake_s, found.led) == (5000, 0, None)


def test_the_file_that_a_host_writes_is_read(tmp_path: Path) -> None:
    """Its CRC is a word of it, so that whatever else reads JSON can read it too."""
    path = tmp_path / "heatveil.json"
    path.write_bytes(pack(RIGHT))

    assert json.loads(path.read_bytes()).keys() - RIGHT.keys() == {"crc"}
    assert load(str(path)) == load(written(tmp_path))


def test_two_halves_of_two_files_are_told_apart(tmp_path: Path) -> None:
    """FAT writes sector by sector: the start of the new file before the end of the old one.

    Both halves are JSON, and together they are a device that nobody enrolled.
    """
    old, new = pack(RIGHT), pack(RIGHT | {"mac_key": "a2" * 32, "state_key": "58" * 32})
    assert len(old) == len(new)
    path, read = tmp_path / "heatveil.json", set()
    for at in range(len(old) + 1):
        path.write_bytes(new[:at] + old[at:])
        with suppress(ValueError):
            found = load(str(path)).identity
            read.add((found.mac_key[0], found.state_key[0]))

    assert read == {(0xA1, 0x57), (0xA2, 0x58)}
    bare = json.dumps(RIGHT), json.dumps(RIGHT | {"mac_key": "a2" * 32, "state_key": "58" * 32})
    at = bare[0].index("state_key") - 5
    path.write_text(bare[1][:at] + bare[0][at:])
    mixed = load(str(path)).identity  # as it was without the CRC
    assert (mixed.mac_key[0], mixed.state_key[0]) == (0xA2, 0x57)


def test_a_file_that_somebody_changed_is_whole_and_not_right(tmp_path: Path) -> None:
    """One letter by an editor: it is JSON still, and nobody knows what else was touched."""
    path = tmp_path / "heatveil.json"
    path.write_bytes(pack(RIGHT).replace(b"tmp117", b"tmp118"))
    with pytest.raises(ValueError, match="has a checksum that is wrong"):
        load(str(path))


def test_a_cable_and_no_tls_are_possible(tmp_path: Path) -> None:
    """A Raspberry Pi on a network of its own has neither."""
    path = written(tmp_path, ("wifi", NOTHING), ("link.ca", NOTHING), ("link.tls", False))

    assert load(path).wifi is None


@pytest.mark.parametrize(
    ("where", "what", "said"),
    [
        ("root", "00" * 32, "root key"),
        ("chain", "00" * 32, "chain key"),
        ("site", NOTHING, "site"),
        ("sensor", "3", "sensor"),
        ("sensor", True, "sensor"),
        ("sensor", -1, "sensor"),
        ("sensors", 0, "sensors"),
        ("sensors", 1025, "sensors"),
        ("mode", "open", "mode"),
        ("mac_key", "a1" * 31, "mac_key"),
        ("mac_key", "zz" * 32, "mac_key"),
        ("key_id", "", "key_id"),
        ("link", NOTHING, "link"),
        ("link.port", 70000, "port"),
        ("link.port", "8883", "link.port"),
        ("link.tls", "true", "link.tls"),
        ("link.tls", False, "tls"),
        ("link.ca", NOTHING, "ca"),
        ("link.insecure", True, r"a word too many, link\.insecure;"),
        ("wifi.ssid", NOTHING, "wifi.ssid"),
        ("wifi.pasword", "x", r"a word too many, wifi\.pasword;"),
        ("driver.name", NOTHING, "driver.name"),
        ("driver.adress", 72, r"a word too many, driver\.adress;"),
        ("driver.empty", 20.5, "driver.empty"),
        ("driver.recorded_s", 0, "recorded_s"),
        ("driver.recorded_s", 1795500000000, "recorded_s"),
        ("driver", {"name": "tmp117", "recorded_s": 1795500000}, "recorded_s without empty"),
        ("tick_ms", 0, "tick_ms"),
        ("wake_s", -5, "wake_s"),
        ("following", 64, "following"),
        ("debug", True, "a word too many, debug;"),
    ],
)
def test_a_wrong_word_is_named_and_not_shown(
    tmp_path: Path, where: str, what: object, said: str
) -> None:
    """Somebody who mistyped must find the word; who reads the console must find no secret."""
    with pytest.raises(ValueError, match=said) as caught:
        load(written(tmp_path, (where, what)))

    shown = str(caught.value)
    assert "heatveil provision" in shown
    assert not any(secret in shown for secret in ("hunter2", "hunter3", "a1a1", "5e5e", "c0c0"))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"site": "lab', "x" * 20000, "\x00" * 512])
def test_a_file_that_was_cut_off_is_told_apart(tmp_path: Path, text: str) -> None:
    """A flash that lost its power leaves halves and zeros."""
    (tmp_path / "c.json").write_text(text)

    with pytest.raises(ValueError, match="c.json (is|holds)"):
        load(str(tmp_path / "c.json"))
    with pytest.raises(ValueError, match="is not there"):
        load(str(tmp_path / "absent.json"))


SCRIPT = """
from edge.board.config import check
import json
print(sorted(check(json.loads({text!r})).link.items())[2:4])
body = json.loads({text!r})
body["link"]["tls"] = 1
try:
    check(body)
except ValueError as why:
    print(str(why)[:50])
"""


def test_every_interpreter_reads_it_alike(interpreter) -> None:
    """Strictness must not hang on CPython's json."""
    assert interpreter.run(SCRIPT.format(text=json.dumps(RIGHT))) == (
        "[('host', 'broker.example'), ('password', 'hunter2')]\n"
        "/heatveil.json has no link.tls, or not as it must \n"
    )


# A sensor of one's own in ten lines, from the file to a frame, as its docstring promises.

TEMPLATE = Path(str(edge.__file__)).parent / "board" / "sensors" / "yours.py"
PARAMS = SimpleNamespace(exponent=8)
WORDS = ("empty", "address", "bus", "sda", "scl", "pin", "roms", "khz")


def words(**told: Any) -> dict[str, Any]:
    """Return a driver's words as `config` gives them."""
    return {"name": "yours", **dict.fromkeys(WORDS), **told}


def code(text: str) -> list[str]:
    """Return the lines that do something: no docstring, no comment, nothing empty."""
    said: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            said.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = [line for i, line in enumerate(text.splitlines(), 1) if i not in said]
    return [line for line in lines if line.strip() and not line.strip().startswith("#")]


def test_ten_lines_are_enough() -> None:
    """That is what the README says, of whoever has another sensor."""
    assert len(code(TEMPLATE.read_text())) <= 10


@pytest.mark.parametrize("degrees", [-30, 0, 20, 25, 99])
def test_the_template_is_the_data_sheet_of_a_tmp36(degrees: int) -> None:
    """500 mV at zero and 10 mV a kelvin, at a converter of 4096 counts in 3.3 V."""
    count = int(Fraction(500 + 10 * degrees, 3300) * 4096)
    converter = SimpleNamespace(read_u16=lambda: count << 4 | count >> 8)
    sensor = drivers.open_sensor(words(pin=26), analog=lambda told: converter)
    (grains,) = sensor.read(PARAMS)

    assert abs(Fraction(grains, 256) - (degrees - 20)) < Fraction(1, 8)
    assert Fraction(*yours.Sensor.step) == Fraction(3300, 4096 * 10)


@pytest.mark.parametrize("count", [0, 100, 2200, 4095])
def test_a_wire_that_is_off_is_no_temperature(count: int) -> None:
    """An open input reads nought or full, and no room has that."""
    converter = SimpleNamespace(read_u16=lambda: count << 4)

    with pytest.raises(ValueError, match="cannot measure"):
        yours.Sensor(converter).read(PARAMS)


OWN = """
class Sensor:
    step, sensors = (1, 32), 2

    def __init__(self, i2c, empty=None):
        self._i2c, self._empty = i2c, bus.level(empty, 20 * 32, 2)

    def counts(self):
        raw = bus.fill(self._i2c, 0x18, 5, bytearray(4))
        return bus.possible((raw[0] << 8 | raw[1], raw[2] << 8 | raw[3]), 0, 128 * 32)

    def read(self, params):
        return bus.subtract_baseline(self.counts(), self._empty, params.exponent, self.step)
"""

ON_A_BUS = """
import sys
from edge.board.sensors import bus
{own}
class Module:
    pass
module = Module()
module.Sensor = Sensor
sys.modules["edge.board.sensors.yours"] = module
from edge.board import drivers
class Bus:
    def readfrom_mem_into(self, address, register, buffer, addrsize=8):
        if gone:
            raise OSError("0x0280")
        buffer[:] = bytes([0x02, 0x90, 0x02, 0x80])
class Params:
    exponent = 8
told = {{"name": "yours", "empty": None, "sda": 4, "bus": None, "scl": None, "pin": None}}
gone = False
held = drivers.Held(lambda: drivers.open_sensor(told, lambda driver: Bus()), 2, (1, 32))
print(*held.read(Params))
gone = True
try:
    held.read(Params)
except OSError as why:
    print(why)
"""


def test_another_one_on_a_bus_runs_on_every_interpreter(interpreter) -> None:
    """The file exchanged, a chip of two words at 32 counts a kelvin; gone, it says no number."""
    assert len(code(OWN)) <= 10
    said = interpreter.run(ON_A_BUS.format(own=OWN))

    assert (
        said == "128 0\nthe sensor does not answer; look at its wires, its power and its address\n"
    )


def test_a_computer_without_a_converter_says_so() -> None:
    """A Raspberry Pi has no analog pin."""
    with pytest.raises(ValueError, match="not read on this computer"):
        drivers.open_sensor(words(pin=26), i2c=lambda told: None)
