"""Sets of places are read as they are published, and cut to a town."""

import gzip
from pathlib import Path

import pytest

from physics.published import cut, rows_of

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
    ((user, *place),) = rows_of(out)
    assert tuple(place) == HERE[1:]
    assert user == ("3" if text == CRIME else "7")  # a crime has no user: its row stands for one


def test_a_mark_before_the_header_hides_no_user(tmp_path: Path) -> None:
    """Excel writes one before UTF-8; every row would be one more person."""
    path = tmp_path / "set.csv"
    path.write_text("user,lon,lat\n7,1,2\n7,3,4\n", "utf-8-sig")

    assert [user for user, *_ in rows_of(path)] == ["7", "7"]


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
