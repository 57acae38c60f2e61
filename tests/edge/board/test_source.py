"""What the files of a board and of Linux do without, though pins and clocks are theirs.

The house's rules for the rest of edge, with each line that may break one named here.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

import edge
from tests.house import rules

EDGE = Path(str(edge.__file__)).parent
FILES = sorted([*(EDGE / "board").rglob("*.py"), *(EDGE / "linux").rglob("*.py")])
WAITS = {"random bits from spread"}
TELLS = {"import of json", "a print"}  # to who stands before it: what is wrong, by its word
MAY = {  # rule: file, and what it may do there
    rules.inexact: {  # a time to sleep, both
        "board/sensors/bus.py": {"true division"},
        "linux/exact.py": {"true division"},
    },
    rules.chance: {"board/net.py": WAITS, "board/start.py": WAITS},
    rules.calendar: {
        "board/start.py": {"import of ntptime"},  # for TLS, see net/clock.py
        "board/nap.py": {"the hour of the day from RTC"},  # its memory, and nothing else of it
    },
    rules.telling: {
        "board/config.py": {"import of json"},
        "board/firmware.py": TELLS,
        "board/start.py": {"a print"},
        "linux/enrol.py": TELLS,
        "linux/run.py": {"a print"},
    },
    rules.open_compare: {},
    rules.trusting: {},
}


def found(rule: Callable[[str], list[str]], path: Path, text: str) -> list[str]:
    """Return what breaks a rule in a file and is not among what it may."""
    name = path.relative_to(EDGE).as_posix()
    meant = MAY[rule].get(name, set())
    return [f"{name} {fault}" for fault in rule(text) if fault.partition(": ")[2] not in meant]


@pytest.mark.parametrize("rule", MAY, ids=lambda rule: rule.__name__)
def test_no_file_breaks_a_rule_but_where_it_may(rule: Callable[[str], list[str]]) -> None:
    """A driver that scaled in floats would void the promise; one that printed, all of it."""
    assert [fault for path in FILES for fault in found(rule, path, path.read_text())] == []
