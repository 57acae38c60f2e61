"""The table of faults holds, and traps that others fell into: see README.md."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from harness import takes_long
from harness.brokers import LIMITS, OPEN, Broker
from harness.radio import PUBLISH, Radio, packed, text
from harness.stage import Stage

from edge.core import wire
from edge.core.records import Report
from edge.host import post
from gateway.devices.broker import embedded, mosquitto
from gateway.devices.enrol.check import WIDEST, check_frame_lengths
from gateway.faults import OperatorFault
from tests.waiting import eventually

# The table of faults says what is so: a row has its tests and its control, a test its row.

HERE = Path(__file__).parent


def test_every_fault_has_a_test_and_a_control() -> None:
    """And every test of this folder stands in a row, or with the traps."""
    words = (HERE / "README.md").read_text("utf-8")
    named = set(re.findall(r"`(test_\w+)`", words))
    files = [file.read_text("utf-8") for file in HERE.glob("test_*.py")]
    there = {name for file in files for name in re.findall(r"^def (test_\w+)", file, re.M)}
    faults = [line.split("|") for line in words.split("## Traps")[0].splitlines()]

    assert named | {"test_every_fault_has_a_test_and_a_control"} == there
    assert [row[2] for row in faults if len(row) > 5 and "control" not in row[4]] == [" --- "]


# Traps that others fell into, as far as no other test would notice: see README.md.

Staged = Callable[..., Stage]
TOLD = re.compile(r"Received PUBLISH from (\S+) \(d\d, q(\d), r(\d), m\d+, '([^']*)'")
FILTER = re.compile(r"^.*?\t(heatveil/\S+) \(QoS (\d)\)", re.MULTILINE)
PRESENCE = {"data", "receipt", "ack"}  # leaves that would show who was there when


def published(said: str) -> list[tuple[str, int, bool, str]]:
    """Return what a broker says that it was given: by whom, at which QoS, retained, where."""
    return [(who, int(qos), kept == "1", on) for who, qos, kept, on in TOLD.findall(said)]


@takes_long
def test_1_and_13_nothing_at_qos_2_and_no_reading_retained(stage: Staged) -> None:
    """A broker that tells everything tells of two rounds; and of a stranger who does both."""
    site = stage(readings=2)
    site.broker.stop()
    more = f"{OPEN}{LIMITS}log_type all\n"
    with Broker(site.broker.command[0], site.folder / "told", more=more) as told:
        told.start()
        site.write(told.port)
        site.gateway()
        site.edges()
        assert eventually(lambda: site.released() == 2)
        with Radio(told.port, "stranger") as radio:  # the control: it would be seen
            body = text("heatveil/1/stage/node-00/data") + b"\0\1?"
            radio._link.sendall(packed(PUBLISH, 1 | 4, body))
            assert eventually(lambda: "from stranger (d0, q2, r1" in told.said())
        said = told.said()
    ours = [one for one in published(said) if one[0] != "stranger"]
    reports = [one for one in ours if one[3].endswith("/data")]

    assert len(reports) >= 40
    assert {qos for _, qos, _, _ in reports} == {1}
    assert {qos for _, qos, _, _ in ours} <= {0, 1}
    assert not [on for _, _, kept, on in ours if kept and on.split("/")[-1] in PRESENCE]
    assert {"data": "1", "receipt": "1", "round": "1"}.items() <= {
        on.split("/")[3 if "/round/" in on else -1]: qos for on, qos in FILTER.findall(said)
    }.items()


@pytest.mark.parametrize("written", [mosquitto.__file__, embedded.__file__])
def test_3_queues_are_limited_in_messages_and_in_bytes(written: str) -> None:
    """A thousand messages are too few for a gateway that is away, and no limit fills a memory."""
    found = re.findall(r"^max_queued_(messages|bytes) (\d+)$", Path(written).read_text(), re.M)

    assert {what: int(most) > 10_000 for what, most in found} == {"messages": True, "bytes": True}


@pytest.mark.parametrize("sensors", [WIDEST, WIDEST + 16])
def test_8_no_device_may_have_frames_that_are_never_taken(sensors: int) -> None:
    """The widest that may be enrolled is read at its longest; a wider one is neither."""
    report = Report(b"name", "one", (1 << 48) - 1, (1 << 48) - 1, [(1 << 48) - 1] + [-1] * sensors)
    frame, device = wire.pack_report(report, bytes(32), "a topic", 32), SimpleNamespace()
    device.place = SimpleNamespace(sensors=sensors)
    devices: Any = SimpleNamespace(by_name={"one": device})
    if sensors == WIDEST:
        assert post.unpack_report(frame, bytes(32), "a topic", "one") == report
        check_frame_lengths(devices)
    else:
        with pytest.raises(OperatorFault, match="refuse every frame"):
            check_frame_lengths(devices)
        with pytest.raises(ValueError, match="a message of"):
            post.unpack_report(frame, bytes(32), "a topic", "one")
