"""What the service says of itself: plain dicts that go to the page, the map topic, the log.

Every one has a "kind" and values that JSON can write. Nothing in them has not passed the
veil: noised whole numbers, maps made of them, counts and prices.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from recovery.maps.guarantee import to_json
from recovery.maps.heatmap import Heatmap, Unresolved

from .certainty import told
from .deployment import Deployment
from .intake.outcomes import Who
from .ledger import Ledger
from .mechanisms import Mechanism, of, serving
from .rounds import OpenRound
from .terms import unit_of

Event = dict[str, Any]

SILENCE = (
    "nobody answered the round, and it is paid for: the devices are off, or the broker does not "
    "let them and us hear each other, or they refuse. They do when their limits were tightened "
    "after this gateway started (start it again with the new file), when they were enrolled anew "
    "or with other noise, and when they are asked sooner than they were enrolled for"
)


def ready(deployment: Deployment, enrolled: int) -> Event:
    """The service is connected and about to ask."""
    mechanism = of(deployment)
    return {
        "kind": "ready",
        "site": deployment.site.name,
        **vocabulary(mechanism),
        "shape": list(deployment.room.cells),
        "cell_mm": deployment.room.cell_mm,
        "sensors": list(mechanism.sensors(deployment)),
        "enrolled": enrolled,
        "insecure": deployment.mqtt.insecure,
    }


def vocabulary(mechanism: Mechanism) -> Event:
    """What a mechanism reads, and what the page calls things."""
    who, of_all, page = mechanism.words.who, mechanism.words.of_all, mechanism.words.page
    return {
        "mechanism": mechanism.name,
        "reads": mechanism.reads,
        "words": {"who": who, "of_all": of_all, "page": dict(page)},
    }


def asked(round: OpenRound, gather_s: float) -> Event:
    """A round went out."""
    return {
        "kind": "round",
        "number": round.plan.number,
        "name": round.name.hex(),
        "enrolled": len(round.places),
        "gather_s": gather_s,
        "late": round.late,
    }


def came(round: OpenRound, refused: int) -> Event:
    """So many have answered; refused counts dead letters since the start."""
    return {
        "kind": "reports",
        "number": round.plan.number,
        "came": len(round.reports),
        "enrolled": len(round.places),
        "refused": refused,
        "late": round.late,
    }


def shut_out(devices: Mapping[str, tuple[str, float]]) -> Event:
    """These devices are in quarantine: why, and since when by the wall's clock."""
    return {
        "kind": "quarantine",
        "devices": [
            {"device": device, "why": why, "since_s": since_s}
            for device, (why, since_s) in sorted(devices.items())
        ],
    }


def alarmed(alarms: Mapping[Who, tuple[str, int]]) -> Event:
    """These devices have broken, or could break, their own noise; all that are known, each time.

    Args:
        alarms: of a device and its key, the latest reason and how often there was one.
    """
    return {
        "kind": "alarm",
        "alarms": [
            {"device": device, "why": why, "times": times}
            for (device, _), (why, times) in sorted(alarms.items())
        ],
    }


def released(release: Any, seconds: float, late: int = 0) -> Event:
    """A round was closed; values are whole numbers, noised, None where none came.

    Args:
        late: reports that came after its end, so far.
    """
    return {
        "kind": "release",
        "number": release.round.number,
        "reports": release.reports,
        "values": list(release.values),
        "seconds": seconds,
        "late": late,
    }


def drawn(number: int, result: Heatmap | Unresolved, seconds: float) -> Event:
    """A map was drawn, or could not be; this is what the map topic carries."""
    event = {
        "kind": "map",
        "number": number,
        "guarantee": json.loads(to_json(result.guarantee)),
        "seconds": seconds,
    }
    if isinstance(result, Heatmap):
        found = {"status": "solved", "mass": result.mass.tolist(), "total": float(result.total)}
        if result.nobody is not None:
            found["nobody"] = result.nobody
            if result.nobody > 0.5 and not result.total:
                found |= {"status": "nobody", "mass": None}
        return event | found | {"why": result.status} | told(result)
    return event | {"status": "unresolved", "mass": None, "total": None, "why": result.why}


def spent(ledger: Ledger, rho: Fraction, plan: Any) -> Event:
    """How the ledger stands; rho is the price of one more such round.

    Budget, spent and left are in rho. Where something else was promised, `unit` says so.
    """
    epsilon, delta = Fraction(*plan.guarantee.epsilon), plan.guarantee.delta
    at, unit = serving(plan.mechanism).ledger_delta(plan), unit_of(plan.guarantee)
    return {
        "kind": "budget",
        "budget": float(ledger.budget),
        "spent": float(ledger.spent),
        "left": float(ledger.left),
        "epsilon": float(epsilon),
        "epsilon_spent": ledger.epsilon(at, float(epsilon)),
        "delta": None if delta is None else float(Fraction(*delta)),  # of a pure promise
        "rounds_left": int(ledger.left / rho),
        "unit": unit.name,
        # Of a pure promise, by the ledger's own fractions; else nothing adds up to it.
        "epsilon_left": float(unit.of(ledger.left)) if unit.is_epsilon else None,
    }
