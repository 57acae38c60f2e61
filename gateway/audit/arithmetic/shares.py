"""Layers `shares`, `mixed` and `central`: what one changes of a sum, against the noise in it.

The noise is what many devices bring together, or what a trusted gateway draws.
"""

import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from math import exp, log
from typing import Any

from scipy.stats import chi2

from edge.core.noise import dlaplace
from edge.core.records import Grid, Round
from edge.mechanisms import module_of, summing
from physics.crowds import shuffle

from ..claim import Claim, Effort, claim_at_most, claim_fact, claim_none, is_refused

FALSE_ALARM = 1e-9
HEAD = 10  # params that all sums have, before what a mechanism adds
REPEATS = 120  # reports of each device by which the noise of a sum is judged
TAPES = 12  # on which each input is told


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, what a sum gives away, and what is not answered or opened.

    What one device changes is found by trying all inputs on tapes where its noise is the same;
    noise is that of the fewest honest devices whose sum is opened, and is held against the law
    that follows from both. It sees a part of noise that is missing, one-sided, or too narrow, a
    change that is taken for half of what it is, a sum that is opened too soon, a device that is
    in two shards, and one that believes a divisor that it is told.
    """
    subject = mechanism.subject
    for name, query in subject.list_queries():
        round = mechanism.plan(query, [])
        epsilon = Fraction(round.params[2], round.params[3])
        most = _find_largest_change(mechanism, query, round, effort)
        sentence = f"{name}: what one device changes is hidden for the epsilon of the round"
        yield claim_at_most(sentence, epsilon, most, samples=TAPES)
        sentence = f"{name}: a sum that is opened has the noise that hides one device"
        yield _claim_noise(sentence, _draw_sum_noise(mechanism, query, round, effort))
        yield from _claim_refused(name, mechanism, query, round, effort)


# Four cells below one square; 2 parts a user, epsilon 2, of which the levels have 3 and 2 parts.
MIXED = (2, 1, 4, 0, 2, 1, 3, 2)
USERS = 20
MIXED_SUMS = (40, 20, 20, 0, 0)
MIXED_DELTA = 1e-6
MIXED_RATES = (Fraction(2 * 3, 2 * 5), *[Fraction(2 * 2, 2 * 5)] * 4)


def mixed_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what comes out of a shuffler, where users bring the noise that a gateway else draws.

    Twenty users stand in two of four cells. What the analyst adds up is held against their exact
    sums and the law that the promise asks for; how many shares there are, against the bound that
    Balle and others (2020) prove. It sees noise of one side, noise for parts that were not
    scaled, noise that is not in what is sent, a modulus that sums wrap around, and few shares.
    """
    round: Any = Round(1, shuffle.NAME, Grid((2, 2), 0), MIXED, None)
    modulus, tape, noise = shuffle.choose_modulus(round, USERS), effort.tape("mixed"), []
    epsilon, many = MIXED[4] / MIXED[5], len(MIXED_SUMS)
    split, least = shuffle.count_shares(epsilon, many, USERS, MIXED_DELTA, modulus), 1 << 30
    for _ in range(REPEATS):
        mixed = [
            message
            for user in range(USERS)
            for message in shuffle.make_messages(
                round, [user, user % 2, 2], USERS, split, modulus, tape
            )
        ]
        least = min(least, len(mixed) // (USERS * many))
        found = shuffle.analyse(round, mixed[::-1], modulus, USERS).values
        noise.append([value - exact for value, exact in zip(found, MIXED_SUMS, strict=True)])
    for level, places in (("the whole", [0]), ("its quarters", [1, 2, 3, 4])):
        own = {MIXED_RATES[places[0]]: [row[at] for row in noise for at in places]}
        yield _claim_noise(f"a shuffler's sums of {level} have all of their noise", own)
    # How far shares of two sets of values with one sum are apart, r of them modulo q from n users:
    # exp(-s) with 2 s = (r - 2) (ln n - 1) - ln q, for each of all sums, in both directions.
    apart = exp(-((least - 2) * (log(USERS) - 1) - log(modulus)) / 2)
    yield claim_at_most(
        "a shuffler's shares tell more than their sums at most with the chance delta",
        MIXED_DELTA,
        many * (exp(epsilon) + 1) * apart,
        unit="delta",
        samples=REPEATS,
    )


def _find_largest_change(mechanism: Any, query: Any, round: Any, effort: Effort) -> Fraction:
    """Return by how much one device changes all numbers together, each at its rate, by trying."""
    subject, size, most = mechanism.subject, 1 << round.params[7], Fraction(0)
    rates = subject.list_rates(query, round)
    nothing, reading = subject.make_silent(round, len(round.params) - HEAD)
    for tape in range(TAPES):
        # Alike but for what is read: the same noise.
        told = [
            mechanism.report(round, reading, effort.tape("shares", "told", tape))[1:]
            for reading in subject.list_readings(round)
        ]
        same = effort.tape("shares", "told", tape)
        silent = mechanism.report(nothing, reading, same)
        for one, other in product(told, told if subject.is_replacement(query) else [silent[1:]]):
            off = [(a - b) % size for a, b in zip(one, other, strict=True)]
            far = [min(z, size - z) for z in off]
            most = max(most, sum(map(operator.mul, rates, far), Fraction(0)))
    return most


def _draw_sum_noise(
    mechanism: Any, query: Any, round: Any, effort: Effort
) -> dict[Fraction, list[int]]:
    """Return the noise of sums over the fewest honest devices that are opened, for each rate."""
    subject, size = mechanism.subject, 1 << round.params[7]
    (nothing, reading), tape = subject.make_silent(round, 85), effort.tape("shares", "noise")
    honest, found = round.params[5] - round.params[6], dict[Fraction, list[int]]()
    for _ in range(REPEATS):
        told = [mechanism.report(nothing, reading, tape)[1:] for _ in range(honest)]
        for rate, *numbers in zip(subject.list_rates(query, nothing), *told, strict=True):
            z = sum(numbers) % size
            found.setdefault(rate, []).append(z - size if 2 * z >= size else z)
    return found


def _make_bent_rounds(round: Any) -> Iterator[tuple[str, Any]]:
    """Yield Rounds that ask for more than this one, each with what is wrong in it."""
    params = round.params
    for words, at, value in (
        ("a divisor that the gateway chose", 5, 10**6),
        ("one more who shares the noise", 5, params[5] + 1),
        ("fewer who collude than were agreed", 6, params[6] - 1),
        ("more epsilon than there is", 2, 100 * params[2] * params[3]),
        ("noise of nobody", 5, params[6]),
        *[("noise for who joins, not for who moves", 1, 0)] * bool(params[1]),
    ):
        yield words, round._replace(params=(*params[:at], value, *params[at + 1 :]))


def _claim_refused(
    name: str, mechanism: Any, query: Any, round: Any, effort: Effort
) -> Iterator[Claim]:
    subject, tape = mechanism.subject, effort.tape("shares", "refused")
    reading, (shards, threshold, colluders) = subject.list_readings(round)[0], round.params[4:7]
    # All of one shard, and one less.
    told = mechanism.report(round, reading, tape)[1:]
    shard = [[shards * member, *told] for member in range(threshold)]
    opened = mechanism.release(round, shard, tape).reports
    short = mechanism.release(round, shard[1:], tape)
    yield claim_fact(
        f"{name}: a sum of fewer reports than the threshold is not opened",
        opened == threshold and short.reports == 0 and not any(short.values),
        samples=2,
    )
    refuses = is_refused(lambda: mechanism.release(round, [*shard, shard[0]], tape))
    yield claim_fact(f"{name}: no device is in two sums", refuses, samples=1)
    device = module_of(mechanism.name)

    def refused(asked: Any, newest: int = -1) -> str:
        own = query.epsilon, int(subject.is_replacement(query)), threshold - colluders, colluders
        return device.objection(asked) or summing.refusal(
            device.params_of(asked), asked.number, newest, *own
        )

    asked = [*_make_bent_rounds(round), *subject.list_bad_rounds(round)]
    answered = [words for words, bent in asked if not refused(bent)]
    good = not refused(round)
    answered += ["the same round again"] * (not refused(round, round.number))
    yield claim_fact(
        f"{name}: a device answers what was agreed, once, whatever a gateway says",
        good and not answered,
        samples=2 + len(asked),
        detail=", ".join(answered),
    )


def _claim_noise(sentence: str, drawn: dict[Fraction, list[int]]) -> Claim:
    """Return the claim that noise has, for each rate, the law of discrete Laplace."""
    chance = min(_compute_p_value(noise, float(rate)) for rate, noise in drawn.items())
    fits, samples = chance > FALSE_ALARM, sum(map(len, drawn.values()))
    detail = "" if fits else f"such noise has a chance of {chance:.2g}"
    return claim_fact(sentence, fits, samples=samples, detail=detail)


def _compute_p_value(noise: list[int], rate: float) -> float:
    """Return the p-value of Pearson's chi-square against discrete Laplace of this rate."""
    q, seen = exp(-rate), Counter(noise)
    statistic, cells, rest, left = 0.0, 0, float(len(noise)), len(noise)
    for z in range(-int(40 / rate) - 1, int(40 / rate) + 2):
        expected = len(noise) * (1 - q) / (1 + q) * q ** abs(z)
        if expected >= 20:
            statistic += (seen[z] - expected) ** 2 / expected
            cells, rest, left = cells + 1, rest - expected, left - seen[z]
    statistic += (left - rest) ** 2 / max(rest, 1.0)
    return float(chi2.sf(statistic, cells))


# Layer `central`: what one user changes of a release, against the noise that a gateway adds.

DRAWS = 4  # tapes on which a release is drawn again, each with its own noise
CROWD = 5  # of whom every crowd is tried


def central_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, what its releases give away and what they add up to.

    A trusted gateway blurs exact numbers. It sees noise that is left out, shared, too small or of
    another law, numbers that one user moves by more than the noise is made for, epsilons that add
    up to more than is promised, and a user who counts twice. It tries every crowd of some inputs
    and every neighbour of it, in exact fractions; between those inputs it sees nothing.
    """
    subject = mechanism.subject
    for name, query in subject.list_queries():
        promised, spent = Fraction(*query.epsilon), Fraction(0)
        releases: list[Any] = []
        tried = 0
        while round := mechanism.plan(query, releases):
            payloads = _claim_report(mechanism, round, effort)
            worst, more = _find_worst_epsilon(mechanism, round, payloads)
            spent, tried = spent + worst, tried + more
            if not releases:
                yield _claim_drawn(name, mechanism, round, payloads, effort)
                yield _claim_bent(name, mechanism, round, payloads, effort)
            tape = effort.tape("central", name, len(releases))
            releases.append(mechanism.release(round, _make_crowd(payloads, [0] * CROWD), tape))
        yield claim_at_most(
            f"{name}: one user changes all releases together by at most what the noise hides",
            promised,
            spent,
            unit="epsilon",
            samples=tried,
            detail="" if spent <= promised else f"{spent} where {promised} is promised",
        )
        sentence = f"{name}: the releases are as many as the promise is for"
        yield claim_fact(sentence, 0 < len(releases) <= query.readings, samples=1)


def _claim_report(mechanism: Any, round: Any, effort: Effort) -> list[list[int]]:
    """Return what a device tells of each input; it must not depend on a random bit."""
    tape = effort.tape("central", "report")
    return [
        mechanism.report(round, reading, tape)
        for reading in mechanism.subject.list_readings(round)
    ]


def _make_crowd(payloads: Sequence[Sequence[int]], inputs: Sequence[int]) -> list[list[int]]:
    """Return the payloads of a user an input, each of a sensor of its own."""
    return [[user, *payloads[at][1:]] for user, at in enumerate(inputs)]


def _find_worst_epsilon(
    mechanism: Any, round: Any, payloads: Sequence[Sequence[int]]
) -> tuple[Fraction, int]:
    """Return the most that one user changes, in scales of the noise, and how many were tried.

        sum over numbers of |change| / scale,

    which is the epsilon that one release gives away to whoever knows all others.
    """
    subject = mechanism.subject
    scales = [Fraction(*scale) for scale in subject.list_scales(round)]
    seen = {
        crowd: subject.compute_sums(round, _make_crowd(payloads, crowd))
        for crowd in combinations_with_replacement(range(len(payloads)), CROWD)
    }
    absent = subject.find_absent(round)
    worst, tried = Fraction(0), 0
    for crowd, before in seen.items():
        for user in range(CROWD):
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
    crowd = _make_crowd(payloads, [user % len(payloads) for user in range(CROWD)])
    exact, off = mechanism.subject.compute_sums(round, crowd), 0
    for tape in range(DRAWS):
        one, other = (effort.tape("central", name, "noise", tape) for _ in range(2))
        found = mechanism.release(round, crowd, one).values
        scales = mechanism.subject.list_scales(round)
        meant = [
            exact[at] + dlaplace(scales[at][0], scales[at][1], other)
            for at in mechanism.subject.choose_released(round, found)
        ]
        off += list(found) != meant
    return claim_fact(
        f"{name}: a release is its exact numbers, each with its own draw of discrete Laplace",
        not off,
        samples=DRAWS * len(exact),
        detail=f"on {off} of {DRAWS} tapes it is something else" if off else "",
    )


def _claim_bent(
    name: str, mechanism: Any, round: Any, payloads: Sequence[Sequence[int]], effort: Effort
) -> Claim:
    """Return the claim that nobody counts twice, and no number moves more than a user may."""
    crowd = _make_crowd(payloads, [0] * CROWD)
    bent = [[*crowd, crowd[0]], [*crowd[1:], [0, *([10**30] * (len(crowd[0]) - 1))]]]
    bent += [[*crowd[1:], [0, *crowd[0][1:], *crowd[0][1:]]], [*crowd[1:], [0, *([-1] * 99)]]]
    bent += [[*crowd[1:], [*crowd[0][:-1], number]] for number in (-(10**9), 10**30)]
    tape = effort.tape("central", name, "refused")
    taken = sum(not is_refused(partial(mechanism.release, round, one, tape)) for one in bent)
    sentence = f"{name}: a user who speaks twice, or of what no Round asks, is not released"
    return claim_none(sentence, taken, samples=len(bent))
