"""The two programs and a broker between them: what Home Assistant would see of a site."""

import json
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from gateway.devices.broker.embedded import find_free_port
from gateway.settings.deployment import Mqtt
from tests import processes, sites

SCHEMA = json.loads(Path(__file__).with_name("device_discovery.schema.json").read_text())
PROGRAM = Path(sys.executable).with_name("heatveil")
CONFIG = "homeassistant/device/heatveil_assisted/config"
OURS = "heatveil/1/assisted/ha/"


class Assistant:
    """Listens as Home Assistant does, and keeps the newest of each topic."""

    def __init__(self, port: int) -> None:
        self.newest: dict[str, bytes] = {}
        self._came: Any = queue.Queue()
        self.client = Client(CallbackAPIVersion.VERSION2, clean_session=True)
        self.client.on_message = lambda _c, _d, m: self._came.put((m.topic, m.payload))
        self.client.on_connect = lambda c, *_: c.subscribe(
            [("homeassistant/device/#", 1), (OURS + "#", 1)]
        )
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()

    def until(self, said: Callable[[dict[str, bytes]], bool]) -> dict[str, bytes]:
        """Return the newest of each topic, once this is true of it."""
        end_s = time.monotonic() + 60
        while not said(self.newest):
            topic, payload = self._came.get(timeout=max(end_s - time.monotonic(), 0.01))
            self.newest[topic] = payload
        return dict(self.newest)


@pytest.fixture
def assistant(mosquitto: Mqtt) -> Iterator[Assistant]:
    """Return a Home Assistant on the tests' broker."""
    one = Assistant(mosquitto.port)
    yield one
    one.client.disconnect()
    one.client.loop_stop()


@pytest.mark.long
def test_a_site_appears_shows_its_map_dies_and_goes(
    tmp_path: Path, mosquitto: Mqtt, heatveil: Callable[..., Any], assistant: Assistant
) -> None:
    """Announced, shown, unavailable after kill -9, announced anew at a greeting, taken back."""
    site = tmp_path / "site.toml"
    shape = {"cells": 20, "sensors": 4, "readings": 2, "gather_s": 10.0, "every_s": 0.2}
    text = sites.small("assisted", mosquitto.port, find_free_port(), **shape)
    site.write_text(f"{text}[homeassistant]\nenabled = true\n")
    assert heatveil("enrol", "--config", site).status == 0
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [PROGRAM, *words, "--config", site]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(processes.Child(command, **quiet))  # type: ignore[call-overload]
        return started[-1]

    try:
        start("fleet", "--sources-random", "1")
        serve = start("serve")
        shown = assistant.until(
            lambda all_: (
                b'"rounds_left": 0' in all_.get(OURS + "state", b"")
                and b'"round": 2' in all_[OURS + "state"]
            )
        )
        serve.send_signal(signal.SIGKILL)
        dead = assistant.until(lambda all_: all_[OURS + "availability"] == b"offline")
        again = start("serve")
        assistant.until(lambda all_: all_[OURS + "availability"] == b"online")
        assistant.newest.pop(CONFIG, None)
        assistant.client.publish("homeassistant/status", b"online", 1)
        greeted = assistant.until(lambda all_: CONFIG in all_)
        again.send_signal(signal.SIGTERM)
        assert again.wait(30) == 0
        gone = assistant.until(lambda all_: all_[OURS + "availability"] == b"offline")
        site.write_text(site.read_text().replace("enabled = true", "enabled = false"))
        start("serve")
        removed = assistant.until(lambda all_: all_[CONFIG] == b"")
    finally:
        for one in started:
            one.kill()
            one.wait()

    config, state = json.loads(shown[CONFIG]), json.loads(shown[OURS + "state"])
    jsonschema.validate(config, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert state["sensors"] == 4
    assert 0 < state["x"] < 10
    assert state["lag"] > 0
    assert dead[CONFIG] == greeted[CONFIG] == gone[CONFIG] == shown[CONFIG]
    assert removed[CONFIG] == b""
    assert b"node-" not in b"".join(shown.values())
