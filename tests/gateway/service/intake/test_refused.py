"""What the log says of refused messages names who sent them, and nobody who made a name up."""

from gateway.service.intake.outcomes import KINDS, DeadLetter
from gateway.service.intake.writer import told

NAMES = {f"heatveil/1/lab/node-{n}/data": f"node-{n}" for n in range(30)}


def letter(name: str, kind: str = "late") -> DeadLetter:
    return DeadLetter(f"heatveil/1/lab/{name}/data", "SECRET why", b"SECRET frame", kind)


def whose(topic: str) -> str:
    return NAMES.get(topic, "")


def test_names_that_nobody_enrolled_are_one() -> None:
    """A flood of made-up names is one line, and none of them is in it."""
    lines = told([letter(f"made-up-{n}", "unknown") for n in range(5000)], whose)

    assert lines == [{"device": "unknown", "messages": 5000, "kinds": "unknown 5000"}]


def test_nothing_of_a_message_is_in_it() -> None:
    """Whether it is a frame or a sentence about one, which may quote what came."""
    lines = told([letter("node-1", kind) for kind in KINDS], whose)

    assert "SECRET" not in str(lines)
    assert set(lines[0]) == {"device", "messages", "kinds"}
