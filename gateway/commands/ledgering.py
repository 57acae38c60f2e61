"""What a deployment has spent of its privacy: `heatveil ledger`, exact to the fraction."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from recovery.guarantee import ratio_text
from recovery.thermal_tables import priced_delta

from .. import config
from ..deployment import Deployment
from ..ledger import Ledger, price
from .choices import first_round
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
    plan = first_round(config.query(deployment))
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
    for line in _charges(charges, limit):
        say(line)


def _epsilon(standing: Ledger, plan: Any) -> float:
    return standing.epsilon(priced_delta(plan), float(Fraction(*plan.guarantee.epsilon)))


def _in_words(deployment: Deployment, standing: Ledger, rho: Fraction, plan: Any) -> Sequence[str]:
    guarantee = plan.guarantee
    left = int(standing.left / rho)
    share = float(standing.spent / standing.budget)
    end = "Nothing more is asked." if not left else f"{left} more can be paid for."
    return [
        f"Site {deployment.site.name}: {share:.1%} of the promise is spent. {end}",
        f"spent    rho {float(standing.spent):.6g} of {float(standing.budget):.6g}, and "
        f"{float(rho):.6g} a round",
        f"so far   epsilon {_epsilon(standing, plan):.4g} of {ratio_text(guarantee.epsilon)} "
        f"at delta {ratio_text(guarantee.delta)}",
        f"promise  {guarantee.neighbours}; trust: {guarantee.trust}",
    ]


def _charges(charges: Sequence[Any], limit: int) -> Sequence[str]:
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
        lines.append(f"  round {number:<6} {asked:%Y-%m-%d %H:%M} UTC  rho {fleet}{twice}")
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
    """Return everything as fractions, num/den, that add up without loss."""
    guarantee = plan.guarantee
    return {
        "site": deployment.site.name,
        "budget": str(standing.budget),
        "spent": str(standing.spent),
        "left": str(standing.left),
        "round": str(rho),
        "rounds_left": int(standing.left / rho),
        "epsilon": ratio_text(guarantee.epsilon),
        "delta": ratio_text(guarantee.delta),
        "epsilon_spent": _epsilon(standing, plan),
        "charges": [
            {"round": one.number, "device": one.device, "rho": str(one.rho), "at_s": one.at_s}
            for one in charges
        ],
    }
