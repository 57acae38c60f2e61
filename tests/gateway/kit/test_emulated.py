"""An emulated Pico W with the firmware that you give: from bare to its first frame.

    HEATVEIL_UF2=RPI_PICO_W.uf2 make test ARGS="tests/gateway/kit/test_emulated.py -rs"

It is slow, and needs a firmware and an emulator (pip install rp2040py mpremote); without them it
is left out, also in CI. Its Wi-Fi ends in sockets of this machine, so the broker listens on an
address of this machine that is not 127.0.0.1, which for the board is itself.
"""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.brokers.broker import free_port

WITHIN_S = 90.0  # from bare to the gateway, where the machine is not shared
WIFI = '[wifi]\nssid = "emulated"\npassword = "any"\n'
# Its one-wire bus has nobody on it: what is looked at here is the way, and not the sensor.
OWN = 'tick_ms = 1000\n[driver]\nname = "ds18b20"\npin = 4\n' + WIFI


@pytest.fixture
def firmware() -> Path:
    """Return the firmware that was given, or skip."""
    given = os.environ.get("HEATVEIL_UF2", "")
    if not given:
        pytest.skip(
            "HEATVEIL_UF2 names no firmware; download RPI_PICO_W's from micropython.org, set it, "
            "and pip install rp2040py mpremote"
        )
    if not Path(given).is_file():
        pytest.fail(f"HEATVEIL_UF2 is {given}, which is no file")
    for program in ("rp2040py", "mpremote"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not on PATH: pip install {program}")
    return Path(given)


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
def pico(firmware: Path, tmp_path: Path) -> Iterator[str]:
    """Return the address of an emulated Pico W that has started."""
    log = tmp_path / "emulator.log"
    words = ["--log-level", "info", "micropython", "--board", "pico_w", "--tcp-port", "0"]
    with log.open("wb") as out:
        child = subprocess.Popen(
            ["rp2040py", *words, "--image", str(firmware)], stdout=out, stderr=out
        )
    try:
        until_s = time.monotonic() + 60
        while not (found := re.search(r"listening on 127\.0\.0\.1:(\d+)", log.read_text())):
            if child.poll() is not None or time.monotonic() > until_s:
                pytest.fail(f"the emulator did not start: {log.read_text()[-500:]}")
            time.sleep(0.1)
        yield f"socket://127.0.0.1:{found[1]}"
    finally:
        child.kill()
        child.wait()


def test_an_emulated_pico_comes_to_its_broker(
    desk: Any,
    pico: str,
    own_address: str,
    need: Callable[[str], str],
    tmp_path: Path,
) -> None:
    """Real firmware, real mpremote, Wi-Fi, MQTT: its `meta` names the boot that began."""
    port, rules = free_port(), tmp_path / "broker.conf"
    rules.write_text(f"listener {port} {own_address}\nallow_anonymous true\n")
    text = re.sub(r"port = \d+", f'host = "{own_address}"\nport = {port}', desk.path.read_text())
    desk.path.write_text(text)
    desk.own.write_text(OWN)
    with subprocess.Popen([need("mosquitto"), "-c", rules], stderr=subprocess.DEVNULL) as broker:
        since_s = time.monotonic()
        words = ("--board", pico, "--settings", desk.own, "--mpy", "--wait", WITHIN_S)
        said = desk.run("provision", "attic", *words)
        broker.terminate()
    assert said.status == 0, said.out + said.err
    assert "the same on CPython" in said.out
    assert "attic is there, boot 1" in said.out
    print(f"from bare to the broker in {time.monotonic() - since_s:.0f} s")
