"""The log tells what went wrong, and nothing that a device saw or keeps secret."""

import json
import os
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


OTHERS = """
import logging, threading, warnings
import structlog
from gateway import logs

logs.to_stderr()
structlog.get_logger().info("ours", count=1)
logging.getLogger("uvicorn.error").error("theirs %s", "too")
logging.getLogger("sqlalchemy.engine").info("INSERT 4242")
warnings.warn("a library is old")
try:
    raise ValueError("x")
except ValueError:
    logging.getLogger("paho").exception("it failed")

def die(reading):
    raise RuntimeError("oh")

thread = threading.Thread(target=die, args=(31337,), name="writer")
thread.start()
thread.join()
print("a sentence")
"""


def test_every_line_of_the_log_has_one_form_and_sentences_go_elsewhere() -> None:
    """One stream that a machine reads: a library's line, a warning, a thread that died."""
    ran = subprocess.run([sys.executable, "-c", OTHERS], capture_output=True, text=True)
    said = [json.loads(line) for line in ran.stderr.splitlines()]

    assert ran.stdout == "a sentence\n"
    assert [(one["level"], one.get("logger", one.get("thread"))) for one in said] == [
        ("info", None),
        ("error", "uvicorn.error"),
        ("warning", "py.warnings"),
        ("error", "paho"),
        ("critical", "writer"),
    ]
    assert all("timestamp" in one and "event" in one for one in said)
    assert said[1]["event"] == "theirs too"
    assert said[3]["exception"][0]["exc_type"] == "ValueError"
    assert "4242" not in ran.stderr
    assert "31337" not in ran.stderr


@pytest.mark.parametrize(
    ("level", "expected"), [("debug", "dmw"), ("info", "mw"), ("", "mw"), ("warning", "w")]
)
def test_the_environment_says_from_which_level_on(level: str, expected: str) -> None:
    """Whoever looks for a fault needs more of it, without another program."""
    script = (
        "import structlog; from gateway import logs; logs.to_stderr()\n"
        "log = structlog.get_logger(); log.debug('d'); log.info('m'); log.warning('w')"
    )
    environment = os.environ | {"HEATVEIL_LOG": level}
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)

    assert "".join(json.loads(line)["event"] for line in ran.stderr.splitlines()) == expected


def test_a_level_that_is_none_is_refused_by_its_name() -> None:
    """A misspelled one would be a log of nothing, or of everything."""
    script = "from gateway import cli; cli.main(['--log', 'loud', 'serve', '--config', 'x'])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert ran.returncode == 1
    assert ran.stderr.startswith("heatveil: HEATVEIL_LOG is 'loud' but must be one of debug,")
    assert len(ran.stderr.splitlines()) == 1
