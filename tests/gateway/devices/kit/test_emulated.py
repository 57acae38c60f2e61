"""An emulated Pico W with the firmware that you give: from bare to its first frame.

    HEATVEIL_UF2=RPI_PICO_W.uf2 make test ARGS="tests/gateway/devices/kit/test_emulated.py -rs"

It is slow, and needs a firmware and an emulator (pip install rp2040py mpremote); without them it
is left out, also in CI. Its Wi-Fi ends in sockets of this machine, so the broker listens on an
address of this machine that is not 127.0.0.1, which for the board is itself.
"""

import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker.embedded import find_free_port
from gateway.devices.kit import selftest
from tests import emulator, processes

WITHIN_S = 90.0  # from bare to the gateway, where the machine is not shared
WIFI = '[wifi]\nssid = "emulated"\npassword = "any"\n'
# Its one-wire bus has nobody on it: what is looked at here is the way, and not the sensor.
OWN = '[driver]\nname = "ds18b20"\npin = 4\n' + WIFI


@pytest.fixture
def own_address() -> str:
    """Return an address of this machine that another would use; nothing is sent for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # of documentation
        except OSError:
            pytest.skip("this machine has no network but itself")
        return str(probe.getsockname()[0])


@pytest.fixture
def pico(tmp_path: Path) -> Iterator[str]:
    """Return the address of an emulated Pico W that has started."""
    if why := emulator.lacking(with_radio=True):
        pytest.skip(why)
    with emulator.emulated(tmp_path / "emulator.log") as address:
        yield address


def test_an_emulated_pico_comes_to_its_broker(
    desk: Any,
    pico: str,
    own_address: str,
    need: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Real firmware, real mpremote, Wi-Fi, MQTT: its `meta` names the boot that began."""
    port, rules = find_free_port(), tmp_path / "broker.conf"
    rules.write_text(f"listener {port} {own_address}\nallow_anonymous true\n")
    text = re.sub(r"port = \d+", f'host = "{own_address}"\nport = {port}', desk.path.read_text())
    desk.path.write_text(text)
    desk.own.write_text(OWN)
    monkeypatch.setattr(selftest, "try_sensor", lambda *_: selftest.SensorTrial(""))
    with processes.Child([need("mosquitto"), "-c", rules], stderr=subprocess.DEVNULL) as broker:
        since_s = time.monotonic()
        words = ("--board", pico, "--settings", desk.own, "--mpy", "--wait", WITHIN_S)
        said = desk.run("provision", "attic", *words)
        broker.terminate()
    assert said.status == 0, said.out + said.err
    assert "the same on CPython" in said.out
    assert "attic is there, boot 1" in said.out
    print(f"from bare to the broker in {time.monotonic() - since_s:.0f} s")
