"""A board without a board: its start on a real broker, with pins, radio and sleep of ours."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edge.board import led, start
from edge.core import slots
from edge.core.limits import Limits
from edge.core.records import Grid, Guarantee, Round
from edge.core.wire import round_topic, topic
from edge.host import post, rootkeys
from edge.host.enrol import provision
from edge.net import spill
from gateway.service.serving import level_s
from tests import processes

ROOT, SITE_KEY = bytes(range(32)), bytes(range(32, 64))
with socket.create_server(("127.0.0.1", 0)) as free:
    PORT = free.getsockname()[1]


class Ended(BaseException):
    """The board resets, or sleeps: nothing of the program goes on."""


class Machine:
    """The firmware's `machine`: pins that remember, an I2C with a TMP117, sleep that ends us."""

    def __init__(self) -> None:
        self.lit: list[int] = []
        self.fed = 0
        self.slept_ms = 0
        self.heard = True  # whether the radio was on in its sleep
        self.rtc = b""
        self.Pin: Any = lambda name, mode=0: SimpleNamespace(value=self.lit.append)
        self.Pin.OUT = 1

    def I2C(self, number: int, freq: int, **pins: Any) -> Any:  # noqa: N802
        def load(address: int, register: int, buffer: bytearray) -> None:
            buffer[:] = {0x00: b"\x0c\x80", 0x0F: b"\x01\x17"}[register]

        return SimpleNamespace(readfrom_mem_into=load)

    def RTC(self) -> Any:  # noqa: N802
        def memory(*data: bytes) -> Any:
            self.rtc = bytes(data[0]) if data else self.rtc
            return None if data else self.rtc

        return SimpleNamespace(memory=memory)

    def WDT(self, timeout: int) -> Any:  # noqa: N802
        return self

    def feed(self) -> None:
        self.fed += 1

    def deepsleep(self, ms: int) -> None:
        self.slept_ms, self.heard = ms, Radio.last.on
        raise Ended

    def reset(self) -> None:
        raise Ended


class Radio:
    """A Wi-Fi that is joined at once."""

    last: "Radio"

    def __init__(self, mode: int) -> None:
        self.joined = self.on = False
        Radio.last = self

    def active(self, on: bool) -> None:
        """Turn it on or off."""
        self.on = on

    def disconnect(self) -> None:
        self.joined = False

    def connect(self, ssid: str, password: str) -> None:
        self.joined = True

    def isconnected(self) -> bool:
        return self.joined


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return the board, which `import machine` and `import network` find."""
    made = Machine()
    monkeypatch.setitem(sys.modules, "machine", made)  # type: ignore[arg-type]
    network: Any = SimpleNamespace(WLAN=Radio, STA_IF=0)
    monkeypatch.setitem(sys.modules, "network", network)
    return made


def config(folder: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> None:
    """Write what a host writes on a board, and let the board find it there."""
    who = rootkeys.identity("lab", "attic-3", ROOT, SITE_KEY, 3)
    body: dict[str, Any] = {
        word: item.hex() if isinstance(item, bytes) else item
        for word, item in who._asdict().items()
    }
    body["link"] = {"host": "127.0.0.1", "port": PORT, "tls": False, "client_id": "attic-3-x"}
    body["link"] |= {"username": "attic-3", "password": "pw"}
    driver = {"name": "tmp117", "sda": 4, "scl": 5, "empty": 3200, "recorded_s": 1795500000}
    body |= {"driver": driver, **more}
    body["wifi"] = {"ssid": "ours", "password": "hunter3"}
    (folder / "heatveil.json").write_text(json.dumps(body))
    place = slots.Files(str(folder), "budget")
    first = Limits(1, 8, 4000, 16000, 10**10, 0)
    provision(place, who.state_key, rootkeys.first_chain(ROOT), first)
    load = start.load
    monkeypatch.setattr(start, "load", lambda: load(str(folder / "heatveil.json")))
    monkeypatch.setattr(start, "FOLDER", str(folder))


@pytest.mark.long
def test_a_board_that_sleeps_answers_and_sleeps(
    machine: Machine,
    need: Callable[[str], str],
    answers: Callable[[int], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Woken, joined, asked by what is retained; what has no receipt is on its flash by then."""
    from paho.mqtt.publish import single
    from paho.mqtt.subscribe import simple

    config(tmp_path, monkeypatch, wake_s=60)
    monkeypatch.setattr(start, "AWAKE_MS", 3000)
    monkeypatch.setattr(led, "lit", lambda word, now_ms: int(word != "sleeping"))
    rules = tmp_path / "broker.conf"
    rules.write_text(f"listener {PORT} 127.0.0.1\nallow_anonymous true\n")
    broker = processes.Child([need("mosquitto"), "-c", rules], stderr=subprocess.DEVNULL)
    try:
        answers(PORT)
        promise = Guarantee((4, 1), (1, 100000), (1, 8), "0.1 m", "local", "a day", "presence")
        params = (50, 8, -8000, 8000, 16000, 2, 0)
        plan = Round(1, "thermal", Grid((100, 1), 100), params, promise)
        where = round_topic("lab", "thermal")
        single(where, post.pack_round(plan, SITE_KEY, where), 1, True, "127.0.0.1", PORT)
        since_s = time.monotonic()
        with pytest.raises(Ended):
            start.run()
        told = simple(topic("lab", "attic-3", "meta"), hostname="127.0.0.1", port=PORT)
    finally:
        broker.terminate()
        broker.wait()

    assert level_s(told.payload) == 1795500000
    assert machine.slept_ms == 60000
    assert machine.lit[-1] == 0
    assert not machine.heard
    assert len(machine.rtc) == len(Path(tmp_path / "budget.0").read_bytes())
    assert time.monotonic() - since_s < 50  # and did not wait for its next minute
    assert machine.fed
    assert len(spill.File(f"{tmp_path}/frames", 65536)) == 1


def test_a_wrong_config_is_flashed_and_not_started_again(
    machine: Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No reset, no watchdog, no boot of the budget: each would wear the flash for nothing."""
    config(tmp_path, monkeypatch, driver={"name": "bme280"})
    before = (tmp_path / "budget.0").read_bytes()
    looks = iter(range(0, 20000, 20))

    async def sleep_ms(ms: int) -> None:
        if next(looks, None) is None:
            raise Ended

    monkeypatch.setattr(start, "sleep_ms", sleep_ms)
    monkeypatch.setattr(start, "Uptime", lambda: SimpleNamespace(now_ms=lambda: next(looks)))
    with pytest.raises((Ended, StopIteration, RuntimeError)):
        start.run()

    assert "no such driver" in capsys.readouterr().out
    assert machine.lit.count(1) > 3
    assert machine.fed == 0
    assert (tmp_path / "budget.0").read_bytes() == before
