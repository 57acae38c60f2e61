"""What the audit counts out or searches for: places answer by answer, moves, and sums of noise.

`tests/mutants` plants mistakes in the halves of devices and in the plans.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recovery.disk.cases
from edge.core.entropy import Tape
from edge.core.records import Release
from edge.core.shares import draw_shares
from edge.mechanisms import disk, summing
from edge.mechanisms import quadtree as device
from edge.mechanisms.thermal import Params
from gateway.audit.arithmetic import finite, readings, sensitivity
from gateway.audit.arithmetic.finite import Span, SplitError, Worst, weigh_answers
from gateway.audit.arithmetic.shares import claims
from gateway.audit.claim import Claim, Effort
from gateway.mechanisms import Verbs, find_mechanism
from physics.rooms.records import Air, Clock, Door, Room, Side, Thermometers, Wall
from physics.rooms.respond import compute_day_response, compute_response
from recovery import thermal
from recovery.disk import plan
from recovery.quadtree import cases as squares
from recovery.thermal import cases
from recovery.thermal.search import search_neighbours


def places(**changed: Any) -> Verbs:
    """Return the mechanism with some of its verbs, or of what the audit knows, changed."""
    known = {name: getattr(recovery.disk.cases, name) for name in dir(recovery.disk.cases)}
    known["list_sweeps"] = lambda full: ()
    verbs: dict[str, Any] = {"plan": plan, "report": disk.report, "release": disk.release}
    for name, value in changed.items():
        (verbs if name in verbs else known)[name] = value
    none: Callable[..., None] = lambda query, releases: None  # noqa: E731
    subject: Any = SimpleNamespace(**known)
    return Verbs("disk", *verbs.values(), none, subject)


def fails(mechanism: Verbs, words: str = "") -> list[Claim]:
    found = finite.claims(mechanism, Effort())
    return [claim for claim in found if not claim.holds and words in claim.sentence]


def test_places_as_they_are_keep_their_promise_everywhere() -> None:
    """Every room, and a family that is enumerated through the draw and the veil."""
    family = [next(iter(recovery.disk.cases.list_sweeps(False)))]
    family = [(family[0][0], family[0][1][:30])]

    assert fails(places(list_sweeps=lambda full: family)) == []


def test_the_worst_ratio_is_over_all_pairs_and_all_answers() -> None:
    """Not over neighbours alone, and an answer that one reading never gives is infinitely far."""
    laws = [{"a": 4, "b": 6}, {"a": 5, "b": 5}, {"a": 8, "b": 2}]
    worst = Worst()
    for law in laws:
        worst.add(law)
    assert worst.find_worst_ratio() == (3, "b")
    assert all(
        max(one[key] / other[key], other[key] / one[key]) < 3
        for one, other in pairwise(laws)
        for key in ("a", "b")
    )

    worst.add({"a": 10})
    assert worst.find_worst_ratio() == (math.inf, "b")


# Runs of equal answers: the exact law of a draw from more numbers than can be tried.

Step = tuple[str, int]


def one_by_one(program: Callable[[Any], Any]) -> dict[Any, int]:
    """Return the law of a program, each number of its draw tried: plain enumeration."""

    class Given:
        value, size = 0, 1

        def below(self, n: int) -> int:
            self.size = n
            return self.value

    given, law = Given(), Counter[Any]()
    while given.value < given.size:
        law[program(given)] += 1
        given.value += 1
    return dict(law)


# What changes a number, and what is asked of it.
PLAIN: dict[str, Callable[[Any, int], Any]] = {
    "+": lambda u, k: u + k,
    "-": lambda u, k: u - k,
    "r-": lambda u, k: k - u,
    "//": lambda u, k: u // (abs(k) + 1),
    "%": lambda u, k: u % (abs(k) + 1),
    "*": lambda u, k: u * k,
    "&": lambda u, k: u & abs(k),
    "int": lambda u, k: int(u),
}
ASKED: dict[str, Callable[[Any, int], Any]] = {
    "<": lambda u, k: u < k,
    "<=": lambda u, k: u <= k,
    ">": lambda u, k: u > k,
    ">=": lambda u, k: u >= k,
    "==": lambda u, k: u == k,
    "!=": lambda u, k: u != k,
    "bool": lambda u, k: bool(u),
    "divmod": lambda u, k: divmod(u, abs(k) + 1)[0],
}
steps = st.lists(st.tuples(st.sampled_from([*PLAIN, *ASKED]), st.integers(-3, 40)), max_size=8)


def worked(value: Any, what: list[Step]) -> Any:
    """Return what a small program makes of a number: each step changes it, or is asked of it."""
    said = []
    for name, k in what:
        if name in PLAIN:
            value = PLAIN[name](value, k)
        else:
            said.append(ASKED[name](value, k))
    return tuple(said), value == 7


@pytest.mark.long
@given(st.integers(1, 300), steps)
@settings(max_examples=400, deadline=None)
def test_a_program_of_any_steps_has_the_law_that_each_number_by_itself_gives(
    size: int, what: list[Step]
) -> None:
    """The proof in `span`, held against plain enumeration."""

    def program(rng: Any) -> Any:
        return worked(rng.below(size), what)

    found = weigh_answers(program)

    assert (found.law, found.broken) == (one_by_one(program), "")


def test_a_span_that_is_asked_what_it_is_is_split() -> None:
    """Words, bits and places in a list are of one number, and never of a Span."""
    whole = Span(0, 99)
    for asked in (str, repr, hash, int, abs, bool, lambda u: [1] * 200 and range(200)[u]):
        with pytest.raises(SplitError):
            asked(whole)
    for name in ("bit_length", "to_bytes", "real"):
        with pytest.raises(SplitError):
            getattr(whole, name)
    with pytest.raises(AttributeError):
        whole.no_such_thing  # noqa: B018


@pytest.mark.parametrize("value", [0, 1, 1999, 2000, 123_456_789, (1 << 60) - 1])
def test_one_number_alone_that_is_answered_otherwise_is_found(value: int) -> None:
    """A back door in one of 2**60 numbers: no sampling would ever hit it."""

    def program(rng: Any) -> str:
        u = rng.below(1 << 60)
        return "door" if u == value else "near" if u < 2000 else "far"

    found = weigh_answers(program)

    assert found.law.get("door") == 1
    assert (sum(found.law.values()), found.broken) == (1 << 60, "")
    assert found.tried < 40


def test_a_program_that_tells_a_span_from_a_number_is_found_at_the_ends() -> None:
    """What the proof does not cover is tried."""

    def program(rng: Any) -> str:
        return "number" if isinstance(rng.below(1000), int) else "span"

    assert weigh_answers(program).broken


def test_a_program_with_more_runs_than_can_be_followed_is_no_law() -> None:
    """It would go on for years, or a part of it would be taken for the whole."""
    assert weigh_answers(lambda rng: int(rng.below(1 << 40)) & 1, most=50).broken


@pytest.mark.parametrize(
    "program",
    [
        lambda rng: rng.below(10) + rng.below(10),  # two draws
        lambda rng: rng.below(10) or rng.below(3),  # sometimes two
        lambda rng: 7,  # none
    ],
)
def test_what_is_no_program_of_one_draw_is_not_taken_for_one(program: Any) -> None:
    """Its law would be wrong without a word."""
    found = weigh_answers(program)

    assert found.broken or found.total != sum(found.law.values()) or not found.total


# What the audit searches for passes no true bound, and every one too small.


# Off a corridor three rooms, whose doors open one after the other.
STAR = Room(
    name="star",
    size_m=(3.0, 2.0),
    height_m=2.5,
    cell_mm=100,
    air=Air(0.013, 0.05, 3.0, 20.0, ((0.0, 20.0),)),
    day=Clock(0.0, 1.5, 120.0),
    sides={name: Side(0.05, ((0.0, 20.0),)) for name in ("north", "south", "west", "east")},
    walls=(
        Wall((0.0, 1.05), (3.0, 1.05), 300.0, "insulation"),
        Wall((1.0, 0.0), (1.0, 0.9), 100.0, "insulation"),
        Wall((2.0, 0.0), (2.0, 0.9), 100.0, "insulation"),
    ),
    doors=tuple(
        Door((0.5 + nth, 1.05), 0.4, 40.0, ((1800.0 * nth, 1800.0 * (nth + 1)),))
        for nth in range(3)
    ),
    furniture=(),
    thermometers=(
        Thermometers(
            "perfect", (*tuple((0.25 + nth / 2, 0.2) for nth in range(6)), (0.5, 1.7), (2.5, 1.7))
        ),
    ),
)


@pytest.mark.long
def test_where_doors_move_a_bound_for_doors_that_stand_is_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So the promise of a gateway's round says that none does, and PRIVACY by how much."""
    monkeypatch.setattr(sensitivity, "PAIRS", 600)
    until_s = STAR.day.until_s
    stand = compute_response(STAR, 0.2, through_walls=False)
    moved = compute_day_response(STAR, 0.2, [until_s], through_walls=False)
    found = sensitivity.find_clearest_paths(STAR, stand, until_s, 2, np.random.default_rng(1))

    assert stand.doors == "no door moving"
    assert round(found.joint, 2) == 1.10
    assert found.joint * stand.changes.joint[0] <= moved.changes.joint[0]
    monkeypatch.setattr(sensitivity, "read_room", lambda plan: STAR)
    own: Any = SimpleNamespace(
        plan="star.toml", name="star", query=SimpleNamespace(response=stand)
    )
    *stands, moves = sensitivity.walks_claims(None, Effort(own=own))
    assert all(claim.holds for claim in stands)
    assert not moves.holds
    assert 1.15 < moves.measured < 1.25  # on one sensor


ROOMS = dict(cases.list_queries())
CORNER = "sensor in the corner"


def test_what_is_found_is_a_pair_of_neighbours() -> None:
    """In the corner there are four cells and one sensor: the worst can be reckoned by hand."""
    query, plan = ROOMS[CORNER], thermal.plan(ROOMS[CORNER], ())
    found = search_neighbours(query, plan, Tape(b"corner"), 20)
    near, far = (
        math.exp(-(distance**2) / 0.04) / math.sqrt(0.04 * math.pi) for distance in (0, 0.25)
    )
    grain = 2.0 ** -Params(*plan.params).exponent

    assert found.square == math.ceil((near - far) / grain) ** 2
    assert found.where.startswith("from cell 2 to cell 3")


def test_counts_become_the_grains_that_are_planned_for() -> None:
    """On devices with an array; and another rounding is seen."""
    assert all(claim.holds for claim in readings.counts_claims(None, Effort()))


# Noise that many devices bring together: known mistakes are planted, and found.


MECHANISM = find_mechanism("quadtree")
Failed = Callable[..., list[str]]


@pytest.fixture
def failed() -> Failed:
    """Return what finds the claims that a mechanism fails in one of the audit's rooms."""

    def find(mechanism: Any, room: int = 0) -> list[str]:
        names = {name: getattr(squares, name) for name in dir(squares)}
        subject = ModuleType("cases")
        subject.__dict__.update(names, list_queries=lambda: [list(squares.list_queries())[room]])
        found = claims(replace(mechanism, subject=subject), Effort())
        return [claim.sentence for claim in found if not claim.holds]

    return find


@pytest.mark.parametrize("room", range(5))
def test_what_devices_really_do_holds(failed: Failed, room: int) -> None:
    """Each room is there for a fault that others hide; without one none is found."""
    assert failed(MECHANISM, room) == []


def of_short_floats(length: int, divisor: int, num: int, den: int, rng: Any) -> list[int]:
    """A gamma number of half precision and a Poisson number of it, as public code has it."""
    world = np.random.default_rng(rng.below(1 << 32))
    q = np.exp(-num / den)
    gamma = [
        world.gamma(1 / divisor, q / (1 - q), length).astype(np.float16).astype(float) // 1
        for _ in range(2)
    ]
    return [int(z) for z in world.poisson(gamma[0]) - world.poisson(gamma[1])]


def of_the_other_chance(length: int, divisor: int, num: int, den: int, rng: Any) -> list[int]:
    """p for 1 - p: of e**(-x) falls 1 - e**(-x), which is another width."""
    other = -np.log(-np.expm1(-num / den))
    return draw_shares(length, divisor, int(other * 10**6), 10**6, rng)


def of_others_missing(length: int, divisor: int, num: int, den: int, rng: Any) -> list[int]:
    """Divided by all that take part, although a tenth may be missing and a tenth collude."""
    return draw_shares(length, divisor + divisor // 3, num, den, rng)


@pytest.mark.parametrize("noise", [of_short_floats, of_the_other_chance, of_others_missing])
def test_noise_of_another_law_is_found(
    failed: Failed, noise: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each ran and looked plausible somewhere."""
    monkeypatch.setattr(device, "draw_shares", noise)

    assert any("noise that hides" in one for one in failed(MECHANISM))


def test_one_who_is_replaced_and_taken_for_one_who_joins_is_found(
    failed: Failed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half the noise that two changed numbers need."""
    once = device.sensitivity
    monkeypatch.setattr(device, "sensitivity", lambda p: once(p._replace(replace=0)))

    assert any("noise that hides" in one for one in failed(MECHANISM, 1))


def test_parts_that_are_rounded_up_each_are_found(
    failed: Failed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More marks than the scale, under noise for the scale."""

    def generous(weights: Any, order: list[int], scale: int, rng: Any) -> list[tuple[int, int]]:
        total = sum(weights.values())
        return [(place, -(-scale * weights[place] // total)) for place in order]

    monkeypatch.setattr(device, "_systematic", generous)

    assert any("one device changes" in one for one in failed(MECHANISM, 3))


def test_a_sum_that_is_opened_although_parts_are_missing_is_found(failed: Failed) -> None:
    """And one that counts a device in two shards."""

    def always(round: Any, payloads: Any, rng: Any) -> Release:
        columns = zip(*(payload[1:] for payload in payloads), strict=True)
        return Release(round, [sum(column) for column in columns], len(payloads))

    found = failed(replace(MECHANISM, release=always))

    assert any("not opened" in one for one in found)
    assert any("two sums" in one for one in found)


def test_a_device_that_believes_what_it_is_told_is_found(
    failed: Failed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The divisor is the owner's, never the gateway's."""
    monkeypatch.setattr(summing, "refusal", lambda *given: "")

    assert any("whatever a gateway says" in one for one in failed(MECHANISM))
