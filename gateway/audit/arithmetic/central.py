"""Layer `central`: what one user changes of a release, against the noise that a gateway adds."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from edge.core.noise import dlaplace

from ..claim import Claim, Effort, at_most, true

TAPES = 4  # on which a release is drawn again, each its own noise
USERS = 5  # of whom every crowd is tried


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, what its releases give away and what they add up to.

    A trusted gateway blurs exact numbers. It sees noise that is left out, shared, too small or of
    another law, numbers that one user moves by more than the noise is made for, epsilons that add
    up to more than is promised, and a user who counts twice. It tries every crowd of some inputs
    and every neighbour of it, in exact fractions; between those inputs it sees nothing.
    """
    subject = mechanism.subject
    for name, query in subject.rooms():
        promised, spent = Fraction(*query.epsilon), Fraction(0)
        releases: list[Any] = []
        tried = 0
        while round := mechanism.plan(query, releases):
            payloads = _claim_report(mechanism, round, effort)
            worst, more = _worst(mechanism, round, payloads)
            spent, tried = spent + worst, tried + more
            if not releases:
                yield _claim_drawn(name, mechanism, round, payloads, effort)
                yield _claim_refused(name, mechanism, round, payloads, effort)
            tape = effort.tape("central", name, len(releases))
            releases.append(mechanism.release(round, _crowd(payloads, [0] * USERS), tape))
        yield at_most(
            f"{name}: one user changes all releases together by at most what the noise hides",
            float(promised),
            float(spent),
            unit="epsilon",
            samples=tried,
            detail="" if spent <= promised else f"{spent} where {promised} is promised",
        )
        yield true(
            f"{name}: the releases are as many as the promise is for",
            0 < len(releases) <= subject.readings(query),
            samples=1,
        )


def _claim_report(mechanism: Any, round: Any, effort: Effort) -> list[list[int]]:
    """Return what a device tells of each input; it must not depend on a random bit."""
    tape = effort.tape("central", "report")
    return [mechanism.report(round, reading, tape) for reading in mechanism.subject.inputs(round)]


def _crowd(payloads: Sequence[Sequence[int]], inputs: Sequence[int]) -> list[list[int]]:
    """Return the payloads of a user an input, each of a sensor of its own."""
    return [[user, *payloads[at][1:]] for user, at in enumerate(inputs)]


def _worst(mechanism: Any, round: Any, payloads: Sequence[Sequence[int]]) -> tuple[Fraction, int]:
    """Return the most that one user changes, in scales of the noise, and how many were tried.

        sum over numbers of |change| / scale,

    which is the epsilon that one release gives away to whoever knows all others.
    """
    subject = mechanism.subject
    scales = [Fraction(*scale) for scale in subject.noise(round)]
    seen = {
        crowd: subject.gathered(round, _crowd(payloads, crowd))
        for crowd in combinations_with_replacement(range(len(payloads)), USERS)
    }
    absent = subject.absent(round)
    worst, tried = Fraction(0), 0
    for crowd, before in seen.items():
        for user in range(USERS):
            for other in range(len(payloads)) if absent is None else [absent]:
                after = seen[tuple(sorted((*crowd[:user], other, *crowd[user + 1 :])))]
                tried += 1
                moved = zip(before, after, scales, strict=True)
                worst = max(worst, sum((abs(a - b) / s for a, b, s in moved), Fraction(0)))
    return worst, tried


def _claim_drawn(
    name: str, mechanism: Any, round: Any, payloads: Sequence[Sequence[int]], effort: Effort
) -> Claim:
    """Return the claim that a release is its exact numbers, each with a draw of its own.

    Draw for draw from the same tape, so that nothing rests on chance; the law of the sampler
    itself is held by layers of its own. Which numbers those are must follow from what is
    released: were they chosen by exact ones, the choice would tell of these without noise.
    """
    crowd = _crowd(payloads, [user % len(payloads) for user in range(USERS)])
    exact, off = mechanism.subject.gathered(round, crowd), 0
    for tape in range(TAPES):
        one, other = (effort.tape("central", name, "noise", tape) for _ in range(2))
        found = mechanism.release(round, crowd, one).values
        scales = mechanism.subject.noise(round)
        meant = [
            exact[at] + dlaplace(scales[at][0], scales[at][1], other)
            for at in mechanism.subject.released(round, found)
        ]
        off += list(found) != meant
    return true(
        f"{name}: a release is its exact numbers, each with its own draw of discrete Laplace",
        not off,
        samples=TAPES * len(exact),
        detail=f"on {off} of {TAPES} tapes it is something else" if off else "",
    )


def _claim_refused(
    name: str, mechanism: Any, round: Any, payloads: Sequence[Sequence[int]], effort: Effort
) -> Claim:
    """Return the claim that nobody counts twice, and no number moves more than a user may."""
    crowd = _crowd(payloads, [0] * USERS)
    bent = [[*crowd, crowd[0]], [*crowd[1:], [0, *([10**30] * (len(crowd[0]) - 1))]]]
    bent += [[*crowd[1:], [0, *crowd[0][1:], *crowd[0][1:]]], [*crowd[1:], [0, *([-1] * 99)]]]
    bent += [[*crowd[1:], [*crowd[0][:-1], number]] for number in (-(10**9), 10**30)]
    taken = 0
    for payload in bent:
        try:
            mechanism.release(round, payload, effort.tape("central", name, "refused"))
        except ValueError:
            continue
        taken += 1
    return true(
        f"{name}: a user who speaks twice, or of what no Round asks, is not released",
        not taken,
        samples=len(bent),
        detail=f"{taken} of {len(bent)} were taken" if taken else "",
    )
