"""Sensors and arrays on the buses of a Raspberry Pi."""

import ctypes
import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edge.board import drivers
from edge.board.config import load
from edge.board.drivers import Held
from edge.board.sensors import bus
from edge.core import entropy, table, wire
from edge.core.records import Grid, Guarantee, Round
from edge.host import post, rootkeys
from edge.linux import buses
from edge.linux.buses import Wire
from edge.mechanisms import thermal
from tests.edge.linux.test_run import ROOT, SITE_KEY, folder_of, live
from tests.edge.linux.test_run import host as host

# The kernel's files in place of pins: the same drivers read them, number by number.

spec = importlib.util.spec_from_file_location(
    "chips", Path(__file__).parents[1] / "board/chips.py"
)
chips = importlib.util.module_from_spec(spec)
spec.loader.exec_module(chips)

PARAMS = SimpleNamespace(exponent=8)


ARRAY = chips.an_mlx90641()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bus, "pause", ARRAY.pause)


class Message(ctypes.Structure):
    """As i2c.h has it."""

    _fields_ = (
        ("address", ctypes.c_uint16),
        ("flags", ctypes.c_uint16),
        ("size", ctypes.c_uint16),
        ("data", ctypes.c_void_p),
    )


class Transfer(ctypes.Structure):
    """As i2c-dev.h has it."""

    _fields_ = (("messages", ctypes.c_void_p), ("count", ctypes.c_uint32))


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> chips.Bus:
    """Return the chips behind /dev/i2c-1: whom ioctl names gets the bytes, as in i2c-dev."""
    held, line = SimpleNamespace(whom=0), chips.Bus()

    def ioctl(file: int, request: int, given: Any) -> int:
        assert (file, request) in ((99, 0x0703), (99, 0x0707))
        if request == 0x0703:
            held.whom = given
            return 0
        messages = (Message * 2).from_address(Transfer.from_buffer_copy(given.ljust(16)).messages)
        assert [(one.address, one.flags) for one in messages] == [
            (messages[0].address, 0),
            (messages[0].address, 1),
        ]
        register = int.from_bytes(ctypes.string_at(messages[0].data, messages[0].size), "big")
        said = bytes(line._at(messages[0].address).load(register, messages[1].size))
        ctypes.memmove(messages[1].data, said, len(said))
        return 2

    def write(file: int, data: bytes) -> int:
        chip = line._at(held.whom)
        if hasattr(chip, "told"):
            chip.told(bytes(data))
        else:
            wide = isinstance(chip, chips.Melexis)
            chip.store(int.from_bytes(data[: 1 + wide], "big"), bytes(data[1 + wide :]))
        return len(data)

    def read(file: int, size: int) -> bytes:
        return bytes(line._at(held.whom).said(size))

    monkeypatch.setattr(buses.os, "open", lambda path, flags: {"/dev/i2c-1": 99}[path])
    monkeypatch.setattr(buses.os, "write", write)
    monkeypatch.setattr(buses.os, "read", read)
    monkeypatch.setattr(buses.fcntl, "ioctl", ioctl)
    return line


def words(name: str) -> dict[str, object]:
    """Return the driver's words of a config that says nothing but its name and bus."""
    empty = dict.fromkeys(("empty", "address", "sda", "scl", "pin", "roms", "khz"))
    return {"name": name, "bus": 1, **empty, "empty": 0}


def test_every_chip_is_read_through_the_kernel(kernel: chips.Bus) -> None:
    """The drivers do not know that there is a kernel between."""
    kernel.chips.update({0x69: chips.GridEye([0x64] * 64), 0x48: chips.Tmp117(0x0C80)})
    kernel.chips[0x44] = chips.Sht4x(0xBE, 0xEF, 0x92, 0xBE, 0xEF, 0x92)
    kernel.chips |= {0x5A: chips.Mlx90614(0x3AD2, 0x30), 0x33: ARRAY}

    def read(name: str) -> tuple[int, ...]:
        return drivers.open_sensor(words(name), lambda told: buses.Bus(told["bus"])).read(PARAMS)

    assert read("amg8833") == (25 * 256,) * 64
    assert read("tmp117") == (25 * 256,)
    assert read("mlx90614") == ((2 * 0x3AD2 * 256 + 50) // 100,)
    assert len(read("mlx90641")) == 192
    assert read("sht4x") == ((2 * 0xBEEF * 175 * 256 + 65535) // (2 * 65535),)
    kernel.chips.clear()
    for name in ("amg8833", "tmp117", "sht4x", "mlx90641"):
        with pytest.raises(OSError, match="does not answer"):
            read(name)


def sensor(folder: Path, number: str, pad: bytes) -> None:
    """Write what the kernel shows of a one-wire sensor."""
    (folder / number).mkdir()
    text = pad.hex(" ")
    (folder / number / "w1_slave").write_text(f"{text} : crc=00 YES\n{text} t=25062\n")


def test_one_wire_sensors_are_read_through_the_kernel(tmp_path: Path) -> None:
    """In the order of their numbers; the bytes are checked by us, not by the kernel's YES."""
    sensor(tmp_path, "28-00000a1b2c3d", chips.pad(0x0191))
    sensor(tmp_path, "28-00000a1b2c3e", chips.pad(0xFF5E))
    (tmp_path / "w1_bus_master1").mkdir()
    wire = Wire(str(tmp_path))

    found = drivers.open_sensor(words("ds18b20"), wire=lambda told: wire)

    assert wire.scan()[0] == bytes.fromhex("28" + "3d2c1b0a0000")
    assert found.read(PARAMS) == (25 * 256 + 16, -10 * 256 - 32)
    text = tmp_path / "28-00000a1b2c3d" / "w1_slave"
    text.write_text(text.read_text().replace("91 01", "92 01"))
    with pytest.raises(ValueError, match="cannot measure"):
        found.read(PARAMS)
    text.unlink()
    with pytest.raises(OSError, match="does not answer"):
        found.read(PARAMS)


def test_a_coarse_sensor_is_set_to_twelve_bits(tmp_path: Path) -> None:
    """At nine bits its lowest three mean nothing."""
    sensor(tmp_path, "28-00000a1b2c3d", chips.pad(0x0190, 0x1F))
    (tmp_path / "28-00000a1b2c3d" / "resolution").write_text("9\n")

    drivers.open_sensor(words("ds18b20"), wire=lambda told: Wire(str(tmp_path)))

    assert (tmp_path / "28-00000a1b2c3d" / "resolution").read_text() == "12\n"


# An array on a Raspberry Pi without its pins: set up for tables, asked, opened by its owner.

PROMISE = Guarantee((4, 1), (1, 100000), (1, 8), "0.1 m", "local", "2 readings", "presence")
SENSORS = 16


class Pixels:
    """An array that always sees the same."""

    step = None

    def read(self, params: object) -> tuple[int, ...]:
        return tuple(range(SENSORS))


def a_round(number: int, more: tuple[int, ...]) -> Round:
    params = (50, 8, -8000, 8000, 16000, 1, 1, *more)
    return Round(number, "thermal", Grid((100, 1), 100), params, PROMISE)


@pytest.fixture(params=[True, False], ids=["set up", "not set up"])
def tables(request: pytest.FixtureRequest, device_file: Path) -> bool:
    """Return whether the device's file, which is of an array's, says that it may."""
    body = json.loads(device_file.read_text())
    body["devices"][0] |= {"sensors": SENSORS, "mode": "keyholder"}
    if request.param:
        body["devices"][0]["tables"] = True
    device_file.write_text(json.dumps(body))
    return bool(request.param)


def test_an_array_answers_with_tables_where_its_enrolment_says_so(
    device_file: Path, host, tables: bool
) -> None:
    """Over a real broker; where it may not, the first Round that it answers is one without."""
    home = folder_of(device_file, host)
    assert load(home + "/heatveil.json").tables is tables
    topic, rounds = wire.round_topic("lab", "thermal"), {1: (table.BITS,), 2: ()}
    asked = {number: a_round(number, more) for number, more in rounds.items()}

    def heard() -> bool:
        last = 1 if tables or b"ready" not in host.said("state") else 2
        host.say(topic, post.pack_round(asked[last], SITE_KEY, topic))
        return bool(host.said("data"))

    live(home, Held(Pixels, SENSORS, None), heard)
    frame = host.said("data")[0]
    report = post.unpack_report(
        frame, rootkeys.mac_key(ROOT), wire.topic("lab", "attic-3", "data"), "attic-3"
    )
    answered = asked[1 if tables else 2]
    rng = entropy.keyed(rootkeys.first_chain(ROOT), "attic-3", report.epoch, report.seq, 3)

    assert report.round == wire.name_of(answered)
    assert thermal.unveil(answered, report.payload, rng).values == tuple(range(SENSORS))
