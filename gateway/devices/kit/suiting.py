"""Whether a board will answer what its deployment asks: looked at here, before it is given keys.

A device refuses a Round that was planned for another sensor than its own, in silence towards all
but its console. So the Round that the deployment asks first is shown to the device's own rules.
"""

import ast
from fractions import Fraction
from pathlib import Path
from typing import Any

from edge import disk_half, refusals
from edge.board import drivers

from ...deployment import Deployment
from ...faults import OperatorFault
from .boardfile import THERMAL, Held


def step_of(own: dict[str, Any]) -> Any:
    """Return the step of the driver that a board is told of, (num, den) of a kelvin, if known."""
    driver = own.get("driver")
    name = driver.get("name") if isinstance(driver, dict) else None
    if name not in drivers.NAMES:
        return None  # which the config's own reader says
    if name != "yours":
        return drivers.kind(name).step
    return _said(Path(driver["file"]), "step") if driver and "file" in driver else None


def count_of(own: dict[str, Any]) -> int | None:
    """Return how many sensors the driver reads that a board is told of, if that can be known."""
    driver = own.get("driver")
    if not isinstance(driver, dict) or driver.get("name") not in drivers.NAMES:
        return None
    if driver["name"] == "yours":
        found = _said(Path(driver["file"]), "sensors") if "file" in driver else None
    elif isinstance(roms := driver.get("roms"), list):
        found = len(roms)
    else:
        found = getattr(drivers.kind(driver["name"]), "sensors", None)  # none: what is on the wire
    return found if isinstance(found, int) else None


def check_count(own: dict[str, Any], held: Held) -> None:
    """Check that a driver reads as many sensors as its device stands for.

    Raises:
        OperatorFault: it reads more, or fewer.
    """
    count, who = count_of(own) if held.mechanism == THERMAL else 1, held.identity
    if count is not None and count != who.sensors:
        raise OperatorFault(
            f"the driver {own['driver']['name']} of the settings reads {count} sensors and "
            f"{who.name} is to have {who.sensors}; each reading has one place in the room, and "
            f"another number is never sent. Say --sensors {count} when it is enrolled, or name "
            "the driver of what is wired to it"
        )


def check(deployment: Deployment, asked: Any, board: Held, step: Any) -> None:
    """Check that a device would answer a Round of its deployment.

    Args:
        asked: the Round that the deployment asks first.
        step: of its driver; None where it is not known, which is not checked then.

    Raises:
        OperatorFault: it would refuse, and what to do.
    """
    who, held = board.identity, board.limits
    newest, may = asked.number - 1, (board.tables, None)

    def objection(step: Any) -> str:
        if board.mechanism != asked.mechanism:
            return f"it asks for {asked.mechanism}, and the device has {board.mechanism}"
        if board.mechanism == THERMAL:
            return str(refusals.objection(asked, who, held, newest, step, may))
        half, _ = disk_half.half(board.mechanism, who, None, None, False)
        return str(half.objection(asked, who, held, newest))

    if step is not None and objection(step):
        planned = deployment.sensors.adc_step
        told = "no adc_step" if planned is None else f"adc_step {Fraction(*planned)}"
        if not objection(None):
            raise OperatorFault(
                f"its driver counts in steps of {Fraction(*step)} K and the deployment was "
                f"planned with {told}; it would refuse every round, for a step flips on all "
                "sensors at once and the noise must be made for it. Write adc_step = "
                f'"{Fraction(*step)}" under [sensors], and enrol anew: that is another promise'
            )
    if why := objection(None):
        raise OperatorFault(
            f"{who.name} would refuse every round of this deployment: {why}. It was enrolled for "
            "another one; give it new keys under this: heatveil rotate --keys"
        )


def _said(file: Path, word: str) -> Any:
    """Return the step or number that a driver's text says in so many words, or None."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            for at, name in enumerate(names):
                if isinstance(name, ast.Name) and name.id == word:
                    try:
                        found = ast.literal_eval(node.value)
                    except ValueError:
                        return None
                    return found[at] if isinstance(target, ast.Tuple) else found
    return None
