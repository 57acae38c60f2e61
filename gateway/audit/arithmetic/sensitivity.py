"""Layers `sensitivity` and `paths`: the most that one neighbour can change, found by trying."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from physics.diffusion.medium import make_still_drive
from physics.diffusion.run import Run
from physics.instruments.presets import find_preset
from physics.kernel import forward
from physics.response import Response
from physics.rooms.model import build_medium
from physics.rooms.plan import QUANTUM_MM, Lattice, compute_views, make_lattice, make_plan
from physics.rooms.read import read_room
from physics.rooms.records import Air, Clock, Door, Furniture, Room, Side, Thermometers, Wall
from physics.rooms.respond import (
    Stretch,
    compute_day_response,
    compute_pulses,
    list_door_days,
    trace_doors,
)

from ..claim import Claim, Effort, claim_at_most
from . import quanta

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Pairs: TypeAlias = tuple[Floats, Floats]  # places of the one and of the other, (pairs, 2)

PAIRS = 1500  # of places that are tried at every moment, and so many more about the best
LOOKS_M = (0.1, 0.03, 0.01)  # about the best pairs, so far to each side
TURNS = 5  # between who is where and what the sensors then tell best
CHECKED_M = 0.01  # along a way, that it is all air: less than a quantum of the plan
# What cells of 200 mm may differ by from cells of 25 mm: .095 was the most of 100 rooms.
DERIVED = 0.15
CALM = ((0.0, 20.0),)


class Found(NamedTuple):
    """The two paths that differ most, as shares of what the noise is made for."""

    joint: float  # of all sensors together
    each: float  # of one of them
    here: Floats  # (steps, 2), in metres
    there: Floats
    tried: int


def walks_claims(mechanism: None, effort: Effort) -> Iterator[Claim]:
    """Yield that no paths pass the bound, in rooms at random and in the sample.

    Two paths in a modelled room that differ by more than its noise was made for. Rooms are drawn
    at random, with walls that end freely, meet or are thinner than a cell of the map, with doors
    that move and with furniture, and two paths are looked for that are seen apart as well as can
    be. They are of any places that people may be in, not of nodes or middles, and a hair within
    the protected distance of each other by a way through air. Each pair of paths that is found is
    then run forward, as the simulated room lives through it. It sees a bound that forgets a side
    of a wall, a door's leaf, a place between nodes or a lag. The best pair is run once more by
    `quanta`, which shares no arithmetic with the bound. It cannot see a pair of paths that it did
    not try, nor heat that the true room moves otherwise than the model does.
    """
    world = np.random.default_rng(effort.tape("paths").bits(63))
    starts = effort.pick(2, 20)
    if effort.own is not None:
        own = read_room(effort.own.plan)
        for nth, room in enumerate(_yield_door_states(own)):
            made = effort.own.query.response
            name = f"{effort.own.name}, doors standing in way {nth + 1}"
            found = find_clearest_paths(room, made, room.day.until_s, starts, world)
            yield from _claim_held(name, made, found)
            yield _claim_derived(name, room, made, room.day.until_s, found)
        if len(list_door_days(own)) > 1:
            yield _claim_moving(effort.own.name, own, effort.own.query.response, effort, world)
        return
    ratios = []
    for nth, room in enumerate(islice(draw_rooms(world), effort.pick(3, 100))):
        made = compute_day_response(
            room, _convert_cell_to_m(room), [room.day.until_s], through_walls=nth % 3 == 1
        )
        found = find_clearest_paths(room, made, room.day.until_s, starts, world)
        ratios.append(found.joint)
        yield from _claim_held(f"room {nth + 1}", made, found)
        yield _claim_derived(f"room {nth + 1}", room, made, room.day.until_s, found)
    yield claim_at_most(
        "rooms at random: the nearest that paths come to the bound, which is not for nothing",
        1.0,
        max(ratios),
        unit="of the bound",
        samples=len(ratios),
        detail=f"in the middle of the rooms {np.median(ratios):.3f}",
    )
    if effort.full:
        office = read_room(Path(str(files("physics.rooms") / "office.toml")))
        at_s = 16 * 3600.0
        made = compute_day_response(office, 0.2, [at_s], through_walls=False)
        found = find_clearest_paths(office, made, at_s, starts, world)
        yield from _claim_held("sample office", made, found)
        yield _claim_derived("sample office", office, made, at_s, found)


def _yield_door_states(room: Room) -> Iterator[Room]:
    """Yield a room for each way its doors stand at some time, and then all day."""
    day = room.day
    for ((opened, _),) in list_door_days(room):
        stands = zip(room.doors, opened, strict=True)
        spans = {True: ((day.start_s, day.until_s + day.step_s),), False: ()}
        yield replace(room, doors=tuple(door._replace(open_s=spans[at]) for door, at in stands))


def _claim_moving(
    name: str, room: Room, made: Response, effort: Effort, world: np.random.Generator
) -> Claim:
    """Return how near paths come to a bound for doors that stand, on a day on which they move."""
    step_s, moved = room.day.step_s, trace_doors(room, room.day.until_s)[:-1]
    ends = np.cumsum([0, *(since.steps for since in moved)])
    # A step after each move, and at the end.
    moments = [room.day.until_s - max(0, end - 1) * step_s for end in ends.tolist()]
    found = [find_clearest_paths(room, made, at_s, effort.pick(1, 4), world) for at_s in moments]
    return claim_at_most(
        f"{name}: nor do two while doors move as its file says, which is not promised",
        1.0,
        max(max(one.joint, one.each) for one in found),
        unit="of the bound",
        samples=sum(one.tried for one in found),
        detail=f"only tried, at {len(moments)} moments; the promise is of a day with {made.doors}",
    )


def _claim_held(name: str, made: Response, found: Found) -> Iterator[Claim]:
    way = "through walls too" if made.through_walls else "by ways through air"
    for what, share in (("all sensors together", found.joint), ("one sensor", found.each)):
        yield claim_at_most(
            f"{name}: no two paths, displaced {way}, change {what} by more than the noise is for",
            1.0,
            share,
            unit="of the bound",
            samples=found.tried,
        )


def _claim_derived(name: str, room: Room, made: Response, at_s: float, found: Found) -> Claim:
    """Return how far the best pair's change is off on cells of 25 mm, in parts of the bound."""
    here, there = (_feel_day(room, path, at_s) for path in (found.here, found.there))
    fine = quanta.trace_warmth(room, (found.here, found.there), at_s)
    change, again = here - there, fine[0] - fine[1]
    joint, each = made.changes.joint[0], made.changes.each[0]
    return claim_at_most(
        f"{name}: what two paths change is led forward again, on cells of {QUANTUM_MM} mm",
        DERIVED,
        float(np.linalg.norm(change - again) / joint),
        unit="of the bound",
        samples=1,
        detail=f"there {np.linalg.norm(again) / joint:.3f} of the bound for all sensors together "
        f"and {(np.abs(again) / each).max():.3f} of that for one",
    )


def find_clearest_paths(
    room: Room, made: Response, at_s: float, starts: int, world: np.random.Generator
) -> Found:
    """Return the two displaced paths that the readings tell best, run forward.

    Args:
        made: whose bound it is held against; the displacement is the least that it tells of.
        at_s: the moment of the reading.
        starts: how many directions between the sensors are begun with.
    """
    far_m = made.far_cells[0] * room.cell_mm / 1000
    search = _Search(room, at_s, far_m, made.through_walls, world)
    best = Found(0.0, 0.0, np.zeros((0, 2)), np.zeros((0, 2)), 0)
    tried = 0
    for start in range(starts):
        unit = world.normal(size=len(made.places_m))
        if start % 2:
            unit = np.eye(len(made.places_m))[start // 2 % len(made.places_m)]
        here, there = search.climb(unit)
        tried += search.count
        change = np.abs(_feel_day(room, here, at_s) - _feel_day(room, there, at_s))
        joint = float(np.linalg.norm(change) / made.changes.joint[0])
        each = float((change / made.changes.each[0]).max())
        most = (joint, here, there) if joint > best.joint else (best.joint, *best[2:4])
        best = Found(most[0], max(each, best.each), most[1], most[2], 0)
    return best._replace(tried=tried)


class _Search:
    """All pairs of places that are tried, by how the doors stand, and what is felt of each."""

    def __init__(
        self, room: Room, at_s: float, far_m: float, through: bool, world: np.random.Generator
    ) -> None:
        self.room, self.far_m, self.through, self.world = room, far_m, through, world
        self.doors = trace_doors(room, at_s)
        places = np.array([place for one in room.thermometers for place in one.places_m])
        seen = compute_views(room, places).reshape(len(places), *make_plan(room).shape)
        parts = [Stretch(build_medium(room, since.opened), since.steps) for since in self.doors]
        fields = _apply_sensor_lag(room, compute_pulses(seen, parts, room.day.step_s))
        # (lags, heat cells, sensors) of each stretch.
        self.felt = [
            np.array([field.reshape(len(places), -1).T for field in islice(fields, since.steps)])
            for since in self.doors
        ]
        self.count = 0

    def climb(self, unit: Floats) -> tuple[Floats, Floats]:
        """Return two paths, (steps, 2) from the first step on, that differ along some direction.

        At every lag the pair that differs the most along it is taken, and the direction is then
        that of their sum; and again, with more pairs about those that were taken.
        """
        floors = [make_lattice(self.room, since.opened) for since in self.doors]
        pairs = [self._draw_pairs(known) for known in floors]
        best: list[Indices] = []
        for look in (None, *LOOKS_M):
            if look is not None:
                pairs = [
                    _join(kept, self._draw_nearby_pairs(known, _pick(kept, taken), look))
                    for known, kept, taken in zip(floors, pairs, best, strict=True)
                ]
            moved = [
                _measure_moves(known, pair) for known, pair in zip(floors, pairs, strict=True)
            ]
            for _ in range(TURNS):
                best, total = [], np.zeros(len(unit))
                for operator, felt in zip(moved, self.felt, strict=True):
                    taken = np.asarray(operator @ (felt @ unit).T).argmax(axis=0)
                    best.append(taken)
                    total += np.einsum("lc,lcs->s", operator[taken].toarray(), felt, optimize=True)
                unit = total / max(float(np.linalg.norm(total)), 1e-300)
        self.count = sum(
            len(pair[0]) * len(felt) for pair, felt in zip(pairs, self.felt, strict=True)
        )
        ends = [_pick(pair, taken) for pair, taken in zip(pairs, best, strict=True)]
        here, there = (np.concatenate([end[side] for end in ends])[::-1] for side in (0, 1))
        return here, there

    def _draw_pairs(self, known: Lattice) -> Pairs:
        here = self.world.uniform((0, 0), self.room.size_m, (4 * PAIRS, 2))
        return self._select_walkable_pairs(known, here, self._draw_legs(len(here)))

    def _draw_nearby_pairs(self, known: Lattice, pair: Pairs, by_m: float) -> Pairs:
        """Return more pairs about these, some of the same displacement and some of another."""
        nth = self.world.integers(len(pair[0]), size=2 * PAIRS)
        here, there = pair[0][nth], pair[1][nth]
        step = there - here + self.world.normal(0, by_m, here.shape)
        length = np.linalg.norm(step, axis=1, keepdims=True)
        step *= self.far_m / np.maximum(length, 1e-9)
        legs = [step, np.zeros_like(step)]
        bent = self.world.uniform(size=len(step)) < 0.3
        legs = [
            np.where(bent[:, None], new, old)
            for new, old in zip(self._draw_legs(len(step)), legs, strict=True)
        ]
        return self._select_walkable_pairs(
            known, here + self.world.normal(0, by_m, here.shape), legs
        )

    def _draw_legs(self, count: int) -> list[Floats]:
        """Return two legs each, the second of no length for two of three, as long as may be."""
        share = np.where(self.world.uniform(size=count) < 2 / 3, 1, self.world.uniform(size=count))
        angle = self.world.uniform(0, 2 * math.pi, (2, count))
        return [
            self.far_m * length[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
            for length, turn in zip((share, 1 - share), angle, strict=True)
        ]

    def _select_walkable_pairs(
        self, known: Lattice, here: Floats, legs: Sequence[Floats]
    ) -> Pairs:
        """Return those of these pairs that people may be at, and that such a way joins."""
        legs = [leg * (1 - 1e-9) for leg in legs]
        corner, there = here + legs[0], here + legs[0] + legs[1]
        good = np.ones(len(here), dtype=bool)
        for end in (here, there):
            cell = known.find_cells(end)
            good &= (cell >= 0) & known.free[cell]
        if not self.through:
            steps = math.ceil(self.far_m / CHECKED_M)
            for share in (np.arange(steps) + 0.5) / steps:
                for start, leg in ((here, legs[0]), (corner, legs[1])):
                    good[good] &= known.find_cells((start + share * leg)[good]) >= 0
            for point in known.touch_m:  # no way leads there, and what is checked may step over
                for start, leg in ((here, legs[0]), (corner, legs[1])):
                    along = ((point - start) * leg).sum(axis=1) / np.square(self.far_m)
                    length = np.maximum(np.square(leg / self.far_m).sum(axis=1), 1e-18)
                    near = start + np.clip(along / length, 0, 1)[:, None] * leg
                    good &= np.linalg.norm(near - point, axis=1) > CHECKED_M
        elif legs[1].any():
            good &= np.linalg.norm(there - here, axis=1) <= self.far_m
        return here[good][:PAIRS], there[good][:PAIRS]


def _pick(pair: Pairs, taken: Indices) -> Pairs:
    return pair[0][taken], pair[1][taken]


def _join(one: Pairs, other: Pairs) -> Pairs:
    return np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])


def _measure_moves(known: Lattice, pair: Pairs) -> sparse.csr_array:
    """Return what each pair changes of a watt in each heat cell, (pairs, heat cells).

    Both ways round, so that the greatest change is the greatest size.
    """
    parts = []
    for places in pair:
        cell, weights = known.locate(places)
        row = np.repeat(np.arange(len(places)), 4)
        shape = len(places), len(known.nodes_m)
        at = row, known.corners[cell].ravel()
        parts.append(sparse.csr_array((weights.ravel(), at), shape=shape))
    return sparse.csr_array((parts[0] - parts[1]) @ known.table)


def _feel_day(room: Room, path: Floats, at_s: float) -> Floats:
    """Return what the thermometers feel after somebody's day, of a watt, run forward."""
    places = np.array([place for one in room.thermometers for place in one.places_m])
    doors = trace_doors(room, at_s)
    run = Run(build_medium(room, doors[-1].opened))
    seen = compute_views(room, places)

    def feel() -> Iterator[Floats]:
        nth = 0
        for since in reversed(doors):
            known, medium = make_lattice(room, since.opened), build_medium(room, since.opened)
            for _ in range(since.steps):
                power = known.add_body_heat(path[nth : nth + 1], np.ones(1)).reshape(
                    make_plan(room).shape
                )
                run.step(make_still_drive(medium)._replace(power_w=power), room.day.step_s, medium)
                nth += 1
                yield np.asarray(seen @ run.field_k.ravel())

    shown = np.zeros(len(places))
    for now in _apply_sensor_lag(room, feel()):
        shown = now
    return shown


def _apply_sensor_lag(room: Room, fields: Iterable[Floats]) -> Iterator[Floats]:
    """Yield what thermometers show of what is there step after step, sensors first."""
    lags_s = np.array(
        [find_preset(one.kind).lag_s for one in room.thermometers for _ in one.places_m]
    )
    left = np.exp(-room.day.step_s / np.maximum(lags_s, 1e-9))
    shown = np.zeros(1)
    for field in fields:
        kept = left.reshape(-1, *(1,) * (field.ndim - 1))
        shown = kept * shown + (1 - kept) * field
        yield shown


def draw_rooms(world: np.random.Generator) -> Iterator[Room]:
    """Yield rooms at random, with the walls, doors, desks and thermometers that one may have."""
    while True:
        columns, rows = world.integers(10, 16), world.integers(8, 13)
        size = float(columns * 0.2), float(rows * 0.2)
        minutes = int(world.integers(12, 31))
        walls = tuple(_draw_wall(size, world) for _ in range(world.integers(1, 7)))
        room = Room(
            name="random",
            size_m=size,
            height_m=2.5,
            cell_mm=200,
            air=Air(float(world.uniform(0.001, 0.013)), 1.0, 6.0, 20.0, CALM),
            day=Clock(0.0, minutes / 60, 60.0),
            sides={name: Side(1.0, CALM) for name in ("north", "south", "west", "east")},
            walls=walls,
            doors=tuple(
                door
                for wall in walls
                if world.uniform() < 0.5 and (door := _draw_door(wall, minutes, world)) is not None
            ),
            furniture=tuple(
                Furniture((x, y, x + 0.6, y + 0.4), "desk")
                for x, y in world.uniform((0, 0), (size[0] - 0.6, size[1] - 0.4), (2, 2)).tolist()
            ),
        )
        known = make_lattice(room, (False,) * len(room.doors))
        places = world.uniform((0.1, 0.1), (size[0] - 0.1, size[1] - 0.1), (40, 2))
        places = places[known.find_cells(places) >= 0][: world.integers(3, 9)]
        if len(places) >= 3:
            held = tuple((x, y) for x, y in places.tolist())
            yield replace(room, thermometers=(Thermometers("ds18b20", held),))


def _convert_cell_to_m(room: Room) -> float:
    return room.cell_mm / 1000


def _draw_wall(size: tuple[float, float], world: np.random.Generator) -> Wall:
    """Return a wall that reaches from side to side or ends freely; some thinner than a quantum."""
    thick_mm = float(world.choice([12.0, 50.0, 100.0, 125.0, 240.0]))
    across = int(world.integers(2))
    at = float(world.uniform(0.3, size[across] - 0.3))
    ends = [0.0, size[1 - across]]
    for side in (0, 1):
        if world.uniform() < 0.5:
            ends[side] = float(world.uniform(0.2, size[1 - across] - 0.2))
    since, until = min(ends), max(max(ends), min(ends) + 0.2)
    start, end = ((at, since), (at, until)) if across == 0 else ((since, at), (until, at))
    return Wall(start, end, thick_mm, str(world.choice(["plasterboard", "brick", "glass"])))


def _draw_door(wall: Wall, minutes: int, world: np.random.Generator) -> Door | None:
    """Return a door in a wall, that moves on whole minutes; none where there is no place."""
    (x, y), (right, down) = wall.from_m, wall.to_m
    length = right - x + down - y
    if length < 0.8:
        return None
    middle = float(world.uniform(0.35, length - 0.35))
    at = (x, y + middle) if x == right else (x + middle, y)
    moves = sorted(world.integers(0, minutes, 2).tolist())
    return Door(at, 0.6, 40.0, ((60.0 * moves[0], 60.0 * moves[1]),))


WASTE = 1.02  # noise made for so much more than anything found is noise for nothing


def sensitivity_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, that no neighbours differ more than was priced, nor far less.

    The most that one neighbour can change what is sent, found by trying. The subject brings a
    search that shares nothing with the code that plans. It sees noise scaled to one sensor, to the
    wrong spread, walls, distance or intensity, a converter left out, a last column dropped or a
    first one taken for its neighbour; and noise that is far too much, which nobody needs. It
    cannot see a move that it did not try, nor whether noise of the right scale has the right law.
    """
    yield _claim_warmth()
    for name, query in mechanism.subject.list_queries():
        round = mechanism.plan(query, ())
        tape = effort.tape("sensitivity", name)
        found = mechanism.subject.search_neighbours(query, round, tape, effort.pick(24, 400))
        norm = _select_norm(mechanism.subject.find_noise(round)[0])
        yield from claim_within_promise(
            name, norm(mechanism.subject.find_sensitivity(round)), found, norm
        )


def claim_within_promise(name: str, promised: float, found: Any, norm: Any) -> Iterator[Claim]:
    """Yield that what was found is no more than what was promised, and not far less."""
    change = [abs(b - a) for a, b in zip(found.before, found.after, strict=True)]
    most = norm(sum(d * d for d in change)) if norm is math.sqrt else float(sum(change))
    sentence = f"{name}: no two neighbours change what is sent by more than the noise is made for"
    yield claim_at_most(
        sentence, promised, most, unit="grains", samples=found.tried, detail=found.where
    )
    if not found.tight:
        return
    yield claim_at_most(
        f"{name}: nor is the noise made for more than two neighbours can do",
        WASTE,
        promised / most if most else math.inf,
        unit="claimed / found",
        samples=found.tried,
    )


def _claim_warmth() -> Claim:
    """Hold the warmth that the plan reckons with against a sum of mirror images, one by one.

    Along lines between walls and without, from spreads that hardly reach the next place to those
    at which all is even; in a plane and in a room the same is multiplied, axis by axis.
    """
    worst, where, looked = 0.0, "", 0
    for length in (0.05, 1.0, 4.0, 17.0):
        stands = [length * part for part in (0.0, 0.013, 0.25, 0.5, 0.6, 0.9, 1.0)]
        for walls in ("none", "insulated"):
            for rung in range(-20, 9):
                spread = length**2 * 2.0 ** (rung / 2)
                ours = forward(stands, stands, spread, walls, length)
                for i, x in enumerate(stands):
                    for j, y in enumerate(stands):
                        felt = _compute_heat_kernel(
                            x, y, spread, length if walls == "insulated" else 0.0
                        )
                        off = abs(ours[i, j] - felt) / max(felt, 1e-6 * ours.max())
                        looked += 1
                        if off > worst:
                            worst, where = off, f"{walls}, {length:g} m, spread {spread:.3g}"
    sides = (4.0, 6.0, 2.5)
    places = [(0.1, 5.9, 2.4), (3.9, 0.0, 1.0), (2.0, 3.0, 0.2)]
    for axes in (2, 3):
        points = [place[:axes] for place in places]
        ours = forward(points, points, 0.7, "insulated", sides[:axes])
        for i, one in enumerate(points):
            for j, other in enumerate(points):
                felt = math.prod(
                    _compute_heat_kernel(one[k], other[k], 0.7, sides[k]) for k in range(axes)
                )
                worst, looked = max(worst, abs(ours[i, j] - felt) / felt), looked + 1
    sentence = "what a place feels of another is what its mirror images add up to, term by term"
    return claim_at_most(sentence, 1e-9, worst, unit="of the warmth", samples=looked, detail=where)


def _compute_heat_kernel(x: float, y: float, spread: float, length: float) -> float:
    """Return what is felt at x of heat at y, between walls so far apart, or without any at 0."""
    reach = math.ceil(math.sqrt(200 * spread) / length) + 2 if length else 0
    terms = [
        math.exp(-((x - image - 2 * shift * length) ** 2) / (4 * spread))
        for shift in range(-reach, reach + 1)
        for image in ((y, -y) if length else (y,))
    ]
    return math.fsum(terms) / math.sqrt(4 * math.pi * spread)


def _select_norm(family: str) -> Any:
    """Return what takes a stated sensitivity to grains: Gaussians are stated squared."""
    return math.sqrt if family == "dgauss" else float
