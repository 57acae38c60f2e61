"""What the log says of refused messages names who sent them, and nobody who made a name up."""

import pytest

from gateway.service.intake.outcomes import KINDS, DeadLetter
from gateway.service.intake.writer import MOST, told

NAMES = {f"heatveil/1/lab/node-{n}/data": f"node-{n}" for n in range(30)}


def letter(name: str, kind: str = "late") -> DeadLetter:
    return DeadLetter(f"heatveil/1/lab/{name}/data", "SECRET why", b"SECRET frame", kind)


def whose(topic: str) -> str:
    return NAMES.get(topic, "")


def test_each_device_has_its_own_count_of_each_kind() -> None:
    """Whoever reads it knows where to go, and whether to look at a clock or at a key."""
    letters = [letter("node-1"), letter("node-2", "forged"), letter("node-1", "second")]

    assert told([*letters, letter("node-1")], whose) == [
        {"device": "node-1", "messages": 3, "kinds": "late 2, second 1"},
        {"device": "node-2", "messages": 1, "kinds": "forged 1"},
    ]
    assert told([], whose) == []


def test_names_that_nobody_enrolled_are_one() -> None:
    """A flood of made-up names is one line, and none of them is in it."""
    lines = told([letter(f"made-up-{n}", "unknown") for n in range(5000)], whose)

    assert lines == [{"device": "unknown", "messages": 5000, "kinds": "unknown 5000"}]


@pytest.mark.parametrize("devices", [1, MOST, MOST + 1, 30])
def test_a_batch_has_few_lines_and_loses_no_message(devices: int) -> None:
    """However many devices are late at once; those with most have lines of their own."""
    letters = [letter(f"node-{n}") for n in range(devices) for _ in range(n + 1)]
    lines = told(letters, whose)

    assert len(lines) == min(devices, MOST + 1)
    assert sum(line["messages"] for line in lines) == len(letters)
    assert lines[0]["device"] == f"node-{devices - 1}"
    assert (lines[-1]["device"] == "others") is (devices > MOST)


def test_nothing_of_a_message_is_in_it() -> None:
    """Whether it is a frame or a sentence about one, which may quote what came."""
    lines = told([letter("node-1", kind) for kind in KINDS], whose)

    assert "SECRET" not in str(lines)
    assert set(lines[0]) == {"device", "messages", "kinds"}
