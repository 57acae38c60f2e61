"""`heatveil ledger`: what it says adds up, and its epsilon is between what others have proved."""

import json
import math
import random
import re
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy.optimize import brentq
from scipy.stats import norm
from structlog.testing import capture_logs

from gateway.devices.enrol.enrol import load_devices
from gateway.faults import ForgottenFault
from gateway.mechanisms import named
from gateway.service import steps
from gateway.service.intake.outcomes import Again
from gateway.service.ledger import Charge, price
from gateway.settings import config
from gateway.store.store import Store

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


@pytest.mark.long
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


@pytest.fixture
def square(tmp_path: Path, heatveil: Heatveil) -> Path:
    """Return the file of a site of people that asked three of ten answers, epsilon 7 in all."""
    path = tmp_path / "site.toml"
    text = config.sample("disk").replace('epsilon = "7/2"', 'epsilon = "7/1"')
    text = text.replace("readings = 1", "readings = 10").replace("devices = 2000", "devices = 3")
    path.write_text(text.replace("port = 8883", "port = 1883").replace("ca_file", "# ca_file"))
    insecure = path.read_text().replace("# insecure = false", "insecure = true")
    path.write_text(insecure)
    assert heatveil("enrol", "--config", path).status == 0
    deployment = config.load(path)
    query = config.query(deployment)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    store, plan = Store.of(deployment), named("disk").plan(query, [])
    each = price(plan.guarantee)
    for n in (1, 2, 3):
        asked = steps.signed(plan._replace(number=n), n, devices)
        assert store.open_round(asked._replace(planned=asked.name), 10 * each) == ""
    store.close()
    return path


def test_a_pure_promise_is_told_in_epsilon_of_each_device(
    square: Path, heatveil: Heatveil
) -> None:
    """Three answers of 0.7 each are 2.1 of 7: nobody who was promised that knows a rho."""
    said = heatveil("ledger", "--config", square).out
    told = json.loads(heatveil("ledger", "--config", square, "--json").out)

    assert (
        "spent    epsilon 2.1 of 7, and 0.7 an answer, of each device; 7 answers are left" in said
    )
    assert "so far   epsilon 2.1 of 7, which adds up; no delta" in said
    assert len(re.findall(r"round \d .*  epsilon 0.7\b", said)) == 3
    assert "rho" not in said
    assert Fraction(told["spent"]) * Fraction(told["told_of_one_rho"]) == Fraction(21, 10)
    assert (told["unit"], Fraction(told["round"])) == ("rho", Fraction(49, 200))
    assert told["told_in"] == "epsilon"


def test_a_file_that_promises_more_is_refused_in_epsilon(square: Path, heatveil: Heatveil) -> None:
    """And one that promises less is told what it would give up."""
    text = square.read_text()
    square.write_text(text.replace("7/1", "84/10").replace("readings = 10", "readings = 12"))
    more = heatveil("check", square).out
    square.write_text(text.replace("7/1", "35/10").replace("readings = 10", "readings = 5"))
    less = heatveil("check", square).out

    assert "would spend epsilon 8.4 in all, and on its database 7 was promised" in more
    assert "this file promises epsilon 3.5 in all, and 7 was promised before" in less
    assert not re.search(r"\brho\b", more + less)


def test_what_was_lost_is_charged_when_its_number_is_named(kept: Any, heatveil: Heatveil) -> None:
    """Of rounds 3 to 5 the last was found, and its promise states half of what it cost."""
    deployment = config.load(kept.path)
    devices = load_devices(deployment.site.devices, "seen")
    plan = named("thermal").plan(config.query(deployment), [])
    num, den = plan.guarantee.rho
    cheap = plan._replace(guarantee=plan.guarantee._replace(rho=(num, 2 * den)))
    store = Store.of(deployment)
    with capture_logs(), pytest.raises(ForgottenFault):
        store.witness(steps.signed(cheap, 5, devices), "somebody has round 5")
    store.close()
    before = heatveil("ledger", "--config", kept.path, "--json")
    for number, words in ((4, "ends with round 5"), (6, "ends with round 5")):
        refused = heatveil("ledger", "--config", kept.path, "--accept", number)
        assert refused.status == 1
        assert words in refused.err
    checked = heatveil("check", kept.path)
    assert checked.status == 1
    assert "--accept 5" in " ".join(checked.out.split())
    accepted = heatveil("ledger", "--config", kept.path, "--accept", 5, "--json")
    told = json.loads(accepted.out)

    assert "3 rounds that were lost" in accepted.err
    assert [one["round"] for one in told["charges"][:3]] == [5, 4, 3]
    assert Fraction(told["spent"]) == Fraction(json.loads(before.out)["spent"]) + 3 * kept.rho
    assert "nothing" in heatveil("ledger", "--config", kept.path, "--accept", 5).err


def test_rounds_of_another_promise_use_up_their_numbers_alone(
    kept: Any, heatveil: Heatveil
) -> None:
    """A new database for a new promise is nothing forbidden; prices of two are never added up."""
    deployment = config.load(kept.path)
    devices = load_devices(deployment.site.devices, "seen")
    plan = named("thermal").plan(config.query(deployment), [])
    other = plan._replace(guarantee=plan.guarantee._replace(neighbours="another promise"))
    store = Store.of(deployment)
    with capture_logs(), pytest.raises(ForgottenFault):
        store.witness(steps.signed(other, 9, devices), "somebody has round 9")
    store.close()
    before = json.loads(heatveil("ledger", "--config", kept.path, "--json").out)["spent"]
    accepted = heatveil("ledger", "--config", kept.path, "--accept", 9, "--json")

    assert json.loads(accepted.out)["spent"] == before
    assert "another promise" in accepted.err
    store = Store.of(deployment)
    assert store.number_of(b"none") == 10
    store.close()
