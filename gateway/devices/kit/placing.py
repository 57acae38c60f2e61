"""What a deployment asks of its devices, and whether a board with its settings can tell a place.

Looked at before there is a device: a board that could not tell its place holds keys for nothing.
"""

from typing import Any

from edge.board import config, drivers, places
from edge.records import Grid

from ...deployment import Deployment
from ...faults import OperatorFault
from . import siting
from .boardfile import THERMAL, Held

PLACES = [name for name in places.NAMES if name not in drivers.NAMES]


def asked_by(deployment: Deployment) -> dict[str, Any]:
    """Return what a deployment asks of its devices, in words of their config.

    tables: they may draw noise from them. mechanism: where it is another than thermal. plane: of
    its grid on the earth, where it says a corner.

    Raises:
        OperatorFault: the grid is none that a device could find its cell in.
    """
    more: dict[str, Any] = {"tables": True} if deployment.rounds.sampler == "table" else {}
    if deployment.rounds.mechanism != THERMAL:
        more["mechanism"] = deployment.rounds.mechanism
    if plane := siting.of(deployment):
        more["plane"] = plane
    return more


def check_driver(told: config.Config, held: Held) -> None:
    """Check that a board has a driver that tells what its device is to answer.

    Raises:
        OperatorFault: it has none, or could not tell its place with it.
    """
    name, who = told.driver["name"], held.identity.name
    if held.mechanism == THERMAL:
        if name not in PLACES:
            return
        raise OperatorFault(
            f"the driver {name} tells a place and {who} is to measure warmth; it would answer "
            'nothing. Name a thermometer, or a deployment whose [rounds] mechanism is "disk"'
        )
    if name == "gps" and told.plane is None:
        raise OperatorFault(
            "the driver gps is named and the deployment says no corner; a receiver tells latitude "
            "and longitude, and which cell that is nobody knows. Write corner = [latitude, "
            "longitude] and bearing under [disk], and run this again"
        )
    lacking = [word for word in ("uart", "tx", "rx") if told.driver[word] is None]
    if name == "gps" and lacking:
        raise OperatorFault(
            f"the driver gps is named without {', '.join(lacking)}; a board's usual pins for a "
            "serial line are those of its flash on some, and it would stop for good. Name the "
            "line and both pins under [driver], as under the picture in edge/README.md"
        )
    pins = [told.driver[word] for word in ("tx", "rx")]
    if name == "gps" and (pins[0] == pins[1] or min(pins) < 0):
        raise OperatorFault(
            f"the driver gps has tx = {pins[0]} and rx = {pins[1]}; a serial line needs two pins "
            "of the board, counted as under the picture in edge/README.md, and on others nothing "
            "is heard. Its rx is the pin to which the receiver's TX goes. Mend [driver]"
        )
    if why := places.objection(told):
        raise OperatorFault(
            f"the settings cannot be a device's that tells its place: {why}; it must have that at "
            "hand whenever it is asked. Mend [driver]"
        )


def check_place(own: dict[str, Any], grid: Grid) -> None:
    """Check that a place in the settings is one of the grid.

    Raises:
        OperatorFault: it lies elsewhere, or there are no metres to find it by.
    """
    driver = own.get("driver")
    for word, side in (("cell", 1), ("place_mm", grid.cell_mm), ("until_mm", grid.cell_mm)):
        told = driver.get(word) if isinstance(driver, dict) else None
        if told is None:
            continue
        size = [count * side for count in grid.shape]
        if not all(0 <= at < most for at, most in zip(told, size, strict=True)):
            until = f"0 to {size[0] - 1} and 0 to {size[1] - 1}" if side else "no length_m"
            raise OperatorFault(
                f"{word} of the settings is {list(told)} and the grid of the deployment has "
                f"{until}; a device elsewhere counts as one at the border, and the map would be "
                "wrong there. Mend it under [driver]"
            )
