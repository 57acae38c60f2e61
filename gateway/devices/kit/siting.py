"""Where a site's grid lies on the earth, and whether a board with its settings finds its cell.

A device multiplies and adds: it is given what a ten-millionth of a degree eastward and northward
adds to each axis near the middle of the grid, as on a plane that touches there. The earth is no
plane, so what that makes of the grid's border is held against the ellipsoid, and a grid that is
too large for it is refused.

    radius of curvature  M = a (1 - e2) / w**3  northward,  N = a / w  eastward
    with                 w = sqrt(1 - e2 sin(latitude)**2)

Source: National Geospatial-Intelligence Agency, WGS 84, NGA.STND.0036, tables 3.1 and 3.5, and
Bowring 1985 for latitude from a point in space.
"""

import math
from fractions import Fraction
from typing import Any, NamedTuple

from edge.board import config, drivers, places
from edge.board.sensors import plane
from edge.core.records import Grid
from recovery.noise import Ratio

from ...faults import OperatorFault
from ...mechanisms import find_for_deployment
from ...settings.deployment import Deployment
from .boardfile import BoardFile

AXIS_M = 6378137.0  # a, of WGS 84
FLAT = 1 / 298.257223563
E2 = FLAT * (2 - FLAT)
SHARE = 10  # of a cell: what the plane may be off at the border, a tenth
Point = tuple[float, float]


class Site(NamedTuple):
    """A grid on the earth: its corner, where columns lead, and its size in millimetres.

    latitude, longitude: of the corner where columns and rows begin, in degrees. bearing: the way
    in which columns count, in degrees clockwise from north; rows count a right angle further on.
    """

    latitude: float
    longitude: float
    bearing: float
    width_mm: int
    height_mm: int

    def find_position(self, x_mm: float, y_mm: float) -> Point:
        """Return latitude and longitude of a point of the grid, on the ellipsoid.

        By the plane that touches the corner: over 100 km it is 4 m too long.
        """
        turn = math.radians(self.bearing)
        east = (x_mm * math.sin(turn) + y_mm * math.cos(turn)) / 1000
        north = (x_mm * math.cos(turn) - y_mm * math.sin(turn)) / 1000
        return _convert_plane_point(self.latitude, self.longitude, east, north)


def compute_plane(deployment: Deployment) -> list[int]:
    """Return the plane of a deployment's grid (`edge.board.sensors.plane`), or nothing.

    Nothing is for a deployment that says no corner: then no device can look for satellites.

    Raises:
        OperatorFault: the grid has no metres, or is too large to be flat.
    """
    own, grid, name = deployment.own, deployment.room.grid, deployment.rounds.mechanism
    if own is None or own.corner is None:
        return []
    if grid.cell_mm < 1:
        raise OperatorFault(
            f"[{name}] corner is given but the grid has no size in metres, so a device could not "
            "tell from its position in which cell it is. Write length_m under [room]"
        )
    columns, rows = grid.shape
    size = columns * grid.cell_mm, rows * grid.cell_mm
    site = Site(own.corner[0], own.corner[1], own.bearing, *size)
    made = compute_site_plane(site)
    if (off_mm := measure_plane_error_mm(site, made)) * SHARE > grid.cell_mm:
        raise OperatorFault(
            f"the grid is {size[0] / 1e6:.4g} km by {size[1] / 1e6:.4g} km at latitude "
            f"{own.corner[0]:g}; devices treat it as flat and are up to {off_mm / 1000:.3g} m "
            f"off at its border, but at most a tenth of a cell ({grid.cell_mm / 1000:g} m) is "
            "allowed, or many places fall into the wrong cell. Use larger cells, or several sites"
        )
    return made


def compute_site_plane(site: Site) -> list[int]:
    """Return the plane of a site, which touches the ellipsoid in the middle of its grid."""
    x_mm, y_mm = site.width_mm // 2, site.height_mm // 2
    latitude, longitude = site.find_position(x_mm, y_mm)
    degree = math.radians(1e-7) * 1000 * plane.UNIT  # of a radius in metres, in millimetres' units
    curve = math.sqrt(1 - E2 * math.sin(math.radians(latitude)) ** 2)
    east = degree * AXIS_M / curve * math.cos(math.radians(latitude))
    north = degree * AXIS_M * (1 - E2) / curve**3
    # Meridians run together: seen from the middle, north is turned a little from the corner's.
    turn = math.radians(site.bearing)
    apart = math.remainder(longitude - site.longitude, 360)
    turn += math.radians(apart) * math.sin(math.radians(latitude))
    there = round(latitude * 1e7), round(longitude * 1e7)
    x = round(east * math.sin(turn)), round(north * math.cos(turn))
    y = round(east * math.cos(turn)), round(-north * math.sin(turn))
    return [*there, *x, *y, x_mm, y_mm]


def measure_plane_error_mm(site: Site, made: list[int]) -> float:
    """Return by how many millimetres a plane is off at the border of its grid, at the most."""
    worst = 0.0
    for part in range(9):
        for x, y in ((part, 0), (part, 8), (0, part), (8, part)):
            here = x * site.width_mm / 8, y * site.height_mm / 8
            latitude, longitude = site.find_position(*here)
            found = plane.to_millimetres(made, (round(latitude * 1e7), round(longitude * 1e7)))
            worst = max(worst, math.dist(here, found))
    return worst


def _convert_plane_point(
    latitude: float, longitude: float, east_m: float, north_m: float
) -> Point:
    """Return the place below a point of the plane that touches the ellipsoid there."""
    up, turn = math.radians(latitude), math.radians(longitude)
    curve = AXIS_M / math.sqrt(1 - E2 * math.sin(up) ** 2)
    out = curve * math.cos(up) - north_m * math.sin(up)  # from the axis, along the meridian
    x = out * math.cos(turn) - east_m * math.sin(turn)
    y = out * math.sin(turn) + east_m * math.cos(turn)
    z = curve * (1 - E2) * math.sin(up) + north_m * math.cos(up)
    return _convert_space_point(x, y, z)


def _convert_space_point(x: float, y: float, z: float) -> Point:
    """Return latitude and longitude, in degrees, of a point in space."""
    out, other = math.hypot(x, y), AXIS_M * (1 - FLAT)
    lean = math.atan2(z * AXIS_M, out * other)
    second = (AXIS_M**2 - other**2) / other**2
    north = z + second * other * math.sin(lean) ** 3
    up = math.atan2(north, out - E2 * AXIS_M * math.cos(lean) ** 3)
    return math.degrees(up), math.degrees(math.atan2(y, x))


PLACES = [name for name in places.NAMES if name not in drivers.NAMES]


def derive_settings(deployment: Deployment) -> dict[str, Any]:
    """Return what a deployment asks of its devices, in words of their config.

    tables: they may draw noise from them. mechanism: where it is another than thermal. plane: of
    its grid on the earth, where it says a corner. following: of a level that follows, its slew and
    how many answers share the promise.

    Raises:
        OperatorFault: the grid is none that a device could find its cell in.
    """
    more: dict[str, Any] = {"tables": True} if deployment.rounds.sampler == "table" else {}
    if find_for_deployment(deployment).reads == "place":
        more["mechanism"] = deployment.rounds.mechanism
    if plane := compute_plane(deployment):
        more["plane"] = plane
    if deployment.following:
        more["following"] = [*deployment.following]
    return more


def derive_steps(deployment: Deployment, exponent: int) -> tuple[Ratio, Ratio]:
    """Return the two converters that the noise of warmth is made for, in kelvin.

    Where no `adc_step` is stated, the first is the grain of its readings, 2**-exponent kelvin.
    """
    grain = (Fraction(2) ** -exponent).as_integer_ratio()
    sensors = deployment.sensors
    return sensors.adc_step or grain, sensors.adc_behind or (0, 1)


def check_driver(told: config.Config, held: BoardFile) -> None:
    """Check that a board has a driver that tells what its device is to answer.

    Raises:
        OperatorFault: it has none, or could not tell its place with it.
    """
    name, who = told.driver["name"], held.identity.name
    if held.reads == "temperature":
        if name not in PLACES:
            return
        raise OperatorFault(
            f"the driver {name} gives a place, but {who} is to measure temperature, so it could "
            'not answer. Name a thermometer, or a deployment whose [rounds] mechanism is "disk"'
        )
    if name == "gps" and told.plane is None:
        raise OperatorFault(
            "the driver gps is named, but the deployment has no corner, so the device could not "
            "tell in which cell a latitude and longitude lie. Write corner = [latitude, "
            "longitude] and bearing under [disk], and run this again"
        )
    lacking = [word for word in ("uart", "tx", "rx") if told.driver[word] is None]
    if name == "gps" and lacking:
        raise OperatorFault(
            f"the driver gps is named without {', '.join(lacking)}; there is no safe default, "
            "because on some boards the usual UART pins belong to the flash. Write uart, tx and "
            "rx under [driver], as under the picture in edge/README.md"
        )
    pins = [told.driver[word] for word in ("tx", "rx")]
    if name == "gps" and (pins[0] == pins[1] or min(pins) < 0):
        raise OperatorFault(
            f"the driver gps has tx = {pins[0]} and rx = {pins[1]}; it needs two different pins "
            "of the board, numbered as under the picture in edge/README.md, or nothing is "
            "received. rx is the pin that is wired to the receiver's TX. Correct [driver]"
        )
    if why := places.objection(told):
        raise OperatorFault(
            f"with these settings the device cannot tell its place: {why}; it could not answer a "
            "round. Correct [driver]"
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
                f"{word} of the settings is {list(told)}, but the grid of the deployment has "
                f"{until}; a device outside counts as one at the border, which makes the map "
                "wrong there. Correct it under [driver]"
            )
