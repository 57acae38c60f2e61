"""`heatveil ledger`: what it says adds up, and its epsilon is between what others have proved."""

import json
import math
import random
import re
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from gateway import config
from gateway.intake.outcomes import Again
from gateway.ledger import Charge
from gateway.storage.store import Store

Heatveil = Callable[..., Any]


def exact(rho: float, delta: float) -> float:
    """Return the epsilon of one Gaussian of this rho: nobody may claim less for it.

    Source: Balle and Wang 2018, Theorem 8, with mu = sqrt(2 rho).
    """
    mu = math.sqrt(2 * rho)

    def above(epsilon: float) -> float:
        tail = math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)
        return float(norm.cdf(mu / 2 - epsilon / mu) - tail - delta)

    return float(brentq(above, 0, 50))


def classic(rho: float, delta: float) -> float:
    """Return the epsilon that rho implies at the worst: nobody need claim more.

    Source: Bun and Steinke 2016, Proposition 1.3.
    """
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def test_epsilon_so_far_is_between_the_gaussian_and_the_classic_bound(
    kept: Any, heatveil: Heatveil
) -> None:
    """Of two rounds and a half, at the delta of the file."""
    told = json.loads(heatveil("ledger", "--config", kept.path, "--json").out)
    rho, delta = float(Fraction(told["spent"])), float(Fraction(told["delta"]))

    assert exact(rho, delta) <= told["epsilon_spent"] <= classic(rho, delta)
    assert told["epsilon_spent"] <= float(Fraction(told["epsilon"]))


@pytest.mark.parametrize("seed", range(3))
def test_whatever_was_charged_the_ledger_is_its_sum(
    kept: Any, heatveil: Heatveil, seed: int
) -> None:
    """The fleet's charges, and of what devices said besides the greatest: added by hand here."""
    world, store = random.Random(seed), Store.of(config.load(kept.path))
    name = bytes(4)
    for _ in range(30):
        rho = Fraction(world.randrange(1, 1000), world.randrange(10**6, 10**7))
        own = Charge(rho, f"node-{world.randrange(6)}")
        store.keep((), extra=[Again(name, own, world.randbytes(8))])
    store.close()
    told = json.loads(heatveil("ledger", "--config", kept.path, "--json").out)
    fleet, by_device = Fraction(0), defaultdict(Fraction)
    for one in told["charges"]:
        if one["device"]:
            by_device[one["device"]] += Fraction(one["rho"])
        else:
            fleet += Fraction(one["rho"])

    assert len(told["charges"]) == 33
    assert Fraction(told["spent"]) == fleet + max(by_device.values())
    assert Fraction(told["left"]) == max(Fraction(told["budget"]) - Fraction(told["spent"]), 0)


def test_words_and_numbers_are_of_the_same_ledger(kept: Any, heatveil: Heatveil) -> None:
    """To the digits that are shown."""
    told = json.loads(heatveil("ledger", "--config", kept.path, "--json").out)
    words = heatveil("ledger", "--config", kept.path).out
    spent, budget, each = map(float, re.findall(r"spent +rho (\S+) of (\S+), and (\S+)", words)[0])

    for shown, key in ((spent, "spent"), (budget, "budget"), (each, "round")):
        assert math.isclose(shown, float(Fraction(told[key])), rel_tol=1e-5)


@pytest.mark.parametrize("limit", [0, 1, 2, 50])
def test_so_many_rounds_are_listed_and_the_rest_is_named(
    kept: Any, heatveil: Heatveil, limit: int
) -> None:
    """Nothing is left out in silence; in JSON nothing is left out."""
    lines = heatveil("ledger", "--config", kept.path, "--limit", limit).out.splitlines()[4:]
    told = json.loads(heatveil("ledger", "--config", kept.path, "--limit", limit, "--json").out)

    assert sum("  round " in line for line in lines) == min(limit, 2)
    assert any(f"and {2 - limit} rounds before" in line for line in lines) == (limit < 2)
    assert len(told["charges"]) == 3
