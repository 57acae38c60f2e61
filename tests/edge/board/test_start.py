"""A board that must not start: its config is wrong, and its pins are of ours."""

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from edge.board import firmware, start
from edge.board.binding import Bound
from edge.core.budget import COUNT, Files, Limits
from edge.host import rootkeys
from edge.host.enrol import provision
from tests.processes import find_free_port

ROOT, SITE_KEY = bytes(range(32)), bytes(range(32, 64))
PORT = find_free_port()


class Ended(BaseException):
    """The board resets, or sleeps: nothing of the program goes on."""


class Machine:
    """The firmware's `machine`: a light that remembers, and a watchdog."""

    def __init__(self) -> None:
        self.lit: list[int] = []
        self.fed = 0
        self.Pin: Any = lambda name, mode=0: SimpleNamespace(value=self.lit.append)
        self.Pin.OUT = 1

    def WDT(self, timeout: int) -> Any:  # noqa: N802
        return self

    def feed(self) -> None:
        self.fed += 1

    def reset(self) -> None:
        raise Ended


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return the board, which `import machine` finds; its radio is never asked for."""
    made = Machine()
    monkeypatch.setitem(sys.modules, "machine", made)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "network", SimpleNamespace())  # type: ignore[arg-type]
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
    place = Files(str(folder), "budget")
    first = Limits(1, 8, 4000, 16000, 10**10, 0)
    provision(place, who.state_key, rootkeys.first_chain(ROOT), first)
    load = start.load
    monkeypatch.setattr(start, "load", lambda: load(str(folder / "heatveil.json")))
    monkeypatch.setattr(start, "FOLDER", str(folder))


def test_a_wrong_config_is_flashed_and_not_started_again(
    machine: Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No reset, no watchdog, no boot of the budget: each would wear the flash for nothing."""
    config(tmp_path, monkeypatch, driver={"name": "bme680"})
    before = (tmp_path / "budget.0").read_bytes()
    looks = iter(range(0, 20000, 20))

    async def sleep_ms(ms: int) -> None:
        if next(looks, None) is None:
            raise Ended

    monkeypatch.setattr(start, "sleep_ms", sleep_ms)
    monkeypatch.setattr(start, "Uptime", lambda: SimpleNamespace(now_ms=lambda: next(looks)))
    with pytest.raises((Ended, StopIteration, RuntimeError)):
        start.run(firmware.refuse_mode)

    assert "no such driver" in capsys.readouterr().out
    assert machine.lit.count(1) > 3
    assert machine.fed == 0
    assert (tmp_path / "budget.0").read_bytes() == before


@pytest.mark.parametrize("copied", [False, True])
def test_a_copy_stays_awake_and_renews_no_radio(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copied: bool
) -> None:
    """Else it would wake, or start again, and alert in the true board's name for ever."""
    config(tmp_path, monkeypatch, wake_s=60)
    found = start.load()
    place = Files(str(tmp_path), "budget")
    bound = Bound(place, found.identity.state_key, b"theirs" if copied else b"ours")
    for i in range(COUNT):
        bound.write(i, place.read(i))
    machine.unique_id = lambda: b"ours"  # type: ignore[attr-defined]
    reached: list[bool] = []

    class Radio:
        def __init__(self, *_: Any) -> None:
            self.describe = dict

        async def stay_joined(self, show: Any, there: Any) -> None:
            reached.append(there())

        def turn_off(self, _: bool) -> None:
            pass

    monkeypatch.setattr(start, "Station", Radio)
    monkeypatch.setattr(start, "AWAKE_MS", 200)
    monkeypatch.setattr(start.power, "sleep", Mock(side_effect=Ended))
    sensor = SimpleNamespace(step=(1, 16), read=None)
    light = start.led.Led(start.led.open_pin(machine, "LED"))
    parts = start.Parts(found, sensor, light, machine, str(tmp_path))

    slept = False
    try:
        asyncio.run(asyncio.wait_for(parts.live(SimpleNamespace(isconnected=bool)), 1))
    except TimeoutError:
        pass
    except Ended:
        slept = True

    assert slept is not copied
    assert reached == [copied]


@pytest.mark.parametrize("following", [None, [3, 64, 24]])
def test_a_level_follows_where_the_enrolment_says_so(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, following: list[int] | None
) -> None:
    """By as much as its noise is made for, and nowhere else: noise of others hides less."""
    config(tmp_path, monkeypatch, **({"following": following} if following else {}))
    given = Mock(side_effect=Ended)
    monkeypatch.setattr(start, "Device", given)
    light = start.led.Led(start.led.open_pin(machine, "LED"))
    sensor = SimpleNamespace(step=(1, 16), read=None)
    parts = start.Parts(start.load(), sensor, light, machine, str(tmp_path))
    with pytest.raises(Ended):
        asyncio.run(parts._answer())

    level = given.call_args.kwargs["follower"]
    assert (level is not None) is (following is not None)
    if level is not None:
        sent = []
        for _ in range(26):
            sent.append(level.subtract((1000,), 6)[0])
            level.follow()
        assert sent == [1000 - 3 * k for k in range(24)] + [1000, 997]


def test_a_level_that_is_none_costs_no_boot(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be the same at the next start, and each start takes a part of the budget."""
    config(tmp_path, monkeypatch, following=[1, 64, 0])
    before = (tmp_path / "budget.0").read_bytes()
    light = start.led.Led(start.led.open_pin(machine, "LED"))
    with pytest.raises(ValueError, match="at least 1"):
        start.Parts(start.load(), SimpleNamespace(), light, machine, str(tmp_path))

    assert (tmp_path / "budget.0").read_bytes() == before


def test_a_sensor_that_failed_hides_no_budget_that_cannot_be_written(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four flashes send somebody to the sensor, and another sensor would mend nothing."""
    config(tmp_path, monkeypatch)
    light = start.led.Led(start.led.open_pin(machine, "LED"))
    sensor = SimpleNamespace(step=(1, 16), read=None)
    parts = start.Parts(start.load(), sensor, light, machine, str(tmp_path))
    parts.device = SimpleNamespace(node=SimpleNamespace(faults=2, alert=""))
    light.show("alert")

    def count_flashes() -> int:
        machine.lit.clear()
        for now_ms in range(0, start.led.ROUND_MS, 20):
            light.refresh(now_ms)
        return machine.lit.count(1)

    assert count_flashes() == 4
    parts.device.node.alert = "its budget cannot be kept"
    assert count_flashes() == 3
