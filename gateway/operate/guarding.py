"""Guard and quarantine of a deployment, as [guard] says."""

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

from ..deployment import Deployment
from ..devices.broker.control import Control
from ..mqtt.pump import Pump
from .guard import Guard
from .quarantine import Keeper, Quarantine

AWAY_S = 3600.0  # a gateway that was away for longer has no broker that kept it all


def guard_of(deployment: Deployment, devices: Iterable[str], last_s: float | None = None) -> Guard:
    """Return the guard of a fleet.

    Args:
        last_s: when the gateway was last at work, by `time.time`; what devices sent since then is
            no flood. None where it never was.
    """
    # Without names at the broker anybody may write under any, and could have others shut out.
    named = deployment.mqtt.username is not None
    guard = Guard(deployment.guard, devices, attributable=named)
    if last_s is not None:
        guard.away(min(time.time() - last_s, AWAY_S))
    return guard


def quarantine_of(
    stack: ExitStack,
    deployment: Deployment,
    store: Keeper,
    guard: Guard,
    pump: Pump,
    on_event: Callable[[dict[str, Any]], None],
) -> Quarantine:
    """Return the quarantine of a deployment, which ends with the stack."""
    control = None
    if deployment.mqtt.username is not None and deployment.guard.quarantine:
        control = Control(deployment.mqtt, f"heatveil-{deployment.site.name}-control", pump)
        stack.callback(control.close)
    minutes = deployment.guard.minutes
    return stack.enter_context(Quarantine(store, control, guard, on_event, minutes=minutes))
