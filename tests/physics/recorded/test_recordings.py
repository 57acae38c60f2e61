"""A recording on paper becomes experiments; a bad line is named, with what it should be."""

from pathlib import Path

import numpy as np
import pytest

from physics.air import ACTIVITIES
from physics.recorded.experiments import COLUMNS, Experiment, read

NODES = "node,x_m,y_m,z_m\nceiling,2.0,1.5,2.8\ndesk,1.0,0.5,0.9\n"


def lines(minutes: int = 6) -> list[str]:
    """Return a reading each ten seconds; one person from the second minute on."""
    told = [",".join(COLUMNS)]
    for at_s in range(0, 60 * minutes + 10, 10):
        there = 120 <= at_s
        for node, offset_c in (("ceiling", 0.5), ("desk", 0.0)):
            warm_c = 21 + offset_c + (at_s - 120) / 1000 * there
            who = "1,office" if there else "0,"
            told.append(f"one,2026-03-02,{at_s},{node},{warm_c:.3f},{who},0")
    return told


def written(folder: Path, told: list[str]) -> tuple[Experiment, ...]:
    """Return what is read of these lines."""
    (folder / "nodes.csv").write_text(NODES)
    (folder / "recording.csv").write_text("\n".join(told) + "\n")
    return read(folder / "recording.csv", folder / "nodes.csv", (4.0, 3.0, 2.9))


def test_a_recording_is_read(tmp_path: Path) -> None:
    (one,) = written(tmp_path, lines())

    assert one.entered == 6  # steps of twenty seconds
    assert one.power_w[6:] == pytest.approx(ACTIVITIES["office"].air_w)
    assert one.baseline_c == pytest.approx([21.5, 21.0])
    assert one.trends_k_per_s == pytest.approx([0.0, 0.0], abs=1e-12)
    assert one.warming_k[1, :3] == pytest.approx([0.005, 0.025, 0.045])
    assert not one.door_open


def test_the_order_of_the_lines_does_not_matter(tmp_path: Path) -> None:
    told = lines()
    (one,) = written(tmp_path, told)
    (other,) = written(tmp_path, [told[0], *told[:0:-1]])

    assert np.array_equal(one.temp_c, other.temp_c)
    assert np.array_equal(one.power_w, other.power_w)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("1,office", "1,sleeping", "line 26: activity 'sleeping' but expected one of seated"),
        ("21.000", "warm", "line 3: temp_c 'warm' but expected a finite number"),
        ("desk", "dusk", "line 3: node 'dusk' but expected one that nodes.csv places"),
        ("21.000", "294.15", "line 3: temp_c 294.15 but expected degrees Celsius"),
        ("0,,0", "-1,office,0", "line 2: people -1 but expected a whole number from 0"),
        ("0,,0", "0,,ajar", "line 2: door_open 'ajar' but expected a finite number"),
        ("0,,0", "0,,2", "line 2: door_open 2 but expected 0 or 1"),
        ("0,,0", "0", "line 2: door_open None but expected a finite number"),
        ("door_open", "door", "line 1: no column door_open but expected the columns experiment"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, old: str, new: str, named: str) -> None:
    told = "\n".join(lines()).replace(old, new, 1).split("\n")
    with pytest.raises(ValueError, match=named) as fault:
        written(tmp_path, told)
    assert "recording.csv" in str(fault.value)
    assert "A line looks like: monday-1,2026-03-02,12.5,3,21.42,2,office,0" in str(fault.value)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("0.9", "", "line 3: z_m '' but expected a finite number"),
        ("1.0,0.5", "1.0,5.0", "line 3: place .* but expected metres inside a room of 4 x 3"),
        ("desk", "ceiling", "line 3: node 'ceiling' again but expected each node once"),
    ],
)
def test_a_thermometer_that_is_nowhere_is_named(
    tmp_path: Path, old: str, new: str, named: str
) -> None:
    (tmp_path / "nodes.csv").write_text(NODES.replace(old, new))
    (tmp_path / "recording.csv").write_text("\n".join(lines()))
    with pytest.raises(ValueError, match=rf"nodes\.csv, {named}.* like: 3,2.38,3.45,2.25"):
        read(tmp_path / "recording.csv", tmp_path / "nodes.csv", (4.0, 3.0, 2.9))


def test_a_recording_of_nothing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"recording\.csv, line 2: the end of the file"):
        written(tmp_path, lines()[:1])
    with pytest.raises(ValueError, match=r"recording\.csv: experiment one has nobody in it"):
        written(tmp_path, lines()[:20])


def test_files_as_editors_save_them(tmp_path: Path) -> None:
    """A mark at the start is none of ours; another encoding or no file at all is named."""
    (one,) = written(tmp_path, lines())
    marked, nodes = tmp_path / "recording.csv", tmp_path / "nodes.csv"
    marked.write_bytes(b"\xef\xbb\xbf" + marked.read_bytes().replace(b"\n", b"\r\n"))
    (other,) = read(marked, nodes, (4.0, 3.0, 2.9))
    marked.write_text(marked.read_text("utf-8-sig"), "utf-16")

    assert np.array_equal(one.temp_c, other.temp_c)
    for path in (marked, tmp_path / "none.csv", tmp_path):
        with pytest.raises(ValueError, match=r"line 1: .* but expected a CSV file in UTF-8"):
            read(path, nodes, (4.0, 3.0, 2.9))
    with pytest.raises(ValueError, match="x, y and height"):
        read(tmp_path / "recording.csv", nodes, (4.0, 3.0))


def test_two_people_give_twice_as_much(tmp_path: Path) -> None:
    told = [line.replace("1,office", "2,office") for line in lines()]
    (one,) = written(tmp_path, told)

    assert one.power_w[6:] == pytest.approx(2 * ACTIVITIES["office"].air_w)


def test_warming_is_counted_from_the_last_minute(tmp_path: Path) -> None:
    """An empty room that warms by a millikelvin a second: that minute's middle, not all before."""
    told = [",".join(COLUMNS)]
    for at_s in range(0, 610, 10):
        who = "1,office" if at_s >= 400 else "0,"
        told += [f"one,d,{at_s},{node},{20 + at_s / 1000},{who},0" for node in ("ceiling", "desk")]
    (one,) = written(tmp_path, told)

    assert one.baseline_c == pytest.approx([20 + (340 + 390) / 2000] * 2)
    assert one.trends_k_per_s == pytest.approx([1e-3] * 2)
