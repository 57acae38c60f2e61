"""The rooms that come with the program: each can be read, and its day can be lived."""

import re
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from physics.diffusion.run import Run
from physics.rooms import model
from physics.rooms.day import day, is_straight, may_stand
from physics.rooms.plan import mean
from physics.rooms.read import read, sample
from physics.rooms.reading.tables import TABLES

ROOMS = Path(model.__file__).parent


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(path.stem for path in ROOMS.glob("*.toml")))
def test_a_day_can_be_lived_in_every_sample(name: str) -> None:
    """Nobody ever stands in things or walks through them, and everybody is inside."""
    room = read(ROOMS / f"{name}.toml")
    tracks = day(room, np.random.default_rng(1)).tracks

    assert len(tracks) >= 7
    for track in tracks:
        assert (np.diff(track.at_s) >= 0).all()
        assert track.joules > 0
        for start, end in pairwise(track.places_m.tolist()):
            assert is_straight(room, tuple(start), tuple(end))
            assert may_stand(room, tuple(end))
        assert (track.places_m >= 0).all()
        assert (track.places_m <= room.size_m).all()


def test_every_table_is_in_the_sample_and_can_be_taken_from_it(tmp_path: Path) -> None:
    """With the # of its commented lines taken away it is a room that has each table there is."""
    text, lines = re.subn(r"^#(?=\S)", "", sample(), flags=re.MULTILINE)
    (tmp_path / "room.toml").write_text(text, encoding="utf-8")
    shutil.copy(ROOMS / "meeting.csv", tmp_path)
    room = read(tmp_path / "room.toml")

    assert lines >= 20
    assert {name for name in TABLES if re.search(rf"^\[+{name}\]", text, re.MULTILINE)} == {
        *TABLES
    }
    assert room.arrivals is not None
    assert len(room.arrivals.seats_m) == len(room.walkers) == len(room.arrays) == 1


@pytest.mark.long
def test_people_warm_the_office_where_they_sit() -> None:
    """A morning of the sample: warmer with people than without, most of all at their desks."""
    room = read(ROOMS / "office.toml")
    today = day(room, np.random.default_rng(1))
    fields = []
    for people in (True, False):
        run = Run(model.medium(room, 0.0), at_s=7 * 3600.0, always_damped=True)
        for _ in range(60):
            since = run.at_s
            until = since + 300.0
            told = (
                model.drive(room, today, since, until)
                if people
                else model.empty(room, since, until)
            )
            run.step(told, 300.0, model.media(room, since, until))
        fields.append(run.field_k)
    warmer = mean(room, fields[0] - fields[1])
    row, column = np.unravel_index(np.argmax(warmer), warmer.shape)

    assert warmer.min() > -1e-3
    assert 0.2 < warmer.mean() < 1.0
    desks = np.array([[5.45, 1.0], [5.45, 3.0], [3.3, 1.1]])
    place = np.array([column + 0.5, row + 0.5]) * room.cell_mm / 1000
    assert np.hypot(*(desks - place).T).min() < 0.15
