"""Places are audited cell by cell and answer by answer, from the exact law of one draw.

`tests/mutants` plants mistakes in the device's half and in the plan.
"""

import math
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recovery.disk.cases
from edge.mechanisms import disk
from gateway.audit.arithmetic import finite
from gateway.audit.arithmetic.finite import Span, SplitError, Worst, weigh
from gateway.audit.claim import Claim, Effort
from gateway.mechanisms import Verbs
from recovery.disk import plan


def places(**changed: Any) -> Verbs:
    """Return the mechanism with some of its verbs, or of what the audit knows, changed."""
    known = {name: getattr(recovery.disk.cases, name) for name in dir(recovery.disk.cases)}
    known["sweeps"] = lambda full: ()
    verbs: dict[str, Any] = {"plan": plan, "report": disk.report, "release": disk.release}
    for name, value in changed.items():
        (verbs if name in verbs else known)[name] = value
    none: Callable[..., None] = lambda query, releases: None  # noqa: E731
    subject: Any = SimpleNamespace(**known)
    return Verbs("disk", *verbs.values(), none, subject)


def failed(mechanism: Verbs, words: str = "") -> list[Claim]:
    found = finite.claims(mechanism, Effort())
    return [claim for claim in found if not claim.holds and words in claim.sentence]


def test_places_as_they_are_keep_their_promise_everywhere() -> None:
    """Every room, and a family that is enumerated through the draw and the veil."""
    family = [next(iter(recovery.disk.cases.sweeps(False)))]
    family = [(family[0][0], family[0][1][:30])]

    assert failed(places(sweeps=lambda full: family)) == []


def test_the_worst_ratio_is_over_all_pairs_and_all_answers() -> None:
    """Not over neighbours alone, and an answer that one reading never gives is infinitely far."""
    laws = [{"a": 4, "b": 6}, {"a": 5, "b": 5}, {"a": 8, "b": 2}]
    worst = Worst()
    for law in laws:
        worst.add(law)
    assert worst.ratio() == (3, "b")
    assert all(
        max(one[key] / other[key], other[key] / one[key]) < 3
        for one, other in pairwise(laws)
        for key in ("a", "b")
    )

    worst.add({"a": 10})
    assert worst.ratio() == (math.inf, "b")


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
steps = st.lists(
    st.tuples(
        st.sampled_from([*PLAIN, *ASKED]),
        st.integers(-3, 40),
    ),
    max_size=8,
)


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

    found = weigh(program)

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

    found = weigh(program)

    assert found.law.get("door") == 1
    assert (sum(found.law.values()), found.broken) == (1 << 60, "")
    assert found.tried < 40


def test_a_program_that_tells_a_span_from_a_number_is_found_at_the_ends() -> None:
    """What the proof does not cover is tried."""

    def program(rng: Any) -> str:
        return "number" if isinstance(rng.below(1000), int) else "span"

    assert weigh(program).broken


def test_a_program_with_more_runs_than_can_be_followed_is_no_law() -> None:
    """It would go on for years, or a part of it would be taken for the whole."""
    assert weigh(lambda rng: int(rng.below(1 << 40)) & 1, most=50).broken


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
    found = weigh(program)

    assert found.broken or found.total != sum(found.law.values()) or not found.total
