"""People of a room file as records: what they give off, and where a recording shows them."""

from pathlib import Path

import pytest

from physics.air import ACTIVITIES
from physics.rooms.read import read

ROOM = """
[room]
name = "r"
size_m = [6.0, 4.0]
height_m = 2.5
cell_mm = 100
[thermometers]
kind = "tmp117"
count = [2, 2]
[[walker]]
trace = "trace.csv"
activity = "walking"
frames_per_s = 2.0
frame_px = [16, 12]
rect_m = [1.0, 2.0, 4.0, 1.5]
at = "09:00"
"""


def test_a_recording_is_put_on_its_floor(tmp_path: Path) -> None:
    """Corner, middle and far corner of the frame are those of the rectangle that it shows."""
    (tmp_path / "trace.csv").write_text("frame,x_px,y_px\n0,0,0\n1,8,6\n2,16,12\n")
    (tmp_path / "room.toml").write_text(ROOM)
    (walker,) = read(tmp_path / "room.toml").walkers

    places = [place for _, (place,) in walker.frames]
    assert [xy for place in places for xy in place] == pytest.approx([1, 2, 3, 2.75, 5, 3.5])
    assert walker.power_w == pytest.approx(110 * 0.51)  # ASHRAE, still air, what is not radiated
    assert walker.power_w < ACTIVITIES["walking"].sensible_w
