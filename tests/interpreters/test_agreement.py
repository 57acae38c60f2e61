"""A keyed device and its key holder draw the same noise, whichever Python each of them runs on."""

import sys

import pytest

from gateway.audit.attacks.interpreters import source
from tests import processes

SIGMA, BOOT, READINGS, CHUNK = 1000, 3, 3000, 500


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
