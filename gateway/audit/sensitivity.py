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

from .claim import Claim, Effort, at_most

WASTE = 1.02  # noise made for so much more than anything found is noise for nothing


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, that no neighbours differ more than was priced, nor far less."""
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
    yield at_most(
        f"{name}: nor is the noise made for more than two neighbours can do",
        WASTE,
        promised / most if most else math.inf,
        unit="claimed / found",
        samples=found.tried,
    )


def _norm(family: str) -> Any:
    """Return what takes a stated sensitivity to grains: Gaussians are stated squared."""
    return math.sqrt if family == "dgauss" else float
