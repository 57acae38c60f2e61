"""Files of sources and of frames: what they hold, and what is said of a bad one."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from edge.core.records import Grid
from physics.files import read_frames, read_points, read_sources
from physics.points import find_cells, histogram, normal, szipf
from physics.published import cut, read_rows

LINE, PLANE = "position,intensity\n", "x,y,intensity\n"


@pytest.mark.parametrize(
    "text",
    [
        LINE + "0,1\n0.5,0.25\n1,0\n",
        "\ufeffPosition, Intensity\r\n0, 1\r\n\r\n 0.5 ,0.25\r\n1.0,0.0",
        '"position","intensity"\n"0","1"\n"5e-1","0.25"\n"1","0"\n',
    ],
)
def test_sources_along_a_line(tmp_path: Path, text: str) -> None:
    """However a spreadsheet or an editor writes it."""
    path = tmp_path / "sources.csv"
    path.write_bytes(text.encode())
    places, intensities = read_sources(path)

    assert places.tolist() == [0, 0.5, 1]
    assert intensities.tolist() == [1, 0.25, 0]


def test_sources_in_a_plane_of_metres(tmp_path: Path) -> None:
    """Each axis ends where the room does."""
    path = tmp_path / "sources.csv"
    path.write_text(PLANE + "3.5,1.5,1\n")
    places, _ = read_sources(path, (4.0, 2.0))

    assert places.tolist() == [[3.5, 1.5]]
    with pytest.raises(ValueError, match=r"line 2: x is .3\.5. but must be a finite"):
        read_sources(path)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "line 1: the header is missing but must be 'position,intensity' or"),
        ("position;intensity\n0,5;1\n0.5;warm\n", "line 3: intensity is 'warm' but must"),
        ("position\tintensity\n0.5\t1\n", r"line 1: the header is .position\\tintensity."),
        (LINE, r"has 0 source\(s\) with no heat"),
        (LINE + "0.5,1\n1.2,1\n", "line 3: position is '1.2' but must be a finite number from 0"),
        (LINE + "nan,1\n", "line 2: position is 'nan' but must"),
        (LINE + "0.5,-1\n", "line 2: intensity is '-1' but must be a finite number nought or"),
        (LINE + "0.5,1e999\n", "line 2: intensity is '1e999' but must"),
        (LINE + "0.5,warm\n", "line 2: intensity is 'warm' but must"),
        (LINE + "\n0.5\n", "line 3: there are 1 values but 2 are needed, position,intensity"),
        (LINE + "\n0,5,1\n", "line 3: there are 3 .* decimal commas, part them by semicolons"),
        (LINE + "2,1\n0.5,1\n3,1\n4,1\n", r"line 2: .*\(more faults in line 4, 5\)"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, text: str, fault: str) -> None:
    """File, line, value and need, so that it can be mended without a search."""
    path = tmp_path / "sources.csv"
    path.write_text(text)

    with pytest.raises(ValueError, match=fault) as caught:
        read_sources(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_clip_of_frames_comes_back_whole(tmp_path: Path) -> None:
    """Small unsigned counts become whole numbers that can be subtracted."""
    path, frames = tmp_path / "clips.npz", np.arange(3 * 8 * 8, dtype=np.uint8).reshape(3, 8, 8)
    np.savez(path, background=frames, walk=frames + 1)
    np.savez(tmp_path / "one.npz", only=frames)
    clip = read_frames(path, "walk")

    assert clip.dtype == np.int64
    assert (clip == frames + 1).all()
    assert (read_frames(tmp_path / "one.npz") == frames).all()


@pytest.mark.parametrize(
    ("frames", "fault"),
    [
        (np.ones((8, 8), int), r"has shape \(8, 8\) of int64 but must be"),
        (np.ones((2, 8, 8)), r"of float64 but must be \(frames, rows, columns\) of whole"),
        (np.ones((0, 8, 8), int), r"has shape \(0, 8, 8\)"),
        (np.array([None]), "cannot be read"),
    ],
)
def test_an_array_that_is_no_clip_is_refused(tmp_path: Path, frames, fault: str) -> None:
    """Floats would be rounded behind the recorder's back."""
    path = tmp_path / "clips.npz"
    np.savez(path, walk=frames)

    with pytest.raises(ValueError, match=fault):
        read_frames(path, "walk")


# Points of people: the laws they are drawn by, the cells they fall in, and files of them.


def world(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_hill_has_the_moments_that_the_paper_gives_it() -> None:
    """Figure 9 stands on them; a hill without its correlation must not pass."""
    x, y = (10 * normal(200_000, world()) - 5).T

    assert abs(x.mean()) < 0.01
    assert abs(y.var() - 1) < 0.01
    assert abs(np.corrcoef(x, y)[0, 1] - 0.5) < 0.01


@pytest.mark.parametrize("seed", [1, 2])
def test_skew_zipf_falls_as_its_density_does(seed: int) -> None:
    """Against scipy's test of the law; uniform points are the negative control."""

    def law(x: np.ndarray) -> np.ndarray:
        return np.log2(1 + x)

    points = szipf(50_000, world(seed))

    assert stats.kstest(points[:, 0], law).pvalue > 1e-3
    assert stats.kstest(points[:, 1], law).pvalue > 1e-3
    assert stats.kstest(world(seed).random(50_000), law).pvalue < 1e-9


def test_cells_are_half_open_and_outsiders_are_moved_in() -> None:
    """A point that is dropped tells that somebody was there."""
    points = np.array([[0, 0], [0.25, 0], [0.249, 0.51], [-3, 1e300], [np.inf, -np.inf]])

    assert find_cells(points, Grid((4, 2), 0)).tolist() == [0, 1, 4, 4, 3]


def test_cells_in_metres_are_squares_of_their_size() -> None:
    """On a grid in metres the size of a cell counts, not the size of the grid."""
    points = np.array([[0.49, 0.5], [3.0, 0.99]])

    assert find_cells(points, Grid((4, 3), 500)).tolist() == [4, 7]
    assert find_cells(np.array([0.6, 9.0]), Grid((4, 1), 500)).tolist() == [1, 3]


def test_counts_have_rows_first() -> None:
    """A map that is transposed looks right on every square example."""
    assert histogram(np.array([[0.9, 0.1], [0.9, 0.1]]), Grid((3, 2), 0)).tolist() == [
        [0, 0, 2],
        [0, 0, 0],
    ]


def test_what_stands_nowhere_is_refused() -> None:
    """NaN cast to a whole number is a cell, and a wrong one."""
    with pytest.raises(ValueError, match=r"point 1 is \[nan, 0.5\] but must have a place"):
        find_cells(np.array([[0.1, 0.1], [np.nan, 0.5]]), Grid((2, 2), 0))
    with pytest.raises(ValueError, match=r"must be \(n, 2\)"):
        find_cells(np.array([0.1, 0.2]), Grid((2, 2), 0))


def test_a_file_of_points_is_read(tmp_path: Path) -> None:
    """A user keeps one number however many points are his."""
    path = tmp_path / "points.csv"
    path.write_text("\ufeffuser,x,y,weight\nann,1,2,3\nbob,-0.5,1e3,0\n\nann,3,4,1\n", "utf-8")
    read = read_points(path)

    assert read.users.tolist() == [0, 1, 0]
    assert read.places.tolist() == [[1, 2], [-0.5, 1000], [3, 4]]
    assert read.weights.tolist() == [3, 0, 1]


def test_semicolons_part_words_and_leave_commas_to_numbers(tmp_path: Path) -> None:
    """As a spreadsheet writes it where commas are decimal."""
    path = tmp_path / "points.csv"
    path.write_text("user; x; y\nann; 0,25; 1e0\nbob; -1,5; 3.5\n", "utf-8")

    assert read_points(path).places.tolist() == [[0.25, 1], [-1.5, 3.5]]


def test_a_long_file_is_read_part_by_part(tmp_path: Path) -> None:
    """And its faults are still told by their lines."""
    path, rows = tmp_path / "points.csv", [f"u{n % 1500},{n},2" for n in range(2000)]
    path.write_text("\n".join(["user,x,y", *rows]), "utf-8")
    read = read_points(path)
    path.write_text("\n".join(["user,x,y", *rows, "ann,1", *rows]), "utf-8")

    assert read.users.tolist() == [n % 1500 for n in range(2000)]
    assert read.places[:, 0].tolist() == list(range(2000))
    with pytest.raises(ValueError, match="line 2002: there are 2 values but 3"):
        read_points(path)


def test_degrees_become_metres_from_the_north_western_corner(tmp_path: Path) -> None:
    """By PROJ's geodesics, across twenty kilometres of a town."""
    geod = pytest.importorskip("pyproj", reason="pip install -e '.[geo]'").Geod(ellps="WGS84")
    path, places = tmp_path / "points.csv", [(13.2, 52.6), (13.2, 52.4), (13.5, 52.6)]
    rows = "".join(f"{n},{east},{north}\n" for n, (east, north) in enumerate(places))
    path.write_text("user,longitude,latitude\n" + rows, "utf-8")
    found = read_points(path).places
    corner, down, across = found

    assert np.hypot(*(down - corner)) == pytest.approx(geod.inv(*places[0], *places[1])[2], 1e-5)
    assert np.hypot(*(across - corner)) == pytest.approx(geod.inv(*places[0], *places[2])[2], 1e-5)
    assert found.min(axis=0).tolist() == [0, 0]
    assert down[1] > corner[1]
    assert across[0] > corner[0]
    path.write_text("user,longitude,latitude\na,52,13\nb,13,52\n", "utf-8")
    with pytest.raises(ValueError, match="within 500 km"):
        read_points(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: the header is missing"),
        ("x,y\n1,2\n", "must be 'user,x,y'"),
        ("user,x,y\na,1\n", "line 2: there are 2 values but 3 are needed"),
        ("user,x,y\na,1,2\nb,nan,2\nc,1,inf\n", r"line 3: x is 'nan'.*more faults in line 4"),
        ("user,x,y\n,1,2\n", "line 2: the user is missing"),
        ("user,x,y,weight\na,1,2,-1\n", "weight is '-1'"),
        ("user,x,y,weight\na,1,2,0\n", "no weight in all"),
        ("user,x,y\n", "a header and no point"),
    ],
)
def test_a_faulty_file_is_refused_by_its_line(tmp_path: Path, text: str, said: str) -> None:
    """Whoever has ten thousand rows needs the line."""
    path = tmp_path / "points.csv"
    path.write_text(text, "utf-8")

    with pytest.raises(ValueError, match=said):
        read_points(path)


# Sets of places are read as they are published, and cut to a town.

HERE = ("7", -73.99, 40.73)
SNAP = "0\t2010-10-19T23:55:27Z\t30.23\t-97.79\t22847\n7\t2010-10-18T22:17:43Z\t40.73\t-73.99\t9\n"
TSMC = "7\t49bbd\t4bf58\tArts & Crafts \xe9\t40.73\t-73.99\t-240\tTue Apr 03 18:00:09 +0000 2012\n"
CRIME = (
    'ID,Case Number,Latitude,Longitude,Location\n1,HX,,,\n2,HY,40.73,-73.99,"(40.73, -73.99)"\n'
)
TAXI = "medallion,pickup_longitude,pickup_latitude\n7,-73.99,40.73\n8,0,0\n"


@pytest.mark.parametrize("text", [SNAP, TSMC, CRIME, TAXI], ids=["snap", "tsmc", "crime", "taxi"])
@pytest.mark.parametrize("ending", [".txt", ".gz"])
def test_whoever_is_in_the_window_is_written(tmp_path: Path, text: str, ending: str) -> None:
    """The columns where each publisher has them; rows without a place are nobody's."""
    path, out = tmp_path / f"set{ending}", tmp_path / "points.csv"
    bytes_ = text.encode("latin-1")
    path.write_bytes(gzip.compress(bytes_) if ending == ".gz" else bytes_)

    assert cut(path, (-74.1, 40.6, -73.7, 40.9), out) == 1
    ((user, *place),) = read_rows(out)
    assert tuple(place) == HERE[1:]
    assert user == ("3" if text == CRIME else "7")  # a crime has no user: its row stands for one


def test_a_mark_before_the_header_hides_no_user(tmp_path: Path) -> None:
    """Excel writes one before UTF-8; every row would be one more person."""
    path = tmp_path / "set.csv"
    path.write_text("user,lon,lat\n7,1,2\n7,3,4\n", "utf-8-sig")

    assert [user for user, *_ in read_rows(path)] == ["7", "7"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "line 1 is 'a,b' but must be a header"),
        ("", "line 1 is '' but"),
        (TAXI + "9,east,40\n", "line 4 is '9,east,40' but"),
        (SNAP + "1\t2\n", "line 3"),
    ],
)
def test_another_format_is_told_by_its_first_bad_line(
    tmp_path: Path, text: str, said: str
) -> None:
    """Of a million lines nobody finds it by eye."""
    path = tmp_path / "set.txt"
    path.write_text(text)

    with pytest.raises(ValueError, match=said):
        cut(path, (-74.1, 40.6, -73.7, 40.9), tmp_path / "points.csv")
