"""What the log says of messages that were refused: of which device, how many, and of which kinds.

A name is in it because somebody must find that device; so the line is a WARNING, below which there
are none (`operate.lines`), and a metric has no device at all. Only names that are enrolled are
said: whoever makes up a thousand others is "unknown", all of them together. Nothing that was in a
message is said.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from .outcomes import DeadLetter

MOST = 10  # devices of one batch that have a line of their own
UNKNOWN, OTHERS = "unknown", "others"


def told(letters: Iterable[DeadLetter], whose: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return what a line of the log holds, for each device, those with the most messages first.

    Args:
        whose: returns the enrolled device of a topic, or "" where it is nobody's.
    """
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for letter in letters:
        kinds[whose(letter.topic) or UNKNOWN][letter.kind] += 1
    named = sorted(kinds.items(), key=lambda one: (-one[1].total(), one[0]))
    rest = sum((of for _, of in named[MOST:]), Counter[str]())
    rows = [*named[:MOST], *([(OTHERS, rest)] if rest else [])]
    return [
        {
            "device": name,
            "messages": of.total(),
            "kinds": ", ".join(f"{kind} {count}" for kind, count in sorted(of.items())),
        }
        for name, of in rows
    ]
