"""Logs: what a line may hold, how often it may be said, and what a service writes."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from edge.core import wire
from gateway import logs
from gateway.logs import LONGEST_S, Pseudonyms, Repeats
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from gateway.store.reader import Reader
from tests import processes, sites
from tests.processes import find_free_port

# What a line of the log may hold, and how often it may be said.


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a clock that only the test moves."""
    now = [1000.0]
    monkeypatch.setattr(logs.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def written(clock: list[float]) -> Iterator[io.StringIO]:
    """Configure the log as the gateway does, into a text."""
    text = io.StringIO()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            logs.remove_secrets,
            Repeats(),
            Pseudonyms(),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.WriteLoggerFactory(text),
    )
    yield text
    structlog.reset_defaults()


def told(text: io.StringIO) -> list[dict[str, Any]]:
    """Return the lines."""
    return [json.loads(line) for line in text.getvalue().splitlines()]


@pytest.mark.long
def test_a_broker_lost_for_a_night_writes_no_million_lines(
    written: io.StringIO, clock: list[float]
) -> None:
    """Twelve hours, two attempts a second: a disk must not fill with them, and all are counted."""
    log, attempts = structlog.get_logger(), 2 * 12 * 3600
    for number in range(attempts):
        clock[0] = 1000 + number / 2
        log.warning("the broker is lost; connecting again", attempt=number)
    clock[0] += LONGEST_S
    log.warning("the broker is lost; connecting again")
    found = told(written)

    assert len(found) < 30
    assert len(found) + sum(one.get("again", 0) for one in found) == attempts + 1


def test_another_reason_is_another_line(written: io.StringIO) -> None:
    """What was held back must not hide what is new."""
    log = structlog.get_logger()
    for why in ("locked", "locked", "full", "locked"):
        log.warning("the store does not answer", why=why)
    log.error("the store does not answer", why="locked")
    log.debug("reports", number=1, came=3)
    log.debug("reports", number=1, came=4)  # the last: who reads the log counts them
    found = told(written)

    assert [one["came"] for one in found[3:]] == [3, 4]
    assert [(one["level"], one["why"]) for one in found[:3]] == [
        ("warning", "locked"),
        ("warning", "full"),
        ("error", "locked"),
    ]


def test_devices_have_names_only_where_somebody_must_act(written: io.StringIO) -> None:
    """An INFO line each answer would show who was where, to whoever keeps the logs."""
    log = structlog.get_logger()
    log.info(
        "a virtual device refuses a round", device="node-07", topic="heatveil/1/lab/node-07/data"
    )
    log.debug("came", devices=["node-07", "node-08"])
    log.warning("alarm", device="node-07", topic="heatveil/1/lab/node-07/data")
    log.info("sent", topic="heatveil/1/lab/map/thermal")
    info, debug, warning, sent = told(written)

    assert "node" not in json.dumps([info, debug])
    assert info["device"] in debug["devices"]  # one device, one number, while this process runs
    assert info["topic"] == f"heatveil/1/lab/{info['device']}/data"
    assert warning["device"] == "node-07"
    assert sent["topic"] == "heatveil/1/lab/map/thermal"


def test_another_start_gives_devices_other_numbers() -> None:
    """So a log of years joins nothing, and no dictionary of names opens it."""
    first, second = Pseudonyms(), Pseudonyms()
    lines_ = [each(None, "info", {"device": "node-07"}) for each in (first, first, second)]

    assert lines_[0] == lines_[1] != lines_[2]


def test_a_careless_call_still_writes_no_payload_and_no_secret(written: io.StringIO) -> None:
    """The last defence: the names under which such things go about here."""
    secrets = dict.fromkeys(logs.PRIVATE, "4242")
    structlog.get_logger().error("no", **secrets, size=3)

    assert told(written) == [{"event": "no", "level": "error", "size": 3}]


def test_what_is_remembered_of_lines_is_bounded(written: io.StringIO) -> None:
    """A hostile device can make reasons up."""
    log = structlog.get_logger()
    repeats = structlog.get_config()["processors"][2]
    for number in range(3 * logs.LINES):
        log.warning("refused", why=str(number))

    assert len(repeats._said) == logs.LINES


# The log tells what went wrong, and nothing that a device saw or keeps secret.

SCRIPT = """
import io, sys
{terminal}
import structlog
from gateway import logs
from edge.core import entropy
from edge.mechanisms import thermal
from edge.core.records import Grid, Guarantee, Reading, Round

logs.log_to_stderr()
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
    ran = processes.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert ran.returncode == 0
    assert "a device could not answer" in ran.stderr
    assert "thermal_half.py" in ran.stderr
    for secret in ("4242", "31337", "this-is-a-root-key"):
        # The script itself is not on the disk, so no line of it is shown either.
        assert secret not in ran.stderr


OTHERS = """
import logging, threading, warnings
import structlog
from gateway import logs

logs.log_to_stderr()
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
    ran = processes.run([sys.executable, "-c", OTHERS], capture_output=True, text=True)
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
        "import structlog; from gateway import logs; logs.log_to_stderr()\n"
        "log = structlog.get_logger(); log.debug('d'); log.info('m'); log.warning('w')"
    )
    environment = os.environ | {"HEATVEIL_LOG": level}
    command = [sys.executable, "-c", script]
    ran = processes.run(command, capture_output=True, text=True, env=environment)

    assert "".join(json.loads(line)["event"] for line in ran.stderr.splitlines()) == expected


@pytest.mark.parametrize(
    ("terminal", "given", "wanted", "plain"),
    [
        (True, "", "", True),
        (False, "", "", False),
        (False, "plain=True", "", True),
        (False, "", "plain", True),
        (True, "plain=True", "json,warning", False),
    ],
)
def test_lines_are_plain_on_a_terminal_and_json_elsewhere_unless_asked_otherwise(
    terminal: bool, given: str, wanted: str, plain: bool
) -> None:
    """A person reads the one, a program the other; a pipe may have either at its end."""
    script = (
        f"import sys; sys.stderr.isatty = lambda: {terminal}\n"
        f"from gateway import logs; logs.log_to_stderr({given}); logs.log.warning('w', why='x')"
    )
    environment = os.environ | {"HEATVEIL_LOG": wanted}
    command = [sys.executable, "-c", script]
    ran = processes.run(command, capture_output=True, text=True, env=environment)

    assert "why" in ran.stderr
    assert ran.stderr.startswith("{") != plain
    assert ("\x1b" in ran.stderr) == (terminal and plain)  # a file is no place for colours


PROGRAM = Path(sys.executable).with_name("heatveil")
# What differs from one run of the same day to the next: clocks, ports, numbers drawn at random.
OF_THE_RUN = {"timestamp", "seconds", "came", "name", "device", "devices", "topic", "again"}
OF_THE_MACHINE = {
    "health",
    "a part of the gateway works again",
    "a part of the gateway does not work",
    "reports",
}


class Day(list[dict[str, Any]]):
    """The lines of a gateway and its fleet, from debug up, and what the devices sent."""

    sent: set[int]


def day(folder: Path, name: str, broker: Mqtt, heatveil: Callable[..., Any], warm: str) -> Day:
    """Return the log of a site that was run for two rounds, with a forged message in between."""
    folder.mkdir()
    path, sources = folder / "site.toml", folder / "warm.csv"
    shape = {"cells": 20, "sensors": 4, "readings": 2, "gather_s": 10.0, "every_s": 0.5}
    path.write_text(sites.small(name, broker.port, find_free_port(), **shape))
    sources.write_text(f"position,intensity\n{warm}\n")
    assert heatveil("enrol", "--config", path).status == 0
    base = [PROGRAM, "--log", "debug"]
    quiet = {"stdout": subprocess.DEVNULL, "text": True}
    with (folder / "log").open("w") as log, Pump("thief") as pump:
        fleet = [*base, "fleet", "--config", path, "--sources", sources]
        with processes.Child(fleet, stderr=log, **quiet) as devices:  # type: ignore[call-overload]
            thief = Link(broker, f"thief-{name}", pump, lasting=False).wait_connected()
            for payload in (b"31337 is no frame", b"\xa1" * 40):
                thief.publish(wire.topic(name, "node-1", "data"), payload)
            serve = [*base, "serve", "--config", path, "--rounds", "2"]
            ran = processes.run(serve, stderr=log, **quiet)  # type: ignore[call-overload]
            thief.close()
            devices.terminate()
    assert ran.returncode == 0
    found = Day(json.loads(line) for line in (folder / "log").read_text().splitlines())
    reader = Reader(folder / "heatveil.sqlite")
    found.sent = {
        value for number in (1, 2) for value in reader.read_release(number) or () if value
    }
    reader.close()
    return found


@pytest.mark.long
def test_a_site_at_debug_tells_no_reading_no_map_and_no_device(
    tmp_path: Path, mosquitto: Mqtt, heatveil: Callable[..., Any]
) -> None:
    """Somebody stands at the left end, or at the right one: the two logs are the same.

    That is what "no line depends on a reading" means; names are looked for besides, and every
    number that a device sent, blurred as it was.
    """
    left, right = (
        day(tmp_path / name, name, mosquitto, heatveil, warm)
        for name, warm in (("one-way", "1.0,1.0"), ("the-other", "9.0,0.4"))
    )
    kinds = {one["event"] for one in left}
    assert {"ready", "round", "release", "map", "done"} <= kinds
    assert {one["level"] for one in left} >= {"info"}
    told = []
    for lines, name in ((left, "one-way"), (right, "the-other")):
        same = [one for one in lines if one["event"] not in OF_THE_MACHINE]
        bare = [{k: v for k, v in one.items() if k not in OF_THE_RUN} for one in same]
        told.append({json.dumps(one, sort_keys=True).replace(name, "") for one in bare})
        assert len(lines.sent) > 2
        for one in lines:
            text = json.dumps(one)
            assert one["level"] in ("warning", "error") or not re.search(r"node-\d", text), one
            assert "31337" not in text
            shown = {v for v in one.values() if isinstance(v, int | float)}
            assert {v for v in shown & lines.sent if abs(v) > 100} == set(), one

    assert left.sent != right.sent
    assert told[0] == told[1]
