"""The accountant's other path sees each number that is off by a millionth.

That both paths agree is the audit's own claim; `tests/recovery/noise` holds the accountant itself
against dp_accounting.
"""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from edge.core import limits
from edge.core.records import Guarantee
from gateway.audit.arithmetic import accountant, quanta
from gateway.audit.claim import Effort
from physics.air import AIR_J_PER_M3K
from physics.instruments.presets import find
from physics.rooms.records import Air, Clock, Room, Side, Thermometers, Wall


def failed(claims: Any) -> list[str]:
    return [claim.sentence for claim in claims if not claim.holds]


@pytest.mark.parametrize("off", [1 - 1e-8, 1 + 1e-5])
@pytest.mark.parametrize("name", ["gaussian_sigma", "gaussian_epsilon", "zcdp_epsilon"])
def test_a_number_off_by_little_is_rejected(name: str, off: float) -> None:
    """A hundred-millionth too little is no promise, a hundred-thousandth too much is waste."""
    right = getattr(accountant, name)
    other = {
        "gaussian_sigma": lambda e, d: 1 / accountant.decimal_mu(e, d),
        "gaussian_epsilon": lambda s, d: accountant.decimal_epsilon(1 / Decimal(s), d),
        "zcdp_epsilon": accountant.decimal_zcdp_epsilon,
    }[name]
    pairs = [(right(1.0, 1e-5), Decimal(other(1.0, 1e-5)), "")]
    spoilt = [(ours * off, truth, where) for ours, truth, where in pairs]

    assert failed(accountant.claim_accountant("number", pairs)) == []
    assert failed(accountant.claim_accountant("number", spoilt))


def test_an_allowance_may_be_below_the_truth_alone() -> None:
    """rho is what may be spent, so there the safe side is the other one."""
    truth = Decimal(1)

    assert failed(accountant.claim_accountant("rho", [(1 - 1e-9, truth, "")], lower=True)) == []
    assert failed(accountant.claim_accountant("rho", [(1 + 1e-9, truth, "")], lower=True))


@pytest.mark.parametrize("slip", [lambda cost: cost - 1, lambda cost: cost + 1])
def test_a_device_that_reckons_wrongly_is_found(
    monkeypatch: pytest.MonkeyPatch, slip: Any
) -> None:
    """A nano-rho less at each of a billion answers is one rho."""
    assert accountant.claim_charged(Effort()).holds
    monkeypatch.setattr(accountant, "price", lambda *given: slip(limits.price(*given)))

    assert not accountant.claim_charged(Effort()).holds


@pytest.mark.parametrize("times", [1, 24])
def test_a_variance_is_weighed_to_the_last_grain(times: int) -> None:
    """Rounded down it is rejected, however little that is; and so is one in a hundred more."""
    promise = Guarantee((1, 1), (1, 100000), None, "", "", "", "")
    square = Fraction(50_000)
    factor = 1.001 / float(accountant.decimal_mu(1, "0.00001"))
    if times > 1:
        factor = (times / (2 * float(accountant.decimal_zcdp_rho(1, "0.00001")))) ** 0.5
    asked = factor**2 * float(square)
    up = Fraction(int(asked) + 1)

    assert failed(accountant.claim_variance("room", promise, square, up, times)) == []
    assert failed(accountant.claim_variance("room", promise, square, up - 1, times))
    assert failed(accountant.claim_variance("room", promise, square, up * 101 / 100, times))
    assert failed(accountant.claim_variance("room", promise, square, up, times + 1))


# The derivation of its own that the audit holds a room's bound against.

CALM = ((0.0, 20.0),)
HEIGHT_M, PER_H, STEP_S, HOURS = 2.5, 3.0, 60.0, 4.0


def room(*walls: Wall, side_u: float = 0.0, kind: str = "perfect") -> Room:
    """Return a room of 2 m by 1 m whose air is stirred so well that it is one temperature."""
    return Room(
        name="stirred",
        size_m=(2.0, 1.0),
        height_m=HEIGHT_M,
        cell_mm=200,
        air=Air(50.0, PER_H, 1.0, 20.0, CALM),
        day=Clock(0.0, HOURS, STEP_S),
        sides={name: Side(side_u, CALM) for name in ("north", "south", "west", "east")},
        walls=walls,
        doors=(),
        furniture=(),
        thermometers=(Thermometers(kind, ((0.3, 0.4), (1.7, 0.4))),),
    )


def path(at: tuple[float, float], steps: int) -> np.ndarray:
    return np.tile(at, (steps, 1))


@pytest.mark.parametrize("minutes", [5, 20, 240])
def test_stirred_air_warms_by_an_exponential(minutes: int) -> None:
    """P / L (1 - exp(-L t / C)), with L of fresh air and of the four sides."""
    lost = AIR_J_PER_M3K * PER_H / 3600 * 2 * HEIGHT_M + 1.5 * 6 * HEIGHT_M
    held = AIR_J_PER_M3K * 2 * HEIGHT_M
    seconds = 60.0 * minutes
    shown = quanta.trace_warmth(room(side_u=1.5), [path((0.5, 0.5), minutes)], seconds)

    assert shown == pytest.approx((1 - math.exp(-lost * seconds / held)) / lost, rel=4e-3)


def test_a_wall_passes_what_its_resistances_in_a_row_let_through() -> None:
    """Two rooms of .925 m and a wall of 130 mm, drawn as 150: two equations, once steady."""
    wall = Wall((1.0, 0.0), (1.0, 1.0), 130.0, "insulation")
    fresh = AIR_J_PER_M3K * PER_H / 3600 * 0.925 * HEIGHT_M
    through = HEIGHT_M / (0.13 + 0.130 / 0.04 + 0.13)
    steady = np.linalg.solve([[fresh + through, -through], [-through, fresh + through]], [1, 0])
    slow = replace(room(wall), day=Clock(0.0, 24.0, 600.0))
    shown = quanta.trace_warmth(slow, [path((0.5, 0.5), 144)], 86400.0)

    assert shown[0] == pytest.approx(steady, rel=2e-3)


def test_a_thermometer_lags_behind_the_air() -> None:
    """As a first order lag behind an exponential does."""
    lost = AIR_J_PER_M3K * PER_H / 3600 * 2 * HEIGHT_M
    warms_s, lag_s, after_s = 3600 / PER_H, find("ds18b20").lag_s, 600.0
    shown = quanta.trace_warmth(room(kind="ds18b20"), [path((0.5, 0.5), 10)], after_s)[0, 0]
    air = warms_s * math.exp(-after_s / warms_s) - lag_s * math.exp(-after_s / lag_s)

    assert lag_s > 10
    assert shown == pytest.approx((1 - air / (warms_s - lag_s)) / lost, rel=4e-3)
