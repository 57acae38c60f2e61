"""The log tells what went wrong, and nothing that a device saw or keeps secret."""

import subprocess
import sys

import pytest

SCRIPT = """
import io, sys
{terminal}
import structlog
from gateway import logs
from edge import entropy, thermal
from edge.records import Grid, Guarantee, Reading, Round

logs.to_stderr()
log = structlog.get_logger()
promise = Guarantee((1, 1), (1, 100000), (1, 2), "n", "local", "u", "p")
round = Round(1, "thermal", Grid((9, 1), 0), (9, 8, 0, 987654321, 250000, 1, 1), promise)
for fail in (
    lambda: thermal.veil(round, Reading(7, (4242, 4243, 4244)), [31337, 31338, 31339]),
    lambda: entropy.keyed(b"this-is-a-root-key", "n", 1, 1, 0),
):
    try:
        fail()
    except ValueError:
        log.exception("a device could not answer")
"""


@pytest.mark.parametrize("terminal", ["", "sys.stderr.isatty = lambda: True"])
def test_a_traceback_holds_no_reading_no_noise_and_no_key(terminal: str) -> None:
    """The variables of a failing device are its readings; logs are kept and sent about."""
    script = SCRIPT.format(terminal=terminal)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert ran.returncode == 0
    assert "a device could not answer" in ran.stderr
    assert "thermal.py" in ran.stderr
    for secret in ("4242", "31337", "this-is-a-root-key"):
        # The script itself is not on the disk, so no line of it is shown either.
        assert secret not in ran.stderr
