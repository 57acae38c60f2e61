"""A serial line of the kernel's, and a device on it that tells its place: a receiver of ours.

The other end of a pseudo-terminal talks as a receiver does, with a broker beside it.
"""

import json
import os
import pty
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from edge.board.config import load
from edge.core import wire
from edge.core.records import Grid, Guarantee, Round
from edge.host import post, rootkeys
from edge.linux import run, uart
from edge.linux.enrol import enrol, main
from edge.mechanisms import disk_limits
from edge.mechanisms.footprint import exp_floor
from tests.edge.board.test_places import HERE, LOST, PLANE
from tests.edge.linux.test_run import ROOT, SITE_KEY, host, hurry, live
from tests.waiting import eventually

assert host  # the fixture
FAR = 1 << 32
NEAR = exp_floor(20, 1, FAR)  # so large that the true cell is all but certain


@pytest.fixture
def receiver() -> Iterator[tuple[int, str]]:
    """Return the receiver's end of a line, and the path of the device's."""
    ours, theirs = pty.openpty()
    path = os.ttyname(theirs)
    os.set_blocking(ours, False)
    yield ours, path
    os.close(theirs)
    os.close(ours)


@pytest.fixture
def talks(receiver: tuple[int, str]) -> Iterator[list[bytes]]:
    """Return what the receiver says ten times a second: the last of a list."""
    said, over = [LOST], threading.Event()

    def talk() -> None:
        while not over.wait(0.1):
            with suppress(BlockingIOError):  # nobody takes it
                os.write(receiver[0], said[-1])

    voice = threading.Thread(target=talk)
    voice.start()
    yield said
    over.set()
    voice.join()


def test_a_line_gives_what_came_and_never_waits(receiver: tuple[int, str]) -> None:
    """All 256 bytes, none of them taken for a line's end or a control; then nothing."""
    port, buffer = uart.Port(receiver[1], 115200), bytearray(300)
    assert port.readinto(buffer) is None
    os.write(receiver[0], bytes(range(256)))
    got = b""

    def came() -> bool:
        nonlocal got
        got += bytes(buffer[: port.readinto(buffer) or 0])
        return len(got) == 256

    assert eventually(came)
    assert got == bytes(range(256))
    assert port.write(b"\r\n\x03") == 3
    assert eventually(lambda: os.read(receiver[0], 9) == b"\r\n\x03")
    port.close()


def test_what_is_no_line_says_so(tmp_path: Path) -> None:
    """A path that was mistyped, a file, a speed that no line has."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="is no serial line"):
        uart.Port(str(tmp_path / "file"))
    with pytest.raises(OSError, match="none"):
        uart.Port(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="9601 baud are no speed"):
        uart.Port("/dev/null", 9601)


def asked(number: int) -> bytes:
    """Return a Round that asks for a cell of 500 mm, by weights that hide nothing."""
    promise = Guarantee((20, 1), None, None, "any two cells", "local", "1 answer", "all")
    plan = Round(number, "disk", Grid((20, 20), 500), (0, FAR, NEAR, 20, 1, 1, 0), promise)
    return bytes(post.pack_round(plan, SITE_KEY, wire.round_topic("lab", "disk")))


def walker(device_file: Path, port: int) -> None:
    """Make the device's file that of one which tells its place."""
    body: dict[str, Any] = json.loads(device_file.read_text().replace("1883", str(port)))
    body["devices"][0] |= {"mechanism": "disk", "plane": PLANE}
    body["devices"][0]["limits"] = list(disk_limits.make_limits(20, 1, 9))
    device_file.write_text(json.dumps(body))


def test_a_raspberry_with_a_receiver_answers_where_it_is(
    device_file: Path, host: Any, receiver: tuple[int, str], talks: list[bytes]
) -> None:
    """Enrolled by its words; silent till the first fix, then answering, whatever becomes of it."""
    walker(device_file, host.port)
    home, words = str(device_file.with_name("node")), [f"port={receiver[1]}", "baud=9600"]
    assert main([str(device_file), home, "gps", *words]) == 0
    hurry(home)
    config = load(home + "/heatveil.json")
    assert (config.mechanism, config.driver["port"]) == ("disk", receiver[1])
    sensor, where = run.sensor_of(config), wire.round_topic("lab", "disk")
    host.say(where, asked(1), retain=True)
    step = 0

    def over() -> bool:
        nonlocal step
        if step == 0 and b"alert" in host.said("state"):  # asked, and without a fix so far
            talks.append(HERE)
            step = 1
        elif step == 1 and sensor.find_state()[1]:
            talks.append(LOST)
            host.say(where, asked(2), retain=True)
            step = 2
        return bool(host.said("data"))

    live(home, sensor, over)

    assert step == 2
    frame = host.said("data")[0]
    topic = wire.topic("lab", "attic-3", "data")
    report = post.unpack_report(frame, rootkeys.mac_key(ROOT), topic, "attic-3")
    assert report.payload == [3, 5 * 20 + 3]  # sensor 3, cell (3, 5)
    spoken = b"".join(payload for leaf, payload in host.heard if leaf != "data")
    assert b"5200" not in spoken
    assert b"52000" not in b"".join(file.read_bytes() for file in Path(home).glob("[!h]*"))


def test_a_device_of_places_needs_a_driver_of_places(device_file: Path, tmp_path: Path) -> None:
    """Found out when it is made, not when it is asked; the device's file stays."""
    walker(device_file, 1883)
    with pytest.raises(ValueError, match="tmp117 tells no place"):
        enrol(str(device_file), str(tmp_path / "node"), {"name": "tmp117"})
    with pytest.raises(ValueError, match="one of cell and place_mm; a device that cannot tell"):
        enrol(str(device_file), str(tmp_path / "node"), {"name": "fixed"})
    with pytest.raises(ValueError, match="9601 baud are no speed"):
        enrol(str(device_file), str(tmp_path / "node"), {"name": "gps", "baud": 9601})
    assert main([str(device_file), str(tmp_path / "node"), "fixed", "cell=3"]) == 1
    assert device_file.exists()
    assert main([str(device_file), str(tmp_path / "node"), "fixed", "cell=3,7"]) == 0
    held = run.sensor_of(load(f"{tmp_path}/node/heatveil.json"))
    assert held.read(Grid((20, 20), 500)) == (3, 7)
