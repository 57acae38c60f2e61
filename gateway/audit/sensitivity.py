"""Layer: the most that one neighbour can change what is sent, found by trying.

The subject brings a search that shares nothing with the code that plans. It sees noise scaled
to one sensor, to the wrong spread, walls, distance or intensity, a converter left out, a last
column dropped or a first one taken for its neighbour; and noise that is far too much, which
nobody needs. It cannot see a move that it did not try, nor whether noise of the right scale has
the right law.
"""

import math
from collections.abc import Iterator
from typing import Any

from physics.kernel import forward

from .claim import Claim, Effort, at_most

WASTE = 1.02  # noise made for so much more than anything found is noise for nothing


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, that no neighbours differ more than was priced, nor far less."""
    yield _felt()
    for name, query in mechanism.subject.rooms():
        round = mechanism.plan(query, ())
        tape = effort.tape("sensitivity", name)
        found = mechanism.subject.search(query, round, tape, effort.pick(24, 400))
        norm = _norm(mechanism.subject.noise(round)[0])
        yield from scaled(name, norm(mechanism.subject.promised(round)), found, norm)


def scaled(name: str, promised: float, found: Any, norm: Any) -> Iterator[Claim]:
    """Yield that what was found is no more than what was promised, and not far less."""
    change = [abs(b - a) for a, b in zip(found.before, found.after, strict=True)]
    most = norm(sum(d * d for d in change)) if norm is math.sqrt else float(sum(change))
    yield at_most(
        f"{name}: no two neighbours change what is sent by more than the noise is made for",
        promised,
        most,
        unit="grains",
        samples=found.tried,
        detail=found.where,
    )
    if not found.tight:
        return
    yield at_most(
        f"{name}: nor is the noise made for more than two neighbours can do",
        WASTE,
        promised / most if most else math.inf,
        unit="claimed / found",
        samples=found.tried,
    )


def _felt() -> Claim:
    """Hold the warmth that the plan reckons with against a sum of mirror images, one by one.

    Along lines between walls and without, from spreads that hardly reach the next place to those
    at which all is even; in a plane and in a room the same is multiplied, axis by axis.
    """
    worst, where, looked = 0.0, "", 0
    for length in (0.05, 1.0, 4.0, 17.0):
        stands = [length * part for part in (0.0, 0.013, 0.25, 0.5, 0.6, 0.9, 1.0)]
        for walls in ("none", "insulated"):
            for rung in range(-20, 9):
                spread = length**2 * 2.0 ** (rung / 2)
                ours = forward(stands, stands, spread, walls, length)
                for i, x in enumerate(stands):
                    for j, y in enumerate(stands):
                        felt = _line(x, y, spread, length if walls == "insulated" else 0.0)
                        off = abs(ours[i, j] - felt) / max(felt, 1e-6 * ours.max())
                        looked += 1
                        if off > worst:
                            worst, where = off, f"{walls}, {length:g} m, spread {spread:.3g}"
    sides = (4.0, 6.0, 2.5)
    places = [(0.1, 5.9, 2.4), (3.9, 0.0, 1.0), (2.0, 3.0, 0.2)]
    for axes in (2, 3):
        points = [place[:axes] for place in places]
        ours = forward(points, points, 0.7, "insulated", sides[:axes])
        for i, one in enumerate(points):
            for j, other in enumerate(points):
                felt = math.prod(_line(one[k], other[k], 0.7, sides[k]) for k in range(axes))
                worst, looked = max(worst, abs(ours[i, j] - felt) / felt), looked + 1
    return at_most(
        "what a place feels of another is what its mirror images add up to, term by term",
        1e-9,
        worst,
        unit="of the warmth",
        samples=looked,
        detail=where,
    )


def _line(x: float, y: float, spread: float, length: float) -> float:
    """Return what is felt at x of heat at y, between walls so far apart, or without any at 0."""
    reach = math.ceil(math.sqrt(200 * spread) / length) + 2 if length else 0
    terms = [
        math.exp(-((x - image - 2 * shift * length) ** 2) / (4 * spread))
        for shift in range(-reach, reach + 1)
        for image in ((y, -y) if length else (y,))
    ]
    return math.fsum(terms) / math.sqrt(4 * math.pi * spread)


def _norm(family: str) -> Any:
    """Return what takes a stated sensitivity to grains: Gaussians are stated squared."""
    return math.sqrt if family == "dgauss" else float
