"""Laws that every run keeps: energy, reciprocity, many fields as one; and what it refuses."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from physics.diffusion import run as run_
from physics.diffusion.medium import Drive, Medium, Sides, fingerprint, still
from physics.diffusion.run import Run, march

# Many steps: where they end, what they are told, and whom they tell.

MEDIUM = Medium((0.5,), np.ones(4), np.ones(4), np.zeros(4), ((0.0, 1.0),))


@pytest.mark.parametrize(("until_s", "last_s"), [(10.0, 0.7), (9.9, 0.6), (9.4, 0.1)])
def test_steps_meet_end_to_end_and_the_last_ends_on_time(until_s: float, last_s: float) -> None:
    """The drive of every moment is asked for once."""
    asked: list[tuple[float, float]] = []

    def drives(from_s: float, to_s: float) -> Drive:
        asked.append((from_s, to_s))
        return still(MEDIUM)

    run = Run(MEDIUM, np.ones(4), at_s=3.0)
    times = [now.at_s for now in march(run, drives, 0.7, until_s)]

    assert times[-1] == pytest.approx(until_s, abs=1e-12)
    assert asked[-1][1] - asked[-1][0] == pytest.approx(last_s, abs=1e-12)
    assert len(times) == len(asked) == 10
    assert asked[0][0] == 3.0
    assert all(end == start for (_, end), (start, _) in pairwise(asked))


def test_a_medium_that_changes_is_taken_step_by_step() -> None:
    """A wall that is taken away lets heat through from that step on."""
    wall = Medium((0.5,), np.array([1.0, 0.0, 1.0, 1.0]), np.ones(4), np.zeros(4), ((0.0, 0.0),))
    run = Run(wall, np.array([1.0, 0.0, 0.0, 0.0]))
    drive = still(wall)
    first = [
        now.field_k[0]
        for now in march(
            run, lambda *_: drive, 1.0, 6.0, lambda from_s, to_s: wall if to_s <= 3 else MEDIUM
        )
    ]

    assert first[:3] == pytest.approx([1.0, 1.0, 1.0], rel=1e-15)
    assert first[3] < 0.9
    assert run.medium is MEDIUM


SHAPE = (12, 18)


def room(door: float = 12.0) -> Medium:
    """Return a room with a partition and a door in it, losing heat in every way there is."""
    conductivity, capacity = np.full(SHAPE, 12.0), np.full(SHAPE, 3600.0)
    conductivity[:, 9], capacity[:, 9] = 0.2, 9e4
    conductivity[5:7, 9] = door
    if door > 1:
        capacity[5:7, 9] = 3600.0
    window = np.where(np.arange(12) < 5, 2.8, 0.3)
    films: Sides = ((window, 0.3), (np.inf, 0.0))
    return Medium((0.3, 0.25), conductivity, capacity, np.full(SHAPE, 0.4), films, beyond=2.5)


def driven(world: np.random.Generator, *batch: int) -> Drive:
    """Return everything on at once."""
    power = world.uniform(-20, 75, (*batch, *SHAPE))
    outside: Sides = ((world.uniform(-9, 0, 12), 1.0), (float(world.uniform(2, 3)), 4.0))
    return Drive(power, outside, -3.0)


def test_no_heat_is_made_or_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored = powered - out - ventilated at every step, doors or not, to 1e-12 of what flowed.

    Control: flows that are reckoned from the end of each step, not as the step used them.
    """
    world = np.random.default_rng(1)
    closed, opened = room(0.2), room()

    def worst() -> float:
        run = Run(closed, world.normal(0, 2, SHAPE))
        gaps, turned = [], 0.0
        for count in range(60):
            medium = opened if count // 7 % 2 else closed
            last = run.balance
            run.step(driven(world), 30.0 if count < 40 else 45.0, medium)
            turned += sum(abs(now - then) for now, then in zip(run.balance, last, strict=True))
            gaps.append(abs(run.balance.missing_j) / turned)
        return float(max(gaps))

    right = worst()
    honest = run_.outflow
    monkeypatch.setattr(
        run_, "outflow", lambda system, field, drive: honest(system, 1.001 * field, drive)
    )

    assert right < 1e-12
    assert worst() > 1e-6


def test_what_power_here_does_there_power_there_does_here() -> None:
    """Reciprocity, through a half-open room of unlike materials, at every step."""
    medium = room()
    here, there = (2, 3), (9, 15)
    power = np.zeros((2, *SHAPE))
    power[(0, *here)] = power[(1, *there)] = 75.0
    run = Run(medium, np.zeros((2, *SHAPE)))
    for _ in range(40):
        run.step(still(medium, power), 60.0)
        there_k, here_k = run.field_k[(0, *there)], run.field_k[(1, *here)]
        assert there_k == pytest.approx(here_k, rel=1e-9, abs=1e-14)

    assert run.field_k[(0, *there)] > 1e-3


def test_a_source_is_answered_alike_whenever_it_starts_and_only_fades_after() -> None:
    """So one run with a pulse has the response of every other run, bit for bit.

    No cell warms above the warmest or cools below nought without heat or loss.
    """
    medium, pulse = room(), np.zeros(SHAPE)
    pulse[3, 4] = 75.0
    early, late = Run(medium), Run(medium)
    for _ in range(5):
        late.step(still(medium), 60.0)
    warmest = []
    for count in range(8):
        for run in (early, late):
            run.step(still(medium, pulse if count == 0 else None), 60.0)
        warmest.append(early.field_k.max())

    assert np.array_equal(early.field_k, late.field_k)
    assert warmest == sorted(warmest, reverse=True)
    assert early.field_k.min() >= 0


def test_it_is_of_first_order_in_time() -> None:
    """Half the step, half the error: against steps so short that they stand for none."""
    world = np.random.default_rng(2)
    start, drive, fields = world.normal(0, 2, SHAPE), driven(world), []
    for steps in (2048, 32, 64, 128):
        run = Run(room(), start)
        for _ in march(run, lambda *_: drive, 600.0 / steps, 600.0):
            pass
        fields.append(run.field_k)
    errors = [float(np.abs(field - fields[0]).max()) for field in fields[1:]]

    assert [math.log2(one / other) for one, other in pairwise(errors)] == pytest.approx(
        [1.0, 1.0], abs=0.15
    )


def test_many_fields_go_as_each_would_alone() -> None:
    """Fields, powers and balances; one power serves all fields where it is given once."""
    world = np.random.default_rng(8)
    medium, fields = room(), world.normal(0, 2, (3, *SHAPE))
    drives = [driven(world, 3) for _ in range(4)] + [driven(world)]
    many = Run(medium, fields)
    for drive in drives:
        many.step(drive, 20.0)
    for at in range(3):
        one = Run(medium, fields[at])
        for drive in drives:
            power = drive.power_w if drive.power_w.ndim == 2 else drive.power_w[at]
            one.step(drive._replace(power_w=power), 20.0)
        assert one.field_k == pytest.approx(many.field_k[at], rel=1e-10, abs=1e-10)
        for part, parts in zip(one.balance, many.balance, strict=True):
            assert part == pytest.approx(np.asarray(parts)[at], rel=1e-9)


def test_doors_that_open_and_close_again_are_prepared_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Factors are kept for each medium, few enough to fit."""
    made: list[Medium] = []
    ready = run_.ready

    def counted(medium: Medium, step_s: float) -> object:
        made.append(medium)
        return ready(medium, step_s)

    monkeypatch.setattr("physics.diffusion.run.ready", counted)
    media = [room(), room(0.2)]
    run = Run(media[0])
    for count in range(12):
        run.step(still(media[0]), 30.0, media[count // 3 % 2])
    for count in range(100):
        run.step(still(media[0]), 1.0 + count)

    assert made[:2] == media
    assert len(made) == 102
    assert len(run._prepared) <= 8


def test_a_field_that_was_kept_stays_as_it_was() -> None:
    """Each step makes a new array and nobody can write into one."""
    run = Run(room())
    kept = run.field_k
    run.step(driven(np.random.default_rng(0)), 10.0)

    assert not kept.any()
    with pytest.raises(ValueError, match="read-only"):
        run.field_k[0, 0] = 1.0


def test_media_are_told_apart_by_every_part_of_them() -> None:
    """And are the same where a film is written once or for every cell."""
    conductivity = np.full((8, 11), 12.0)
    conductivity[:, 5] = 0.2
    even = np.ones((8, 11))
    films: Sides = ((np.linspace(0, 3, 8), 0.3), (np.inf, 0.0))
    one = Medium((0.3, 0.25), conductivity, 3e3 * even, 0.4 * even, films, 2.5)
    others = [
        replace(one, cell_m=(0.3, 0.26)),
        replace(one, conductivity=np.nextafter(one.conductivity, 99)),
        replace(one, capacity=2 * one.capacity),
        replace(one, loss=0 * one.loss),
        replace(one, films=(one.films[0], (0.0, np.inf))),
        replace(one, films=((one.films[0][0], 0.31), one.films[1])),
        replace(one, beyond=2.6),
    ]
    same = replace(one, films=(one.films[0], (np.full(11, np.inf), np.zeros(11))))

    assert len({fingerprint(medium) for medium in (one, *others)}) == 8
    assert fingerprint(same) == fingerprint(one)
