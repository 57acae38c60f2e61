"""What a deployment has spent of its privacy: `heatveil ledger`, exact to the fraction."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from recovery.maps.guarantee import ratio_text

from .. import config
from ..currency import Unit
from ..deployment import Deployment
from ..ledger import Ledger, price
from ..serves.table import first, of
from ..terms import unit_of
from .stored import reading

ALL = 1_000_000_000


def ledger(path: Path, limit: int, as_json: bool, say: Callable[[str], None]) -> None:
    """Print what was promised, what is spent and what is left.

    Args:
        limit: rounds whose charges are listed, the newest; in JSON all of them.

    Raises:
        OperatorFault: the deployment or its store cannot be read.
    """
    deployment = config.load(path)
    plan = first(deployment, config.query(deployment))
    rho = price(plan.guarantee)
    budget = rho * deployment.privacy.readings
    with reading(deployment) as reader:
        standing: Ledger = reader.ledger(budget)
        charges = reader.charges(ALL)
        promised, least = reader.promise()
    budget = min(budget, least or budget)  # what was promised once is not raised by a file
    standing = Ledger(budget, standing.charges)
    if as_json:
        told = _exactly(deployment, standing, rho, plan, charges)
        say(json.dumps(told | {"promised": None if promised is None else json.loads(promised)}))
        return
    for line in _in_words(deployment, standing, rho, plan):
        say(line)
    for line in _charges(charges, limit, unit_of(plan.guarantee)):
        say(line)


def _epsilon(deployment: Deployment, standing: Ledger, plan: Any) -> float:
    at, promised = of(deployment).delta(plan), float(Fraction(*plan.guarantee.epsilon))
    whole = price(plan.guarantee) * deployment.privacy.readings
    return standing.epsilon(at, promised, whole)


def _delta(guarantee: Any) -> str | None:
    return None if guarantee.delta is None else ratio_text(guarantee.delta)


def _in_words(deployment: Deployment, standing: Ledger, rho: Fraction, plan: Any) -> Sequence[str]:
    guarantee = plan.guarantee
    left = int(standing.left / rho)
    share = float(standing.spent / standing.budget)
    end = "Nothing more is asked." if not left else f"{left} more can be paid for."
    unit = unit_of(guarantee)
    return [
        f"Site {deployment.site.name}: {share:.1%} of the promise is spent. {end}",
        f"spent    {unit.said(standing.spent, 6)} of {float(unit.of(standing.budget)):.6g}, and "
        f"{float(unit.of(rho)):.6g} "
        + (f"an answer, of each device; {_answers(left)} left" if unit.is_epsilon else "a round"),
        f"so far   epsilon {_epsilon(deployment, standing, plan):.4g} of "
        f"{ratio_text(guarantee.epsilon)}"
        + (f" at delta {delta}" if (delta := _delta(guarantee)) else ", which adds up; no delta"),
        f"promise  {guarantee.neighbours}; trust: {guarantee.trust}",
    ]


def _answers(count: int) -> str:
    return "1 answer is" if count == 1 else f"{count} answers are"


def _charges(charges: Sequence[Any], limit: int, unit: Unit) -> Sequence[str]:
    """Return the charges round by round, the newest first."""
    lines, rounds = [], defaultdict(list)
    for one in charges:
        rounds[one.number or 0].append(one)
    for number, rows in sorted(rounds.items(), reverse=True)[:limit]:
        fleet = sum((one.rho for one in rows if not one.device), Fraction(0))
        again: dict[str, Fraction] = defaultdict(Fraction)
        for one in rows:
            if one.device:
                again[one.device] += one.rho
        asked = datetime.fromtimestamp(min(one.at_s for one in rows), UTC)
        twice = f", and {len(again)} devices that answered it again" if again else ""
        lines.append(
            f"  round {number:<6} {asked:%Y-%m-%d %H:%M} UTC  {unit.exactly(fleet)}{twice}"
        )
    if len(rounds) > limit:
        lines.append(f"  and {len(rounds) - limit} rounds before; --limit shows more")
    return lines


def _exactly(
    deployment: Deployment,
    standing: Ledger,
    rho: Fraction,
    plan: Any,
    charges: Sequence[Any],
) -> dict[str, Any]:
    """Return everything as fractions, num/den, that add up without loss.

    In rho, whatever was promised; what people are told in stands beside it as `unit`, with how
    much of that one rho is.
    """
    guarantee, unit = plan.guarantee, unit_of(plan.guarantee)
    return {
        "site": deployment.site.name,
        "budget": str(standing.budget),
        "spent": str(standing.spent),
        "left": str(standing.left),
        "round": str(rho),
        "unit": unit.name,
        "unit_of_one_rho": str(unit.of_one),
        "rounds_left": int(standing.left / rho),
        "epsilon": ratio_text(guarantee.epsilon),
        "delta": _delta(guarantee),
        "epsilon_spent": _epsilon(deployment, standing, plan),
        "charges": [
            {"round": one.number, "device": one.device, "rho": str(one.rho), "at_s": one.at_s}
            for one in charges
        ],
    }
