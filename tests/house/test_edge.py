"""What edge does without: floats, other people's randomness, and any way to pack a Reading.

Each rule of `rules` is shown to bite: on every planted line, and on no line that is in order.
"""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

import edge
from edge.core import wire
from edge.core.records import Grid, Guarantee, Reading, Round
from edge.host import post
from edge.mechanisms import thermal
from tests.house import rules

EDGE = Path(str(edge.__file__)).parent
FLOATS = """
x = 0.5
x = a / b
x /= 2
x = 2 ** -k
x = pow(2, -k)
x = float(a)
import math
import numpy.random as r
from fractions import Fraction
from operator import truediv
x = 1e3
f = map(float, a)
x = round(a)
m = __import__("ma" + "th")
struct.pack("<f", a)
"""
DOORS = """
import random
from random import getrandbits
import secrets
from os import urandom
x = os.urandom(4)
u = getattr(os, "x").getrandbits(8)
from .entropy import Tape
from .compat import os_entropy
from .compat import draw_jitter
z = compat.draw_jitter(9)
class Mine:\n    def below(self, n): return 0
"""
CLOCKS = """
import time
import utime
from time import ticks_ms
from datetime import datetime
import ntptime
t = machine.RTC().datetime()
"""
CALENDAR = """
t = time.time()
t = time.time_ns()
from time import localtime
import datetime
import ntptime
t = machine.RTC().datetime()
"""
TELLING = """
print(values)
import json
import logging
sys.stdout.write(values)
sys.print_exception(why)
"""
OPEN = """
if mac == _mac(body, key, topic): pass
if self.mac != mac: pass
ok = message[-16:] == _mac(body, key, topic)
"""
EARLY = """
def same_bytes(a, b):\n    for x, y in zip(a, b):\n        if x != y: return False\n    return True
def same_bytes(a, b): return a == b
def same_bytes(a, b): return bytes(a) == bytes(b)
"""
DRAWS = """
import random
from numpy.random import default_rng
x = np.random.normal()
from edge.core.noise import dgauss
from edge.noise import dgauss
from edge.core.shares import polya
from edge.entropy import Tape
from edge.core import entropy
norm.rvs(9)
solve(random_state=1)
os.urandom(4)
"""
AFTER = """
def release(round, payloads, rng): return [dgauss(round.params[4], 1, rng)]
def recover(query, releases, rng=None): return rng.below(2)
"""
TRUSTING = """
context.verify_mode = ssl.CERT_NONE
context.check_hostname = False
context = ssl._create_unverified_context()
sock = ssl.wrap_socket(sock)
connect(verify=False)
"""
READINGS = """
from .records import Reading
records.Reading(1, v)
"""
PLANTED = {
    rules.inexact: FLOATS,
    rules.chance: DOORS,
    rules.clock: CLOCKS,
    rules.calendar: CALENDAR,
    rules.telling: TELLING,
    rules.open_compare: OPEN,
    rules.early_end: EARLY,
    rules.drawing: DRAWS,
    rules.drawn_release: AFTER,
    rules.trusting: TRUSTING,
    rules.reading: READINGS,
}
IN_ORDER = '''"""At 0.5 / 2, a Reading, print, random, mac == mac."""
x = (a // b) % 3 + 2**k << 1  # 0.5
y = round.params[0]
if not same_bytes(mac, _mac(body, key, topic)):
    raise ValueError("a MAC")
def same_bytes(a, b):
    if len(a) != len(b):
        return False
    differing = 0
    for x, y in zip(a, b):
        differing |= x ^ y
    return differing == 0
def release(round, payloads, rng):
    return payloads
context.verify_mode = ssl.CERT_REQUIRED
now_ms = tick_ms + 1
value = self.value == other
'''


def planted() -> list[tuple[Callable[[str], list[str]], str]]:
    """Return every rule with every fault that it must find."""
    return [
        (rule, piece.replace("\0", "\n"))
        for rule, pieces in PLANTED.items()
        for piece in pieces.strip().replace("\n    ", "\0    ").splitlines()
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    "rule", rules.RULES, ids=lambda rule: f"{rule.package}-{rule.find.__name__}"
)
def test_the_source_keeps_each_rule(rule: rules.Rule) -> None:
    """A float, a print or a second door would break a promise that no frame shows broken."""
    looked = list(rules.files(rule))

    assert looked
    assert [fault for one in looked for fault in rules.faults(rule, *one)] == [], rule.sentence


@pytest.mark.parametrize(("rule", "line"), planted())
def test_a_planted_fault_is_found(rule: Callable[[str], list[str]], line: str) -> None:
    """Each rule must bite on every way its fault comes in, and name the line."""
    assert rule(f"a = b = k = 1\n{line}\n")[0].startswith("line ")


MEANT = [(rule, place) for rule in rules.RULES for place in rule.may]


@pytest.mark.parametrize(
    ("rule", "place"), MEANT, ids=[f"{rule.find.__name__}-{place}" for rule, place in MEANT]
)
def test_what_a_file_may_have_is_what_it_has(rule: rules.Rule, place: str) -> None:
    """Leave for a word that is not there any more waits for the next one."""
    source = (EDGE / place).read_text("utf-8")

    assert {fault.partition(": ")[2] for fault in rule.find(source)} == set(rule.may[place])
    assert rules.faults(rule, place, source) == []


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("cpython.py", "x = 0.5"),
        ("net/device.py", "print(x)"),
        ("net/device.py", "import random"),
        ("core/compat.py", "import random"),
        ("core/compat.py", "import machine"),
        ("core/entropy.py", "from os import urandom"),
        ("core/noise.py", "from .compat import draw_jitter"),
    ],
)
def test_a_file_that_may_have_one_thing_may_not_have_another(place: str, line: str) -> None:
    """A file that was left out whole would hide it."""
    source = (EDGE / place).read_text("utf-8")

    assert any(rules.faults(rule, place, f"{source}\n{line}\n") for rule in rules.RULES)


@pytest.mark.parametrize("rule", PLANTED, ids=lambda rule: rule.__name__)
def test_what_is_in_order_passes(rule: Callable[[str], list[str]]) -> None:
    """What edge is really written in must not be mistaken for a fault; prose does not count."""
    assert rule(IN_ORDER) == []


def test_every_rule_of_the_lint_is_shown_to_bite() -> None:
    """A rule without a planted fault could look at nothing and hold for ever."""
    assert {rule.find for rule in rules.RULES} == set(PLANTED)


@pytest.mark.parametrize("name", ["entropy.py", "noise.py"])
def test_what_has_an_outside_name_holds_nothing_else(name: str) -> None:
    """No rule looks at these two, and none has to: they pass on what lies in core."""
    _, *rest = ast.parse((EDGE / name).read_text("utf-8")).body

    assert rest
    for line in rest:
        assert isinstance(line, ast.ImportFrom)
        assert str(line.module).startswith("core.")
        assert line.level == 1


def test_nothing_packs_a_reading() -> None:
    """Handed a Reading in place of a Report or a Round, the wire must refuse, not send it."""
    promise = Guarantee((1, 1), (1, 100000), (1, 50), "a move", "local", "a day", "presence")
    plan = Round(1, thermal.NAME, Grid((10, 1), 0), (4, 8, 0, 4096, 10000, 1, 0), promise)
    reading, key = Reading(2, (1234,)), bytes(32)

    with pytest.raises((AttributeError, ValueError)):
        wire.pack_report(plan, reading, key, "heatveil/1/lab/n001/data")
    with pytest.raises((AttributeError, ValueError)):
        post.pack_round(reading, key, "heatveil/1/lab/round/thermal")
