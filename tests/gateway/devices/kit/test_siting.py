"""Where sensors hang: siting by what a room's recordings show, and devices heard while they do."""

import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from edge.board.sensors import plane
from edge.core import wire
from edge.core.records import Grid
from edge.host import rootkeys
from gateway.devices.broker.embedded import run_broker
from gateway.devices.kit import siting, start
from gateway.devices.kit.siting import Site
from gateway.devices.kit.start import LATE_S, listen_for_device
from gateway.faults import OperatorFault
from gateway.settings.deployment import Mqtt
from tests.gateway.devices.kit.conftest import first_frame

# A grid on the earth: what a device reckons in whole numbers, against the ellipsoid in floats.

# Metres of a degree of latitude and of longitude (centred), on WGS 84; Geodesy tables, as in
# Rapp, Geometric Geodesy I, and printed to the metre in many places.
DEGREE_M = {0: (110574, 111320), 30: (110852, 96486), 45: (111132, 78847), 60: (111412, 55800)}
A_M, INVERSE = 6378137.0, 298.257223563
MM = 1000


def in_space(latitude: float, longitude: float) -> tuple[float, float, float]:
    """Return a point of the ellipsoid, from the definition of geodetic latitude."""
    up, turn = math.radians(latitude), math.radians(longitude)
    b_m = A_M * (1 - 1 / INVERSE)
    normal = A_M**2 / math.hypot(A_M * math.cos(up), b_m * math.sin(up))
    out = normal * math.cos(up)
    return out * math.cos(turn), out * math.sin(turn), (b_m / A_M) ** 2 * normal * math.sin(up)


def on_grid(site: Site, latitude: float, longitude: float) -> tuple[float, float]:
    """Return millimetres from the corner, in the plane that touches the earth there."""
    from_m, to_m = in_space(site.latitude, site.longitude), in_space(latitude, longitude)
    x, y, z = (there - here for there, here in zip(to_m, from_m, strict=True))
    up, turn = math.radians(site.latitude), math.radians(site.longitude)
    east = y * math.cos(turn) - x * math.sin(turn)
    out = x * math.cos(turn) + y * math.sin(turn)
    north = z * math.cos(up) - out * math.sin(up)
    lead = math.radians(site.bearing)
    along = east * math.sin(lead) + north * math.cos(lead)
    across = east * math.cos(lead) - north * math.sin(lead)
    return along * MM, across * MM


@pytest.mark.parametrize("latitude", DEGREE_M)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_degree_is_as_long_as_the_tables_say(latitude: int, sign: int) -> None:
    """North up: eastward is x, southward y; to the metre that is printed, of 111 km."""
    site = Site(sign * latitude, 13.0, 90.0, 0, 0)
    made = siting.compute_site_plane(site)
    here = sign * latitude * 10**7, 13 * 10**7
    assert plane.to_millimetres(made, here) == (0, 0)
    x, y = plane.to_millimetres(made, (here[0] - 10**7, here[1] + 10**7))
    north_m, east_m = DEGREE_M[latitude]

    assert y / MM == pytest.approx(north_m, abs=1)
    assert x / MM == pytest.approx(east_m, abs=1)


PLACES = [
    (52.5163, 13.3777, 90.0),
    (52.5163, 13.3777, 37.5),
    (-33.8568, 151.2153, 200.0),
    (0.0, -0.001, 0.0),
    (64.1, -21.9, 300.0),
    (-17.0, 179.9995, 90.0),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("side_m", [30, 1000, 5000])
def test_every_place_of_a_grid_is_where_it_is(
    place: tuple[float, float, float], side_m: int
) -> None:
    """Within 15 mm for a receiver's last digit, and 1 in 2000 of the side where it is 5 km."""
    site = Site(*place, side_m * MM, side_m * MM // 2)
    made, worst = siting.compute_site_plane(site), 0.0
    assert siting.plane.objection(made) == ""
    for part in range(-1, 12):
        for other in (-1, 0, 4, 9, 11):
            degrees = site.find_position(part * side_m * 100, other * side_m * 50)
            fix = tuple(round(angle * 10**7) for angle in degrees)
            right = on_grid(site, *(angle / 10**7 for angle in fix))
            found = plane.to_millimetres(made, (fix[0], fix[1]))
            worst = max(worst, math.dist(found, right))
            assert right == pytest.approx((part * side_m * 100, other * side_m * 50), abs=12)

    assert worst < 15 + side_m * (side_m / 4000)
    assert worst < siting.measure_plane_error_mm(site, made) * 3 + 30


def test_bearing_leads_the_columns() -> None:
    """0 is north, 90 east; rows a right angle further on, or the map is a mirror image."""
    for bearing, along, across in ((0, (1, 0), (0, 1)), (90, (0, 1), (-1, 0))):
        made = siting.compute_site_plane(Site(10.0, 20.0, bearing, 0, 0))
        for step, axis in ((along, 0), (across, 1)):
            fix = 10 * 10**7 + 1000 * step[0], 20 * 10**7 + 1000 * step[1]
            found = plane.to_millimetres(made, fix)
            assert 10_000 < found[axis] < 12_000
            assert abs(found[1 - axis]) <= 1


ROUNDS = SimpleNamespace(mechanism="disk", grid=None)


def deployed(corner: Any, cells: tuple[int, int], cell_mm: int) -> Any:
    """Return what is looked at of a deployment."""
    disk = SimpleNamespace(corner=corner, bearing=90.0)
    return SimpleNamespace(
        own=disk, rounds=ROUNDS, room=SimpleNamespace(grid=Grid(cells, cell_mm))
    )


def test_a_grid_that_is_too_large_is_refused_and_one_that_is_not_is_none_the_worse() -> None:
    """At Berlin cells of 100 m bear 13 km or so; a thousand cells of them do not."""
    made = siting.compute_plane(deployed((52.5, 13.4), (50, 50), 100_000))
    assert (
        siting.measure_plane_error_mm(Site(52.5, 13.4, 90.0, 5_000_000, 5_000_000), made) < 10_000
    )
    with pytest.raises(OperatorFault, match=r"100 km by 100 km.*tenth of a cell.*several sit"):
        siting.compute_plane(deployed((52.5, 13.4), (1000, 1000), 100_000))
    with pytest.raises(OperatorFault, match=r"no size in metres.*length_m"):
        siting.compute_plane(deployed((52.5, 13.4), (20, 20), 0))
    assert siting.compute_plane(deployed(None, (20, 20), 0)) == []
    assert siting.compute_plane(SimpleNamespace(own=None, rounds=ROUNDS, room=ROUNDS)) == []


SCRIPT = """
from edge.board.sensors import plane
for fix in {fixes}:
    print(*plane.to_millimetres({made}, fix))
"""


def test_every_interpreter_finds_the_same_cell(interpreter) -> None:
    """Large products and quotients below nought, on words of 32 bits; also across the 180th."""
    made = siting.compute_site_plane(Site(*PLACES[5], 3_000_000, 3_000_000))
    fixes = [(-170000000, 1799995000), (-170000001, -1799995000), (-180000007, 1790000003)]
    fixes += [(900000000, 0), (-900000000, -1800000000)]
    said = interpreter.run(SCRIPT.format(fixes=fixes, made=made))

    expected = [" ".join(map(str, plane.to_millimetres(made, fix))) for fix in fixes]
    assert said.splitlines() == expected
    assert abs(int(expected[1].split()[0]) - 106_500) < 500  # and not once round the earth


# What is heard of a board at a real broker, and what the silence of one is explained by.

ROOT, KEY = bytes(range(32)), bytes(32)
WHO = rootkeys.identity("heard", "attic", ROOT, KEY, 0)


def frame(root: bytes = ROOT) -> bytes:
    """Return what a real node of that root says first."""
    return first_frame(rootkeys.identity("heard", "attic", root, KEY, 0), root)


def meta(boot: Any, key: str = WHO.key_id.hex(), **held: int) -> bytes:
    return json.dumps({"boot": boot, "key": key, "limits": held}).encode()


@pytest.fixture(scope="module")
def broker(need: Callable[[str], str]) -> Any:
    """Return a real broker, as its gateway's user comes to it."""
    need("mosquitto")
    with run_broker("mosquitto") as where:
        yield Mqtt(host=where.host, port=where.port, insecure=True)


def say(broker: Mqtt, *said: tuple[str, bytes], retain: bool = False) -> None:
    """Publish what a device, or somebody in its name, would."""
    from paho.mqtt.publish import multiple

    topics = [(wire.topic("heard", "attic", leaf), payload) for leaf, payload in said]
    multiple([(topic, body, 1, retain) for topic, body in topics], broker.host, broker.port)


def test_what_was_retained_of_an_earlier_life_is_not_this_one(broker: Mqtt) -> None:
    """A board that is dead would be taken for one that lives; what comes then is."""
    say(broker, ("meta", meta(4)), ("state", b"ready"), retain=True)
    with listen_for_device(broker, WHO, 4) as ear:
        ear.start_counting()
        assert ear.wait_connected(LATE_S / 2)._replace(state="") == start.HeardDevice()
        say(broker, ("meta", meta(5)), ("data", frame()))
        heard = ear.wait_frame(5)
    assert (heard.boot, heard.state, heard.forged) == (5, "", 0)
    assert (heard.frame[:2], heard.frame.bytes) == ((1, 1), len(frame()))


def test_what_others_say_in_its_name_is_not_believed(broker: Mqtt) -> None:
    """Frames under another key are counted, for that is what two boards of one name look like."""
    with listen_for_device(broker, WHO, 0) as ear:
        ear.start_counting()
        say(broker, ("data", frame(bytes(32))), ("data", b"rubbish"), ("meta", meta(9, "00" * 4)))
        say(broker, ("meta", b"{"), ("meta", meta("nine")), ("meta", b"[" * 5000))
        say(broker, ("state", b"\xff"), ("state", b"exhausted"))
        heard = ear.wait_frame(1)
    assert heard == start.HeardDevice(0, "exhausted", None, 2)


@pytest.mark.parametrize(("window_s", "window_h"), [(86_400, 0), (0, 24), (86_400, 168)])
def test_a_board_that_counts_for_another_window_than_is_promised_is_refused(
    broker: Mqtt, window_s: int, window_h: int
) -> None:
    """It would give more than is said, or be silent sooner; the board itself says which it has."""
    said = ("meta", meta(1, window_s=window_s)), ("state", b"alert")
    board: Any = SimpleNamespace(restart=lambda: say(broker, *said))
    asked: Any = SimpleNamespace(
        mqtt=broker, privacy=SimpleNamespace(window_h=window_h), rounds=SimpleNamespace(every_s=0)
    )
    with pytest.raises(OperatorFault, match="attic was enrolled with a budget for"):
        start.start_board(board, asked, WHO, 0, 5, lambda _: None)
