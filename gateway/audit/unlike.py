"""How unlike the exact laws of two readings are, at worst: over all pairs, and all answers."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from .bounds import ONE, decay
from .claim import Claim, true

Law = dict[Any, int]


class Worst:
    """The greatest and the least weight of each answer, over all readings of a round."""

    def __init__(self) -> None:
        self._answers: list[Any] = []
        self._most: list[int] = []
        self._least: list[int] = []
        self._missing: list[Any] = []  # answers that some readings have and others have not

    def add(self, law: Law) -> None:
        """Take in the law of one reading."""
        if not self._answers:
            self._answers = list(law)
            self._most = self._least = list(law.values())
            return
        self._missing += law.keys() ^ set(self._answers)
        weights = [law.get(answer, 0) for answer in self._answers]
        self._most = list(map(max, self._most, weights))
        self._least = list(map(min, self._least, weights))

    def ratio(self) -> tuple[Fraction | float, Any]:
        """Return the worst ratio of two readings' weights, and for which answer."""
        if self._missing:
            return math.inf, self._missing[0]
        pairs = dict(zip(zip(self._most, self._least, strict=True), self._answers, strict=True))
        (most, least), answer = max(pairs.items(), key=lambda pair: Fraction(*pair[0]))
        return Fraction(most, least), answer


class Family:
    """What was seen of rounds that promise the same."""

    def __init__(self, name: str, epsilon: Fraction) -> None:
        self.name, self.epsilon = name, epsilon
        self.samples = 0
        self.worst: Fraction | float = 0
        self.where = self.broken = self.unlike = ""

    def seen(self, name: str, found: Worst, samples: int) -> None:
        """Take in one round."""
        self.samples += samples
        ratio, answer = found.ratio()
        if ratio > self.worst:
            self.worst, self.where = ratio, f"{name}the answer {answer}"

    def claims(self) -> Iterator[Claim]:
        """Yield what holds of all of them."""
        yield true(
            f"{self.name}: every answer to every cell was found, and the weights add up",
            not self.broken,
            samples=self.samples,
            detail=self.broken,
        )
        yield true(
            f"{self.name}: each answer has the very weight that maps are drawn with",
            not self.unlike,
            samples=self.samples,
            detail=self.unlike,
        )
        # exp(epsilon) from below, so that the comparison is a proof.
        most = Fraction(ONE, decay(self.epsilon.numerator, self.epsilon.denominator).high)
        finite = 0 < self.worst < math.inf
        yield Claim(
            f"{self.name}: no answer is likelier for one cell than for another by more than "
            "exp(epsilon)",
            float(self.epsilon),
            math.log(self.worst) if finite else float(self.worst),
            self.worst <= most,
            unit="epsilon",
            samples=self.samples,
            detail=self.where,
        )
