"""A keyed device and its key holder draw the same noise, whichever Python each of them runs on."""

import sys
from typing import Literal

import pytest

from tests import processes

SIGMA, BOOT, READINGS, CHUNK = 1000, 3, 3000, 500
Side = Literal["device", "holder"]

NOISE_SCRIPT = """
import binascii, hashlib, time
from edge.core import budget, entropy, keys, limits, noise, slots
from edge.host import rootkeys
from edge.host.enrol import provision

ROOT, NAME, SENSOR = bytes(range(32)), "attic-3", 4

def device(boot, readings):
    kept, state_key = slots.Ram(), rootkeys.state_key(ROOT)
    most = limits.Limits(1, 8, 1, 1, 1, 0)
    provision(kept, state_key, rootkeys.first_chain(ROOT), most)
    for _ in range(boot):
        own = budget.Budget(kept, state_key)
        own.boot()
    key = keys.epoch_key(own.chain, own.epoch)
    for seq in range(1, readings + 1):
        yield entropy.opened(key, NAME, own.epoch, seq, SENSOR)

def holder(boot, readings):
    chain = rootkeys.chain_at(ROOT, boot)
    for seq in range(1, readings + 1):
        yield entropy.keyed(chain, NAME, boot, seq, SENSOR)

def ticks_us():
    if hasattr(time, "ticks_us"):
        return time.ticks_us()
    return time.perf_counter_ns() // 1000

def since_us(begun):
    if hasattr(time, "ticks_diff"):
        return time.ticks_diff(ticks_us(), begun)
    return ticks_us() - begun

def tell(streams, variance, chunk, values):
    count = blocks = spent = 0
    digest, begun = hashlib.sha256(), ticks_us()
    for rng in streams:
        for _ in range(values):
            digest.update((noise.dgauss(variance, 1, rng) + (1 << 40)).to_bytes(8, "big"))
        count += values
        blocks += rng._counter
        if count % chunk == 0:
            spent += since_us(begun)
            print(count, binascii.hexlify(digest.digest()).decode()[:16], blocks, spent)
            digest, begun = hashlib.sha256(), ticks_us()
"""


def source(
    side: Side, sigma: int, *, boot: int, readings: int, chunk: int, values: int = 1
) -> str:
    """Return a script that prints a line for each chunk of the noise values of one boot.

    The device goes the device's way: its budget steps the chain key on at each boot, and gives
    each of its readings a stream. The key holder goes the holder's way: from the root key to the
    key of each boot by itself, and to the same streams from that. What a side prints, a digest of
    every chunk of values, is the same line by line, on CPython and on every board, or readings are
    lost.

    The script imports `edge` alone and is plain text, because the Pythons that run it are other
    programs: MicroPython's ports as well as this one.

    A line is: values so far, digest of the chunk's values, HMAC blocks so far, microseconds so
    far. All but the last are the same wherever it runs. A million values at once are too many for
    the WebAssembly port, which frees no memory before a script ends; a hundred thousand are not.

    Args:
        side: whose way to the same streams is gone.
        sigma: of the noise, in grains.
        boot: which one, from 1 on; a device goes through those before it.
        readings: how many there are in it, a stream each.
        values: how many one stream gives: as many as the device has sensors.
        chunk: how many readings one digest covers; divides all of them.
    """
    drawn = f"tell({side}({boot}, {readings}), {sigma * sigma}, {chunk * values}, {values})"
    return f"{NOISE_SCRIPT}\n{drawn}"


def digests(interpreter, script: str) -> list[str]:
    return [line.split()[1] for line in interpreter.run(script).splitlines()]


@pytest.fixture(scope="module")
def held() -> list[str]:
    """Return what the key holder draws, on CPython."""
    script = source("holder", SIGMA, boot=BOOT, readings=READINGS, chunk=CHUNK)
    ran = processes.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return [line.split()[1] for line in ran.stdout.splitlines()]


@pytest.mark.long
def test_a_device_and_its_key_holder_agree_to_the_bit(interpreter, held: list[str]) -> None:
    """A holder who is off by one bit in one value has lost that reading for ever."""
    script = source("device", SIGMA, boot=BOOT, readings=READINGS, chunk=CHUNK)

    assert digests(interpreter, script) == held
    assert len(set(held)) == READINGS // CHUNK


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("epoch_key(own.chain,", "epoch_key(rootkeys.first_chain(ROOT),"),  # no step at a boot
        ("own.epoch, seq, SENSOR", "own.epoch, seq, 0"),
        ("own.epoch, seq, SENSOR", "own.epoch, seq - 1, SENSOR"),
    ],
)
def test_a_device_that_draws_otherwise_is_noticed(
    interpreter, held: list[str], right: str, wrong: str
) -> None:
    """Digests that always agree would prove nothing."""
    script = source("device", SIGMA, boot=BOOT, readings=CHUNK, chunk=CHUNK)
    assert right in script

    assert digests(interpreter, script) == held[:1]
    assert digests(interpreter, script.replace(right, wrong, 1)) != held[:1]
