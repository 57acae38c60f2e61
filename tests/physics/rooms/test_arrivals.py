"""Who is in a room: people who arrive and leave, and the hours in which nobody is there."""

import csv
import gzip
import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from physics.places import Floats
from physics.rooms import model
from physics.rooms.day import (
    Day,
    draw_arrivals,
    draw_day,
    is_straight,
    link_frames,
    may_stand,
    replay_tracks,
)
from physics.rooms.read import read_recorded_people, read_room
from physics.rooms.records import Air, Arrivals, Clock, Frames, Room, Side, Walker
from physics.rooms.vacant import DAY_S, Vacant, list_causes, repeat_daily

# Visitors by chance: their law, their ways, and their seats.

# None before eight, then six an hour, one and a half from noon, none after six.
PER_H = ((8 * 3600.0, 6.0), (12 * 3600.0, 1.5), (18 * 3600.0, 0.0))
MEAN = 4 * 6.0 + 6 * 1.5


@pytest.fixture(scope="module")
def office() -> Room:
    """Return the room of these tests with visitors and without its people."""
    room = read_room(Path(model.__file__).parent / "office.toml")
    seats = ((5.45, 1.0), (5.45, 3.0), (3.3, 1.1), (1.5, 1.6))
    comers = Arrivals(PER_H, 30.0, 28.0, 1.0, (0.3, 3.8), seats)
    return replace(room, people=(), arrivals=comers)


def test_visitors_are_a_poisson_process() -> None:
    """Mean and variance of the counts are equal, and of each half of the day; gaps have no memory.

    The bounds are four standard deviations of what 4,000 days can say, at a fixed seed.
    """
    world = np.random.default_rng(11)
    days = [draw_arrivals(PER_H, 0.0, 86400.0, world) for _ in range(4000)]
    morning = np.array([(moments < 12 * 3600).sum() for moments in days])
    counts = np.array([len(moments) for moments in days])
    within = 4 / math.sqrt(len(days))

    assert abs(counts.mean() - MEAN) < within * math.sqrt(MEAN)
    assert abs(counts.var() / MEAN - 1) < within * math.sqrt(2 + 1 / MEAN)
    assert abs(morning.mean() - 24) < within * math.sqrt(24)
    assert abs(np.corrcoef(morning, counts - morning)[0, 1]) < within
    moments = np.concatenate(days)
    assert moments.min() >= 8 * 3600
    assert moments.max() <= 18 * 3600
    early = moments[moments < 12 * 3600]
    assert stats.kstest(early, stats.uniform(8 * 3600, 4 * 3600).cdf).pvalue > 1e-3
    # Negative control: one visitor every ten minutes has the mean but not the variance.
    regular = np.array([24 + 9] * len(days))
    assert abs(regular.var() / MEAN - 1) > within * math.sqrt(2 + 1 / MEAN)


def test_the_same_seed_is_the_same_day(office: Room) -> None:
    """A day can be told by its number; another number is another day."""
    one, same, other = (draw_day(office, np.random.default_rng(seed)) for seed in (3, 3, 4))

    assert [track.at_s.tolist() for track in one.tracks] == [t.at_s.tolist() for t in same.tracks]
    assert one.tracks[0].at_s[0] != other.tracks[0].at_s[0]


def test_visitors_walk_round_things_at_their_speed(office: Room) -> None:
    """Each leg is free of walls and desks, no faster than told; each ends where it began."""
    for track in draw_day(office, np.random.default_rng(3)).tracks:
        places = [(x, y) for x, y in track.places_m.tolist()]
        for (start, since), (end, until) in pairwise(zip(places, track.at_s, strict=True)):
            assert is_straight(office, start, end)
            assert math.dist(start, end) <= 1.0 * (until - since) + 1e-9
        assert places[0] == places[-1] == (0.3, 3.8)
        assert may_stand(office, places[len(places) // 2])


@pytest.mark.long
@pytest.mark.parametrize("seats", [((5.45, 1.0), (3.3, 1.1)), ()])
def test_nobody_sits_on_anybody(office: Room, seats: tuple[tuple[float, float], ...]) -> None:
    """A crowd that comes for long stays: seats go to one each, and no more come than there are."""
    comers = replace_arrivals(office, per_h=((8 * 3600.0, 25.0),), seats_m=seats, stay_min=300.0)
    crowd = draw_day(comers, np.random.default_rng(8))
    seated = [
        (track.at_s[0], track.at_s[-1], max_stay(track.at_s, track.places_m))
        for track in crowd.tracks
    ]

    for since, until, seat in seated:
        others = [it for it in seated if it[0] < until and it[1] > since and it[2] != seat]
        both = [it for it in seated if it[0] < until and it[1] > since]
        assert len(both) - len(others) == 1
        if not seats:
            assert all(math.dist(seat, it[2]) >= 0.6 for it in others)
    if seats:
        assert most_at_once(crowd) == 2


@pytest.mark.long
def test_visitors_stay_for_an_exponential_time() -> None:
    """Each stay, without its walks, has the law that was told; half as long has not."""
    calm = {name: Side(0.0, ((0.0, 20.0),)) for name in ("north", "east", "south", "west")}
    air = Air(0.005, 0.0, 12.0, 20.0, ((0.0, 20.0),))
    comers = Arrivals(((0.0, 3.0),), 30.0, 28.0, 1.0, (0.2, 0.2), ((2.2, 0.2), (3.2, 0.2)))
    room = Room("r", (4.0, 1.0), 2.5, 100, air, Clock(0.0, 24.0, 60.0), calm, arrivals=comers)
    world = np.random.default_rng(12)
    stays = [
        np.diff(track.at_s).max() for _ in range(40) for track in draw_day(room, world).tracks
    ]

    assert stats.kstest(stays, stats.expon(scale=1800).cdf).pvalue > 1e-3
    assert stats.kstest(stays, stats.expon(scale=900).cdf).pvalue < 1e-9


def replace_arrivals(room: Room, **parts: object) -> Room:
    """Return the room with other visitors."""
    return replace(room, arrivals=room.arrivals._replace(**parts))


def max_stay(at_s: np.ndarray, places: np.ndarray) -> tuple[float, float]:
    """Return where a track is longest."""
    x, y = places[np.argmax(np.diff(at_s))]
    return float(x), float(y)


def most_at_once(crowd: Day) -> int:
    """Return how many are there at once at most."""
    return max(len(crowd.list_present(track.at_s[0])) for track in crowd.tracks)


# Recorded positions, linked into people: nobody is lost and nobody invented.


HALL = Room("hall", (4.0, 3.0), 2.5, 100, Air(0.005, 0, 12, 20, ((0, 20),)), Clock(0, 24, 60), {})
RECORDING = "thermal/thermo_presence_positions.csv.gz"


def walker(frames: Frames, **parts: object) -> Walker:
    """Return a walker of 28 W, two frames a second from nine o'clock."""
    kept = {"jump_m": 1.5, "gap_frames": 4, "at_s": (32400.0,)} | parts
    return Walker("w", 28.0, frames, 2.0, **kept)


@pytest.mark.long
def test_linked_tracks_have_the_recorded_counts(data: Path, tmp_path: Path) -> None:
    """At each of 13,643 frames as many people are in the room as were marked in it."""
    with gzip.open(data / RECORDING, "rt", newline="") as file:
        header, *rows = file.read().splitlines()
    marked: Counter[tuple[str, int]] = Counter()
    clips: dict[str, list[str]] = {}
    for text, row in zip(rows, csv.DictReader([header, *rows]), strict=True):
        marked[row["sequence"], int(row["frame"])] += bool(row["x_px"])
        clips.setdefault(row["sequence"], []).append(text)
    stays, people = 0, 0
    for sequence, texts in clips.items():
        (tmp_path / "clip.csv").write_text("\n".join([header, *texts]))
        frames = read_recorded_people(tmp_path / "clip.csv", (32.0, 24.0))
        numbers = sorted({int(text.split(",")[1]) for text in texts})
        in_metres = tuple(
            (frame, tuple((x / 8, y / 8) for x, y in places)) for frame, places in frames
        )
        tracks = replay_tracks(HALL, walker(in_metres))
        first = 32400.0 - numbers[0] / 2
        counts = [
            sum(track.at_s[0] <= first + frame / 2 <= track.at_s[-1] for track in tracks)
            for frame in numbers
        ]
        assert counts == [marked[sequence, frame] for frame in numbers]
        joules = sum(track.joules for track in tracks)
        assert joules == pytest.approx(28.0 * 0.5 * sum(counts))
        stays += len(tracks)
        people += len({track.name for track in tracks})

    assert sum(marked.values()) == 40213
    # Five people at most in 29 clips: most stay for a whole one, and few names are made up.
    assert people < 29 * 8
    assert stays < 1.5 * people


def test_two_who_follow_each_other_keep_their_names() -> None:
    """The pairs are the shortest together; nearest first, one after the other, would swap them."""
    places = [((0.4 * frame, 1.0), (0.6 + 0.4 * frame, 1.0)) for frame in range(6)]
    frames = tuple((at, pair[:: 1 if at % 2 else -1]) for at, pair in enumerate(places))
    one, other = sorted(link_frames(frames, 1.5, 4), key=lambda person: person[0])

    assert list(one.values()) == [first for first, _ in places]
    assert list(other.values()) == [second for _, second in places]
    # Negative control: the nearest pair of all is the wrong one.
    assert math.dist(places[0][1], places[1][0]) < math.dist(places[0][1], places[1][1])


def test_somebody_lost_for_a_while_is_known_again_but_not_there() -> None:
    """Three frames without a mark: one name, two stays, and no heat between."""
    seen = [0, 1, 2, 6, 7]
    frames = tuple((f, ((1.0 + 0.1 * f, 1.0),) if f in seen else ()) for f in range(8))
    known = replay_tracks(HALL, walker(frames, gap_frames=3))
    strangers = replay_tracks(HALL, walker(frames, gap_frames=2))

    assert [track.name for track in known] == ["w 1", "w 1"]
    assert [track.name for track in strangers] == ["w 1", "w 2"]
    assert sum(track.joules for track in known) == pytest.approx(5 * 0.5 * 28)
    assert known[0].find_place(32400.0 + 2.0) is None


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("a,x,1,1,1", "line 3: 'x,1,1'"),
        ("a,2,1,33,1", "line 3: a place at 33, 1"),
        ("a,2,1,1,", "line 3: '2,1,'"),
    ],
)
def test_a_row_that_makes_no_sense_is_named(row: str, says: str, tmp_path: Path) -> None:
    """The CSV has lines, too."""
    trace = tmp_path / "trace.csv"
    trace.write_text(f"sequence,frame,people,x_px,y_px\na,1,1,2,2\n{row}\n")

    with pytest.raises(ValueError, match=says):
        read_recorded_people(trace, (32.0, 24.0))
    with pytest.raises(ValueError, match="no position of 'b'"):
        read_recorded_people(trace.with_name("trace.csv"), (99.0, 99.0), "b")


# The empty room beside the clock, held against balances that one line of arithmetic gives.

# One cell, quickly stirred: one temperature, settled within the hour.
ROOM = """
[room]
name = "closet"
size_m = [2.0, 2.0]
height_m = 2.5
cell_mm = 2000
mixing_m2_per_s = 1.0
air_changes_per_h = 0.0
capacity_factor = 1
baseline_c = 20.0
step_s = 600
duration_h = 26
[east]
u_w_per_m2k = 4.0
outside_c = [["00:00", 5.0], ["01:00", 10.0], ["24:00", 10.0]]
[west]
u_w_per_m2k = 2.0
outside_c = 21.0
[thermometers]
kind = "tmp117"
places_m = [[1.0, 1.0]]
"""
SIDE_M2 = 2.0 * 2.5
HEATER = '[[heater]]\nrect_m = [0.0, 0.0, 2.0, 2.0]\npower_w = 60\non = [["22:00", "26:00"]]\n'


def clock(at_s: float) -> float:
    """Return the time of the day where midnight is a whole number of days."""
    return at_s % DAY_S


@pytest.fixture
def closet(tmp_path: Path) -> Room:
    """Return the room of these tests."""
    (tmp_path / "closet.toml").write_text(ROOM + HEATER)
    return read_room(tmp_path / "closet.toml")


def views(room: Room) -> Floats:
    """Return one sensor that sees the whole room."""
    cells = len(model.find_free_cells(room))
    return np.full((1, cells), 1 / cells)


def settled_k(power_w: float, east_c: float, west_c: float = 21.0) -> float:
    """Return how warm the room gets, but for the way to its walls: what comes in goes out."""
    through = 4.0 * SIDE_M2, 2.0 * SIDE_M2
    return (power_w + through[0] * (east_c - 20) + through[1] * (west_c - 20)) / sum(through)


def test_the_empty_room_comes_to_its_balance_and_each_cause_to_its_own(closet: Room) -> None:
    """The heater is on for two hours, which are long for so little air."""
    march = Vacant(closet, views(closet), 20 * 3600.0, clock=clock)
    seen = march.advance(DAY_S)
    names = [cause.name for cause in march.causes]
    by_name = dict(zip(names, seen.causes_k[0], strict=True))

    assert seen.warmth_k[0] == pytest.approx(settled_k(60, 10.0), rel=5e-3)
    assert by_name["heater 1"] == pytest.approx(settled_k(66, 10) - settled_k(60, 10), rel=5e-3)
    assert by_name["outdoors"] == pytest.approx(1.5 * 4 / 6, rel=5e-3)
    assert by_name["beyond west"] == pytest.approx(0.5 * 2 / 6, rel=5e-3)
    assert by_name["ventilation"] == 0
    assert [cause.name for cause in march.causes if cause.passes] == [
        "outdoors",
        "outdoors, by day",
        "beyond west",
        "supply",
    ]


def test_the_night_after_the_day_of_a_file_is_the_morning_of_the_next(closet: Room) -> None:
    """On till 26:00 is on till two, every night, and a door that is always open is so once."""
    every = repeat_daily(closet)
    watts = [
        model.make_empty_drive(every, 3600.0 * hour, 3600.0 * hour + 60).power_w.sum()
        for hour in (1, 3, 21, 23)
    ]
    assert watts == pytest.approx([60, 0, 0, 60])
    assert closet.sides["east"].outside_c == every.sides["east"].outside_c


def test_weather_that_is_known_takes_the_place_of_the_files_and_gaps_fall_back(
    closet: Room,
) -> None:
    """Outdoors alone: the neighbour's room is as warm as before."""
    until_s = 5 * 3600.0
    warm = Vacant(closet, views(closet), 0.0, lambda at_s: 16.0, clock).advance(until_s)
    lost = Vacant(closet, views(closet), 0.0, lambda at_s: None, clock).advance(until_s)

    assert warm.warmth_k[0] == pytest.approx(settled_k(0, 16.0), rel=5e-3)
    assert lost.warmth_k[0] == pytest.approx(settled_k(0, 10.0), rel=5e-3)


def test_stopped_and_resumed_it_goes_on_to_the_same_bits_wherever_it_was_looked_at(
    closet: Room,
) -> None:
    """The state is of whole steps, so a look in between leaves no trace."""
    through = Vacant(closet, views(closet), 0.0, clock=clock)
    whole = through.advance(7200.0)
    stopped = Vacant(closet, views(closet), 0.0, clock=clock)
    stopped.advance(1234.5)
    resumed = Vacant(closet, views(closet), 0.0, clock=clock).resume(stopped.to_state())
    parts = resumed.advance(7200.0)

    assert parts.warmth_k.tobytes() == whole.warmth_k.tobytes()
    assert parts.causes_k.tobytes() == whole.causes_k.tobytes()
    with pytest.raises(ValueError, match="heat does not go back"):
        resumed.advance(1234.5)


def test_a_state_of_another_room_or_a_broken_one_is_not_gone_on_from(
    closet: Room, tmp_path: Path
) -> None:
    """Its warmth would be another's, and nobody would see it in the map."""
    state = Vacant(closet, views(closet), 0.0, clock=clock).to_state()
    (tmp_path / "other.toml").write_text((ROOM + HEATER).replace("power_w = 60", "power_w = 61"))
    other = read_room(tmp_path / "other.toml")
    fresh = Vacant(closet, views(closet), 0.0, clock=clock)

    with pytest.raises(ValueError, match="another room"):
        Vacant(other, views(other), 0.0, clock=clock).resume(state)
    for broken in (
        {name: part for name, part in state.items() if name != "fields_k"},
        state | {"fields_k": state["fields_k"][:, :0]},
        state | {"fields_k": state["fields_k"] * np.nan},
        state | {"at_s": state["at_s"][1:]},
    ):
        with pytest.raises(ValueError, match="cannot be gone on from"):
            fresh.resume(broken)


def test_a_side_at_one_temperature_near_the_rooms_own_is_another_room(closet: Room) -> None:
    """It is no weather: what a weather file says is not said of it."""
    names = [cause.name for cause in list_causes(closet)]
    assert "beyond west" in names
    assert "beyond east" not in names
