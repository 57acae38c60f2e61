"""The table of faults holds, and traps that others fell into: see README.md."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from harness import takes_long
from harness.brokers import LIMITS, OPEN, Broker
from harness.children import ROOT
from harness.radio import PUBLISH, Radio, packed, text
from harness.stage import Stage

from edge.core import wire
from edge.core.records import Report
from edge.host import post
from gateway.devices.broker import embedded, mosquitto
from gateway.devices.enrol.check import WIDEST, check_widths
from gateway.faults import OperatorFault
from tests.waiting import eventually

# The table of faults says what is so: a row has its tests and its control, a test its row.

HERE = Path(__file__).parent
ROWS, TRAPS = 26, 20
TEST = re.compile(r"`(test_\w+)`")


def all_names() -> set[str]:
    """Return the names of all tests of this folder."""
    files = [file.read_text("utf-8") for file in HERE.glob("test_*.py")]
    return {name for file in files for name in re.findall(r"^def (test_\w+)", file, re.MULTILINE)}


def table(words: str) -> list[list[str]]:
    """Return the cells of all rows of a table."""
    lines = [line for line in words.splitlines() if re.match(r"\| (\d+|\+) \|", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def wrong(faults: str) -> list[str]:
    """Return what is wrong with the table of faults."""
    rows, known, found = table(faults), all_names(), []
    if [row[0] for row in rows if row[0] != "+"] != [str(n) for n in range(1, ROWS + 1)]:
        found.append(f"the rows are not 1 to {ROWS}")
    for number, _, test, control in rows:
        shown = TEST.findall(test)
        if not shown or not (TEST.findall(control) or "[control]" in control):
            found.append(f"row {number} has no test, or no control")
        names = {*shown, *TEST.findall(control)}
        found += [f"row {number}: {name} is not there" for name in names - known]
        known_controls = [name for name in TEST.findall(control) if "control" in name]
        if TEST.findall(control) and not known_controls:
            found.append(f"row {number}: its control is none")
    return found


def test_every_fault_has_a_test_and_a_control() -> None:
    """And every test of this folder stands in a row, or with the traps."""
    words = (HERE / "README.md").read_text("utf-8")
    faults, traps = words.split("## Traps")

    assert wrong(faults) == []
    assert [row[0] for row in table(traps)] == [str(n) for n in range(1, TRAPS + 1)]
    own = {
        "test_every_fault_has_a_test_and_a_control",
        "test_a_table_that_is_wrong_is_noticed",
        "test_files_of_the_second_table_are_there",
    }
    assert all_names() - own - set(TEST.findall(words)) == set()
    assert set(TEST.findall(traps)) <= all_names()


@pytest.mark.parametrize(
    "change", ["| 7 | broker down", "test_duplicate_control", "test_9000_devices_at_once`,"]
)
def test_a_table_that_is_wrong_is_noticed(change: str) -> None:
    """A row that is missing, a control that is gone, a name that nobody has."""
    faults = (HERE / "README.md").read_text("utf-8").split("## Traps")[0]
    found = faults.replace("`test_9000_devices_at_once` ", "`test_9000_devices_at_once`, ")

    assert change in found
    assert wrong(found.replace(change, "`test_none`, "))


def test_files_of_the_second_table_are_there() -> None:
    """A path that moved is no place to look."""
    traps = (HERE / "README.md").read_text("utf-8").split("## Traps")[1]
    paths = re.findall(r"`((?:gateway|edge|tests|\.ci)/[\w/.]+|pyproject\.toml)`", traps)

    assert len(paths) > 15
    assert [path for path in paths if not (HERE.parents[1] / path).exists()] == []


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
        check_widths(devices)
    else:
        with pytest.raises(OperatorFault, match="refuse every frame"):
            check_widths(devices)
        with pytest.raises(ValueError, match="a message of"):
            post.unpack_report(frame, bytes(32), "a topic", "one")


def test_18_no_test_listens_on_a_port_that_it_did_not_look_for() -> None:
    """Two brokers on one fixed port collide."""
    fixed = re.compile(r"listener [0-9]|bind\(\(.*, [1-9][0-9]+\)")
    found = [
        f"{file.name}: {line.strip()}"
        for file in (ROOT / "tests").rglob("*.py")
        for line in file.read_text("utf-8").splitlines()
        if fixed.search(line) and "assert" not in line and "test_traps" not in file.name
    ]

    assert fixed.search("listener 1883")  # the control
    assert found == []
