"""A whole board on a real MicroPython with small words: from main's own first line to its sleep.

Pins, radio and sleep are modules of a few lines; all else is what a board runs. The heap is that
of a small board, and what is left of it at the end is printed.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

from edge.core.records import Grid, Guarantee, Round
from edge.core.wire import round_topic, topic
from edge.host import post
from edge.net import spill
from tests import processes
from tests.conftest import ROOT as CHECKOUT
from tests.edge.board import test_start
from tests.edge.board.test_start import PORT, SITE_KEY

PATIENCE_S = 90
HEAP_KB = 128  # an ESP32 has 110 KB and more, a Pico W 180

BOARD = r"""
import gc
gc.threshold(2000)
import sys
class Pin:
    OUT = 1
    def __init__(self, name, mode=0):
        pass
    def value(self, level):
        lit.append(level)
        del lit[:-2]
class I2C:
    def __init__(self, number, freq, sda, scl):
        pass
    def readfrom_mem_into(self, address, register, buffer, addrsize=8):
        buffer[:] = b"\x01\x17" if register == 15 else b"\x0c\x80"
class WDT:
    def __init__(self, timeout):
        pass
    def feed(self):
        pass
class RTC:
    def memory(self, *data):
        if not data:
            return kept[0]
        kept[0] = bytes(data[0])
class WLAN:
    def __init__(self, mode):
        self.joined = False
    def active(self, on):
        pass
    def connect(self, ssid, password):
        self.joined = True
    def disconnect(self):
        self.joined = False
    def isconnected(self):
        return self.joined
def deepsleep(ms):
    gc.collect()
    print("sleeps", ms, lit[-1], len(kept[0]), gc.mem_free())
    sys.exit()
class Module:
    pass
machine, network = Module(), Module()
machine.Pin, machine.I2C, machine.WDT, machine.RTC = Pin, I2C, WDT, RTC
machine.deepsleep = deepsleep
network.WLAN, network.STA_IF = WLAN, 0
sys.modules["machine"], sys.modules["network"] = machine, network
lit, kept = [0], [b""]

from edge.board import firmware
print(repr(firmware.objection()))
from edge import loading
loading.load()
from edge.board import config, start
load = start.load
start.load = lambda: load(FOLDER + "/heatveil.json")
import os
def heard():
    try:
        return os.stat(FOLDER + "/heard")
    except OSError:
        return None
wait_until = start.wait_until
async def wait(clock, moment_ms):
    if not heard():  # then all that is left of its time awake is over at once
        await wait_until(clock, moment_ms)
start.FOLDER, start.wait_until = FOLDER, wait
start.AWAKE_MS = start.CALM_MS = 1000 * PATIENCE_S
start.run(firmware.refuse_mode)
"""


@pytest.mark.long
@pytest.mark.timeout(3 * PATIENCE_S)
@pytest.mark.parametrize("program", ["micropython", "micropython-i386"])
def test_a_board_starts_answers_and_sleeps(
    program: str,
    need: Callable[[str], str],
    answers: Callable[[int], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A frame comes to the broker, signed by this device; its next boot's epoch is left behind."""
    from paho.mqtt.publish import single

    monkeypatch.setattr(test_start, "start", SimpleNamespace(load=None, FOLDER=""))
    test_start.config(tmp_path, monkeypatch, wake_s=60)
    rules = tmp_path / "broker.conf"
    rules.write_text(f"listener {PORT} 127.0.0.1\nallow_anonymous true\n")
    broker = processes.Child([need("mosquitto"), "-c", rules], stderr=subprocess.DEVNULL)
    board, frames, ears = None, [], Client(CallbackAPIVersion.VERSION2)

    def came(client: Client, held: object, message: MQTTMessage) -> None:
        frames.append(bytes(message.payload))
        (tmp_path / "heard").touch()

    ears.on_message = came
    try:
        answers(PORT)
        ears.on_connect = lambda client, *_: client.subscribe(topic("lab", "attic-3", "data"), 1)
        ears.connect("127.0.0.1", PORT)
        ears.loop_start()
        promise = Guarantee((4, 1), (1, 100000), (1, 8), "0.1 m", "local", "a day", "presence")
        plan = Round(1, "thermal", Grid((100, 1), 100), (50, 8, -8000, 8000, 16000, 2, 0), promise)
        where = round_topic("lab", "thermal")
        single(where, post.pack_round(plan, SITE_KEY, where), 1, True, "127.0.0.1", PORT)
        heap = HEAP_KB if program.endswith("i386") else 2 * HEAP_KB
        command = [need(program), "-X", f"heapsize={heap}k", "-c"]
        board = processes.Child(
            [*command, f"FOLDER, PATIENCE_S = {str(tmp_path)!r}, {PATIENCE_S}\n{BOARD}"],
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said, _ = board.communicate(timeout=2 * PATIENCE_S)
        ears.disconnect()
        ears.loop_stop()
    finally:
        broker.terminate()
        broker.wait()
        if board is not None and board.poll() is None:
            board.kill()

    who = topic("lab", "attic-3", "data")
    mac_key = test_start.rootkeys.mac_key(test_start.ROOT)
    assert frames, said
    report = post.unpack_report(frames[0], mac_key, who, "attic-3")
    first, last = said.splitlines()
    word, ms, dark, kept, free = last.split()
    assert (first, report.epoch, len(set(frames))) == ("''", 1, 1)
    assert (word, ms, dark, int(kept)) == ("sleeps", "60000", "0", 117), said
    assert int(free) > 7_000
    assert len(spill.File(f"{tmp_path}/frames", 65536)) == 1, "it has no receipt yet"
