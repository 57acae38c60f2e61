"""What the page looks like, held against pictures that somebody has looked at.

    python -m tests.gateway.web.test_pictures FOLDER

draws them anew, whole into FOLDER, where each is to be looked at, and small beside this file:
fonts differ between machines, and where things are, how large and in which colours does not.
"""

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from io import BytesIO
from itertools import product
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Page as Tab
from playwright.sync_api import sync_playwright

from gateway.mechanisms import find_mechanism
from gateway.service.operate.health import Health
from gateway.service.telling import make_vocabulary_event
from gateway.settings.roomfile import read_floor_lines
from gateway.web.server import Page
from recovery.estimators.verdict import describe_misfit
from recovery.maps.sentence import describe_sentence

from .conftest import FLAGS, Known, open_tab, wait_until
from .test_page import BUDGET, OFFICE, READY, drawn, people, shown, sure

NOON_S = 1_900_065_600.0  # an hour of a day in March 2030, in UTC
EVERY_S = 1800
ROUNDS = 23  # of the day, the last of them open


class Day(Known):
    """Reads a store of a morning."""

    def __init__(self, ready: dict[str, Any]) -> None:
        super().__init__(ROUNDS)
        self._enrolled = ready["enrolled"]
        self._names = [f"{ready['site']}-{n + 1}" for n in range(min(self._enrolled, 40))]

    def find_round(self, number: int) -> Any:
        found = super().find_round(number)
        if found is None:
            return None
        opened_s = NOON_S - EVERY_S * (ROUNDS - number) - 600
        closed_s = None if found.closed_s is None else opened_s + 30
        came = None if closed_s is None else self._enrolled - (3 * number) % 5
        given = {"opened_s": opened_s, "closed_s": closed_s, "reports": came}
        return found._replace(**given, enrolled=self._enrolled)

    def read_promise(self) -> tuple[str | None, Fraction | None]:
        return "{}", Fraction(6)

    def list_devices(self, enrolled: Any = None) -> list[Any]:
        example = super().list_devices()[0]
        silent = {self._names[1]: NOON_S - 9000.0}
        return [
            example._replace(name=one, last_s=silent.get(one, NOON_S - 570)) for one in self._names
        ]


def warm(columns: int, rows: int, *spots: tuple[float, float, float]) -> list[list[float]]:
    """Return a map with soft spots at these columns and rows, each with its part."""
    found = np.zeros((rows, columns))
    y, x = np.mgrid[:rows, :columns] + 0.5
    for at_x, at_y, part in spots:
        spot = np.exp(-((x - at_x) ** 2 + (y - at_y) ** 2 * (rows > 1)) / 5)
        found += part * spot / spot.sum()
    return np.round(found / found.sum(), 6).tolist()


FLOOR = read_floor_lines(OFFICE)
SENSORS = len(FLOOR["sensors"])
ROOM = {**READY, "site": "office-2", "shape": [30, 20], "cell_mm": 200, "floor": FLOOR}
ROOM |= {"sensors": [SENSORS, 1], "enrolled": SENSORS, "every_s": EVERY_S}
ROOM |= {"strength_unit": "W"}
HALL = {
    **READY,
    **make_vocabulary_event(find_mechanism("disk")),
    "site": "hall",
    "shape": [16, 10],
    "cell_mm": 2000,
}
HALL |= {"sensors": [400, 1], "enrolled": 400, "every_s": EVERY_S}
SPENT = {**BUDGET, "spent": 0.48, "left": 0.52, "epsilon_spent": 5.2, "rounds_left": 26}


def counted(sources: int, chance: float) -> dict[str, Any]:
    """Return what a map says of how many sources there are."""
    number = dict.fromkeys(("low", "high", "median"), sources)
    return {**number, "chance": chance, "several": False, "empty": False}


def room(**more: Any) -> list[dict[str, Any]]:
    """Return what is told of an office with two people in it; two sensors are silent."""
    mass = warm(30, 20, (25.5, 7.0, 0.56), (14.0, 12.0, 0.44))
    chances = (np.array(mass) / np.max(mass) * 0.34).round(4).tolist()
    where = [
        {"x": 5.1, "y": 1.4, "share": 0.56, "within": 0.6},
        {"x": 2.8, "y": 2.4, "share": 0.44, "within": 0.9},
    ]
    said = sure(present=chances, expected_error=0.7, blind_error=2.3)
    said["count"] = counted(2, 0.91)
    values = [round(90 * math.sin(1.7 * i)) for i in range(SENSORS)]
    values[7] = values[15] = None
    release = {"kind": "release", "number": ROUNDS - 1, "reports": SENSORS - 2}
    release |= {"values": values, "exponent": 7}
    found = drawn(ROUNDS - 1, 0, mass=mass, sources=where, credible=said, total=131.0)
    return [ROOM, SPENT, release, found | more]


def hall() -> list[dict[str, Any]]:
    """Return what is told of a hall where many stand in two places."""
    blocks = [
        [0, 0, 4, 8, 0.07, 0.0, 0.16, 1],
        [0, 8, 4, 4, 0.04, 0.0, 0.11, 0],
        [0, 12, 2, 2, 0.33, 0.27, 0.39, 2],
        [0, 14, 2, 2, 0.05, 0.0, 0.1, 1],
        [2, 12, 2, 4, 0.05, 0.0, 0.11, 1],
        [4, 0, 6, 6, 0.05, 0.0, 0.12, 1],
        [4, 6, 3, 3, 0.24, 0.18, 0.3, 2],
        [4, 9, 6, 7, 0.12, 0.04, 0.2, 1],
        [7, 6, 3, 3, 0.05, 0.0, 0.11, 0],
    ]
    mass = np.zeros((10, 16))
    for y, x, rows, columns, share, *_ in blocks:
        mass[y : y + rows, x : x + columns] = share / rows / columns
    given = {"mass": mass.tolist(), "sd": (mass / 3).tolist(), "total": 391.0}
    given |= {"blocks": {"level": 0.9, "rows": blocks, "claims": [2, 6]}}
    wide = np.pad(mass, 1)
    near = sum(np.roll(wide, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1)) / 9
    counts = np.round(391 * (near + 0.002)).astype(int).ravel().tolist()
    release = {"kind": "release", "number": ROUNDS - 1, "reports": 391, "values": counts}
    release |= {"outer": [18, 12], "reach": [1, 1]}
    return [HALL, SPENT, release, people(number=ROUNDS - 1, **given)]


def doubted() -> list[dict[str, Any]]:
    """Return what is told of the office while the sun shines in."""
    why = describe_misfit(8.31, 4.02)
    says = f"Do not trust this map: {why}; how far off it is cannot be said."
    return room(verdict={"level": "assumptions", **describe_sentence(why), "says": says})


SCENES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "room": room,
    "hall": hall,
    "doubted": doubted,
    "away": room,
    "night": room,
    "empty": lambda: [ROOM],
}
WIDTHS = {"phone": 390, "desktop": 1280}


def take(scene: str, width: int, opened: Callable[..., Tab], until: Callable[..., None]) -> bytes:
    """Return a picture of the whole page."""
    events = SCENES[scene]()
    reader = None if scene == "empty" else Day(events[0])
    words: Any = {"timezone_id": "UTC", "locale": "en-GB", "reduced_motion": "reduce"}
    with Page("127.0.0.1", 0, reader=reader, health=Health()) as page:
        for event in events:
            if event["kind"] == "map" and reader is not None:
                event["closed_s"] = reader.find_round(ROUNDS - 1).closed_s
            page.feed.put_event(event)
        scheme = "dark" if scene == "night" else "light"
        tab = opened(page.url, width, now_s=NOON_S, color_scheme=scheme, **words)
        until(tab, "document.getElementById('link').dataset.state == 'live'")
        if reader is not None:
            until(tab, shown(ROUNDS - 1))
            until(tab, "document.querySelectorAll('#devices tr').length > 0")
            until(tab, "document.getElementById('moment').textContent != ''")
        if scene != "away":
            tab.wait_for_timeout(300)
            return tab.screenshot(full_page=True)
    tab.clock.set_fixed_time(NOON_S + 5400)
    until(tab, "!document.getElementById('aged').hidden")
    tab.wait_for_timeout(300)
    return tab.screenshot(full_page=True)


def shrink(picture: bytes) -> Image.Image:
    """Return a picture at a quarter of its size, in few colours."""
    whole = Image.open(BytesIO(picture)).convert("RGB")
    small = whole.resize((whole.width // 4, whole.height // 4), Image.Resampling.BOX)
    # By octree: a cut at the median loses the map's few warm squares.
    return small.quantize(48, method=Image.Quantize.FASTOCTREE)


def differ(one: Image.Image, other: Image.Image) -> float:
    """Return by how much two pictures differ where they differ most, 0 to 1, in blurred squares.

    A row of squares is looked for a little higher and lower, too: a line that wraps in another
    font moves what is below it.
    """
    squares = _squares(one), _squares(other)
    return max(_miss(*squares), _miss(*squares[::-1]))


def _miss(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Return the most by which a part of a row of the one is nowhere near in the other."""
    reach, worst = 2 + len(left) // 15, 0.0
    for row, squares in enumerate(left):
        near = right[max(row - reach, 0) : row + reach + 1]
        for part in range(0, len(squares), 8):
            off = np.abs(near[:, part : part + 8] - squares[part : part + 8])
            worst = max(worst, float(off.max(axis=(1, 2)).min(initial=1.0)))
    return worst


def _squares(picture: Image.Image) -> NDArray[np.float64]:
    size = picture.width // 8, picture.height // 8
    small = picture.convert("RGB").resize(size, Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float64) / 255


GOLDEN = Path(__file__).parent / "pictures"
MOST, TALLER = 0.24, 0.06  # of one square; of the whole height


@pytest.mark.long
@pytest.mark.parametrize("where", WIDTHS)
@pytest.mark.parametrize("scene", SCENES)
def test_the_page_looks_as_it_did_when_somebody_looked(
    scene: str, where: str, opened: Callable[..., Tab], until: Callable[..., None]
) -> None:
    """On a phone and on a desk, whatever fonts there are."""
    now = shrink(take(scene, WIDTHS[where], opened, until))
    golden = Image.open(GOLDEN / f"{scene}-{where}.png")

    assert now.width == golden.width
    assert abs(now.height / golden.height - 1) < TALLER
    assert differ(now, golden) < MOST


def test_another_scene_is_told_apart() -> None:
    """As a control: none of the pictures passes for another of its width."""
    for where in WIDTHS:
        kept = {scene: Image.open(GOLDEN / f"{scene}-{where}.png") for scene in SCENES}
        for scene, one in kept.items():
            for other in kept.keys() - {scene}:
                assert differ(one, kept[other]) > MOST, (scene, other)


def _draw(folder: Path) -> None:
    """Draw all pictures anew."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=which("chromium"), args=FLAGS)
        for scene, (where, width) in product(SCENES, WIDTHS.items()):
            picture = take(scene, width, partial(open_tab, chromium), wait_until)
            (folder / f"{scene}-{where}.png").write_bytes(picture)
            shrink(picture).save(GOLDEN / f"{scene}-{where}.png", optimize=True)
        chromium.close()


if __name__ == "__main__":
    _draw(Path(sys.argv[1]))
