"""A Raspberry Pi without its pins, on a real broker: asked, stopped, and started again."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

from edge.board.config import load
from edge.board.drivers import Held
from edge.board.sensors.yours import Sensor
from edge.core import wire
from edge.core.records import Grid, Guarantee, Round
from edge.core.window import pack_first
from edge.host import post, rootkeys
from edge.linux import run
from edge.linux.enrol import enrol
from edge.linux.run import Notify
from gateway.service.serving import read_level_time_s
from tests import processes

ROOT, SITE_KEY = bytes(range(32)), bytes(range(32, 64))
GUARANTEE = Guarantee((4, 1), (1, 100000), (1, 8), "0.1 m", "local", "2 readings", "presence")
WAIT_S = 60


class Converter:
    """A converter of sixteen bits with this many counts of twelve."""

    def __init__(self, counts: int) -> None:
        self.counts = counts

    def read_u16(self) -> int:
        return self.counts << 4


def asked(number: int) -> bytes:
    """Return the message of a Round that the device may answer."""
    params = (50, 8, -8000, 8000, 16000, 21, 0)  # a count of `Converter` is 21 grains
    plan = Round(number, "thermal", Grid((100, 1), 100), params, GUARANTEE)
    return post.pack_round(plan, SITE_KEY, wire.round_topic("lab", "thermal"))


class Host:
    """Whoever is at the other end: hears all of the site, and says what it is told to."""

    def __init__(self, port: int) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self._client = Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = self._came
        self._client.connect("127.0.0.1", port)
        self._client.subscribe("heatveil/1/lab/#", qos=1)
        self._client.loop_start()

    def _came(self, _: Any, __: Any, message: MQTTMessage) -> None:
        self.heard.append((message.topic.rpartition("/")[2], bytes(message.payload)))

    def said(self, leaf: str) -> list[bytes]:
        """Return what came on a topic of the device's."""
        return [payload for where, payload in self.heard if where == leaf]

    def hears(self, so: Callable[[], bool]) -> bool:
        """Wait until something is so, and say whether it is."""
        end_s = time.monotonic() + WAIT_S
        while not so() and time.monotonic() < end_s:
            time.sleep(0.02)
        return so()

    def say(self, topic: str, payload: bytes, retain: bool = False) -> None:
        """Publish at QoS 1."""
        self._client.publish(topic, payload, 1, retain)

    def stop(self) -> None:
        """Go."""
        self._client.disconnect()
        self._client.loop_stop()


@pytest.fixture
def host(need, answers: Callable[[int], None], tmp_path: Path) -> Iterator[Host]:
    """Return the host of a broker of its own."""
    port = processes.find_free_port()
    rules = tmp_path / "broker.conf"
    rules.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    broker = processes.Child([need("mosquitto"), "-c", rules], stderr=subprocess.DEVNULL)
    answers(port)
    made = Host(port)
    made.port = port  # type: ignore[attr-defined]
    yield made
    made.stop()
    broker.terminate()
    broker.wait()


def hurry(home: str) -> None:
    """Let the device's frames leave on ticks of .3 s, for whoever waits for several of them."""
    path = Path(home, "heatveil.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "tick_ms": 300}))


def folder_of(device_file: Path, host: Any, driver: str = "yours") -> str:
    """Return the folder of the device, enrolled for that broker."""
    device_file.write_text(device_file.read_text().replace("1883", str(host.port)))
    home = str(device_file.with_name("node"))
    words: dict[str, Any] = {"name": driver}
    if driver == "yours":
        words |= {"empty": 869, "recorded_s": 1795500000}
    enrol(str(device_file), home, words)
    hurry(home)
    return home


def live(home: str, sensor: Held, until: Callable[[], bool]) -> None:
    """Run the device in this process until something is so; then stop it as SIGTERM does."""

    async def both() -> None:
        config = load(home + "/heatveil.json")
        work = asyncio.create_task(run.live(config, home, Notify(), sensor))
        end_s = time.monotonic() + WAIT_S
        while not until() and time.monotonic() < end_s and not work.done():
            await asyncio.sleep(0.02)
        work.cancel()
        await asyncio.wait([work])

    asyncio.run(both())


def test_a_reading_reaches_the_host_and_its_receipt_frees_it(device_file: Path, host) -> None:
    """Asked, answered, receipted; stopped, it says so; started again it answers the next only."""
    home = folder_of(device_file, host)
    sensor = Held(lambda: Sensor(Converter(898)), 1, Sensor.step)
    host.say(wire.round_topic("lab", "thermal"), asked(1), retain=True)

    answered = 0

    def receipted() -> bool:
        """Say that each frame is taken, also when it comes again: the first word may be lost."""
        nonlocal answered
        for frame in host.said("data")[answered:]:
            answered += 1
            whose = wire.topic("lab", "attic-3", "data")
            report = post.unpack_report(frame, rootkeys.mac_key(ROOT), whose, "attic-3")
            where = wire.topic("lab", "attic-3", "receipt")
            receipt = (report.epoch, report.seq, True, rootkeys.config_key(ROOT), where)
            host.say(where, post.pack_receipt(*receipt))
        return answered > 0

    live(home, sensor, lambda: b"ready" in host.said("state") and receipted())
    assert host.hears(lambda: host.said("state")[-1:] == [b"disconnected"])
    assert len(set(host.said("data"))) == 1
    meta = json.loads(host.said("meta")[-1])
    assert (meta["boot"], read_level_time_s(host.said("meta")[-1])) == (1, 1795500000)

    host.say(wire.round_topic("lab", "thermal"), asked(2), retain=True)
    live(home, sensor, lambda: receipted() and len(set(host.said("data"))) > 1)
    told = [
        post.unpack_report(
            frame, rootkeys.mac_key(ROOT), wire.topic("lab", "attic-3", "data"), "attic-3"
        )
        for frame in dict.fromkeys(host.said("data"))
    ]
    assert [report.epoch for report in told] == [1, 2]


def test_a_sensor_that_is_gone_silences_nothing_but_the_reading(device_file: Path, host) -> None:
    """No frame, no fault on the wire; when it is back, the same Round is answered."""
    home, gone, tried = folder_of(device_file, host), [True], list[bool]()

    def opening() -> Sensor:
        tried.append(gone[0])
        if gone[0]:
            raise OSError("898 is what it said last")
        return Sensor(Converter(898))

    sensor = Held(opening, 1, Sensor.step)
    topic = wire.round_topic("lab", "thermal")
    host.say(topic, asked(1), retain=True)

    def back() -> bool:
        if gone[0] and tried:
            gone[0] = False
            host.say(topic, asked(1), retain=True)
        return bool(host.said("data"))

    live(home, sensor, back)

    assert not gone[0]
    assert len(set(host.said("data"))) == 1
    assert b"898" not in b"".join(
        payload for leaf, payload in host.heard if leaf in ("state", "meta", "diag", "ack")
    )


def test_a_computer_has_the_level_of_its_enrolment(
    device_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By half a kelvin an answer, 128 grains: what the limits in the same file were made for."""
    body = json.loads(device_file.read_text())
    body["devices"][0]["following"] = [1, 2, 24]
    device_file.write_text(json.dumps(body))
    home, given = folder_of(device_file, SimpleNamespace(port=1)), Mock(side_effect=KeyError)
    monkeypatch.setattr("edge.net.device.Device", given)
    sensor = Held(lambda: Sensor(Converter(898)), 1, Sensor.step)
    with pytest.raises(KeyError):
        asyncio.run(run.live(load(home + "/heatveil.json"), home, Notify(), sensor))

    level = given.call_args.kwargs["follower"]
    assert level.subtract((1000,), 8) == (1000,)
    level.follow()
    assert level.subtract((1000,), 8) == (872,)


def test_a_level_that_is_none_costs_no_boot(
    device_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be the same at the next start, and each start takes a part of the budget."""
    body = json.loads(device_file.read_text())
    body["devices"][0]["following"] = [1, 2, 0]
    device_file.write_text(json.dumps(body))
    home = folder_of(device_file, SimpleNamespace(port=1), "tmp117")
    before = Path(home, "budget.0").read_bytes()

    assert run.main([home]) == 2
    assert "at least 1" in capsys.readouterr().err
    assert Path(home, "budget.0").read_bytes() == before


@pytest.mark.parametrize("clock", ["usual", "raw"])
def test_a_window_ages_by_a_counter_that_no_time_server_changes(
    device_file: Path, host: Any, monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    """The usual one runs up to a twelfth faster while a daemon sets the clock."""
    body = json.loads(device_file.read_text())
    whole = body["devices"][0]["limits"][4]
    body["devices"][0]["window"] = pack_first(3600, whole).hex()
    device_file.write_text(json.dumps(body))
    home, kept = folder_of(device_file, host), list[Any]()

    class Opened(Exception):
        pass

    def budget_of(*args: Any, **named: Any) -> None:
        kept.append(open_it(*args, **named))
        raise Opened

    open_it = run.assemble.budget_of
    monkeypatch.setattr(run.assemble, "budget_of", budget_of)
    with pytest.raises(Opened):
        asyncio.run(run.live(load(home + "/heatveil.json"), home, Notify(), None))
    (budget,) = kept
    assert budget.charge(1000, 1)
    name = {"usual": "monotonic_ns", "raw": "clock_gettime_ns"}[clock]
    now_ns = getattr(time, name)
    monkeypatch.setattr(time, name, lambda *which: now_ns(*which) + 7200 * 10**9)
    budget.age(pytest.fail)

    assert (budget.left == whole) == (clock == "raw")


def test_a_budget_that_cannot_be_used_is_an_alert(device_file: Path, host) -> None:
    """Both slots spoilt: it says alert, for whoever looks, and answers nothing."""
    home = folder_of(device_file, host)
    for i in (0, 1):
        Path(f"{home}/budget.{i}").write_bytes(b"\0" * 117)
    host.say(wire.round_topic("lab", "thermal"), asked(1), retain=True)
    sensor = Held(lambda: Sensor(Converter(898)), 1, Sensor.step)

    live(home, sensor, lambda: b"alert" in host.said("state"))

    assert host.hears(lambda: host.said("state")[-1:] == [b"disconnected"])
    assert b"alert" in host.said("state")
    assert host.said("data") == []


@pytest.mark.long
def test_a_copy_of_the_folder_says_so_and_the_true_device_goes_on(
    device_file: Path, host, tmp_path: Path
) -> None:
    """Beside the true one, whose name it has: one alert, status 2, and no frame or write of it."""
    home, copy = folder_of(device_file, host, "tmp117"), str(tmp_path / "copy")
    command = [sys.executable, "-m", "edge.linux.run"]
    with processes.Child([*command, home], env=os.environ, stderr=subprocess.PIPE) as ran:
        assert host.hears(lambda: b"ready" in host.said("state"))
        shutil.copytree(home, copy)
        before = {file.name: file.read_bytes() for file in Path(copy).iterdir()}
        second = processes.run([*command, copy], capture_output=True, text=True)
        assert host.hears(lambda: host.said("state")[-1:] == [b"ready"])
        ran.terminate()

    assert second.returncode == 2
    assert "bound to another board" in second.stderr
    assert host.said("state").count(b"alert") == 1
    assert {file.name: file.read_bytes() for file in Path(copy).iterdir()} == before


def test_what_the_broker_keeps_for_a_device_its_copy_leaves_there(
    device_file: Path, host, tmp_path: Path
) -> None:
    """They are one session to the broker: a Round that the copy acknowledged would be lost."""
    home, copy = folder_of(device_file, host), str(tmp_path / "copy")
    sensor = Held(lambda: Sensor(Converter(898)), 1, Sensor.step)
    live(home, sensor, lambda: b"ready" in host.said("state"))
    shutil.copytree(home, copy)
    host.say(wire.round_topic("lab", "thermal"), asked(1))
    assert host.hears(lambda: asked(1) in [payload for _, payload in host.heard])

    live(copy, sensor, lambda: False)
    assert host.hears(lambda: b"alert" in host.said("state"))
    live(home, sensor, lambda: bool(host.said("data")))
    assert host.hears(lambda: len(set(host.said("data"))) == 1)


def test_the_program_runs_and_ends_when_told(device_file: Path, host) -> None:
    """As systemd starts and stops it; a sensor that is not there stops nothing."""
    home = folder_of(device_file, host, "tmp117")
    command = [sys.executable, "-m", "edge.linux.run", home]
    ran = processes.Child(command, env=os.environ, stderr=subprocess.PIPE, text=True)
    assert host.hears(lambda: b"ready" in host.said("state"))
    second = processes.run(command, capture_output=True, text=True)
    ran.send_signal(signal.SIGTERM)
    _, said = ran.communicate()

    assert ran.returncode == 0
    assert said.splitlines()[0].endswith(f"with tmp117; its broker is 127.0.0.1:{host.port}")
    assert "tmp117: the sensor does not answer" in said.splitlines()[1]
    words = [line.removeprefix("heatveil: ") for line in said.splitlines()[2:]]
    assert words == ["disconnected", "ready", "disconnected"]
    assert second.returncode == 2
    assert "another process" in second.stderr
    assert host.hears(lambda: host.said("state")[-1] == b"disconnected")


def test_keys_that_others_can_read_stop_it(device_file: Path, tmp_path: Path) -> None:
    """Status 2, which systemd does not try again."""
    home = tmp_path / "node"
    enrol(str(device_file), str(home), {"name": "tmp117"})
    (home / "heatveil.json").chmod(0o644)
    command = [sys.executable, "-m", "edge.linux.run", str(home)]
    ran = processes.run(command, capture_output=True, text=True)

    assert ran.returncode == 2
    assert "chmod 600" in ran.stderr
