"""The lint: what the source of the privacy path must be free of, whatever the inputs.

A float makes a promise about whole numbers void; a second door to random bits, a clock or a
print makes one that no test of the frames would see broken. The rules are in `rules`; here is
where each of them holds, and which single words a file may have all the same. edge/board and
edge/linux, where pins, clocks and radios are, have rules of their own (tests/edge/board): a driver
counts, and says nothing.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from . import guards, rules
from .claim import Claim, Effort, true

BOARDS = ("board", "linux", "manifest.py")  # the last is of a build, and on no board
HOST = ("audit", "commands")  # run by hand where nobody measures how long they take
WAITS = ("random bits from spread",)  # how long to wait, and what comes of that is no noise


class Rule(NamedTuple):
    """One thing that some files must be free of."""

    sentence: str
    find: Callable[[str], list[str]]
    package: str
    may: Mapping[str, tuple[str, ...]] = {}  # faults that a file, by its place, is meant to have
    without: tuple[str, ...] = ()  # folders for which it is meant not to hold


RULES = (
    Rule(
        "edge holds no float, no true division and nothing that makes one, but where it sleeps",
        rules.inexact,
        "edge",
        {"pause.py": ("true division",)},
    ),
    Rule(
        "edge takes random bits through the one door, entropy, and no experiment's tape",
        rules.chance,
        "edge",
        {
            "compat.py": ("random bits from urandom", "random bits from os_entropy"),
            "entropy.py": ("random bits from os_entropy", "a stream of its own"),
            "pause.py": WAITS,
            "talking.py": WAITS,
        },
    ),
    Rule(
        "nothing in edge but its uptime looks at a clock",
        rules.clock,
        "edge",
        {"compat.py": ("import of time", "the clock ticks_ms", "the clock ticks_diff")},
    ),
    Rule("nothing in edge asks for the hour of the day", rules.calendar, "edge"),
    Rule(
        "edge prints and logs nothing, and writes no text of a reading, but of its own state",
        rules.telling,
        "edge",
        {"talking.py": ("import of json",)},
    ),
    Rule(
        "what packs messages and keeps state does not know a Reading",
        rules.reading,
        "edge",
        dict.fromkeys(("records.py", "node.py", "thermal.py"), ("a Reading",)),
    ),
    Rule("no MAC is compared in a time that tells where it differs", guards.open_compare, "edge"),
    Rule("same_bytes looks at every byte", guards.early_end, "edge"),
    Rule("release draws nothing on a device's side", rules.drawn_release, "edge"),
    Rule("recovery draws no random number", rules.drawing, "recovery"),
    Rule("recovery's verbs leave rng alone", rules.drawn_release, "recovery"),
    Rule(
        "the gateway's service compares no MAC by ==", guards.open_compare, "gateway", without=HOST
    ),
    Rule("no connection of a device is unverified", guards.trusting, "edge"),
    Rule(
        "no connection of the gateway is unverified",
        guards.trusting,
        "gateway",
        without=("audit",),
    ),
)


def claims(_: None, effort: Effort) -> Iterator[Claim]:
    """Yield one claim for each rule, over every file that it is for."""
    for rule in RULES:
        looked = list(files(rule))
        found = [fault for place, source in looked for fault in faults(rule, place, source)]
        yield true(
            rule.sentence,
            bool(looked) and not found,
            samples=len(looked),
            detail="; ".join(found[:3]) or ("" if looked else "no file was found"),
        )


def faults(rule: Rule, place: str, source: str) -> list[str]:
    """Return what a rule finds in the file of this place in its package, and should not."""
    meant = rule.may.get(place, ())
    return [
        f"{rule.package}/{place} {fault}"
        for fault in rule.find(source)
        if fault.partition(": ")[2] not in meant
    ]


def files(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield the place in its package and the text of every file that a rule is for."""
    home = Path(str(importlib.import_module(rule.package).__file__)).parent
    for path in sorted(home.rglob("*.py")):
        place = path.relative_to(home)
        if not {place.parts[0], place.as_posix()} & {*BOARDS, *rule.without}:
            yield place.as_posix(), path.read_text("utf-8")
