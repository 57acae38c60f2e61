"""What a line of the log may hold, and how often it may be said."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from gateway import logs
from gateway.logs import LONGEST_S, Pseudonyms, Repeats


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
            logs.without_secrets,
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

    assert [(one["level"], one["why"]) for one in told(written)] == [
        ("warning", "locked"),
        ("warning", "full"),
        ("error", "locked"),
    ]


def test_devices_have_names_only_where_somebody_must_act(written: io.StringIO) -> None:
    """An INFO line each answer would show who was where, to whoever keeps the logs."""
    log = structlog.get_logger()
    log.info("a round is refused", device="node-07", topic="heatveil/1/lab/node-07/data")
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
