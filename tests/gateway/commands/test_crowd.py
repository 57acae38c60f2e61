"""People of a file or an example: each is one device, and none is lost at the border."""

from pathlib import Path

import numpy as np
import pytest

from edge.disk import Table
from edge.records import Grid
from gateway.commands.act import Inputs
from gateway.commands.choices_disk import query
from gateway.commands.crowd import crowd_of, sides
from gateway.faults import OperatorFault
from recovery.disk import plan

WORLD = np.random.default_rng(1)


def _file(folder: Path, *rows: str, header: str = "user,x,y") -> Inputs:
    path = folder / "points.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return Inputs(points=str(path))


def test_x_goes_across_and_y_down(tmp_path: Path) -> None:
    """The map of a city must not come out turned over."""
    asked = query(grid="4x2")
    found = crowd_of(asked, _file(tmp_path, "ann,0.9,0.1", "bob,0.1,0.9"), WORLD)

    assert found.truth.tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]
    said = [reading.values for reading in found.readings(plan(asked, []))]
    assert said == [(3, 0), (0, 1)]


def test_with_a_length_points_are_in_metres(tmp_path: Path) -> None:
    """Eight metres in four columns: 5 m is in the third; three rows are six metres."""
    asked = query(grid="4x3", length=8)
    found = crowd_of(asked, _file(tmp_path, "ann,5,5.9"), WORLD)

    assert sides(asked.grid).tolist() == [8, 6]
    assert np.argwhere(found.truth).tolist() == [[2, 2]]
    assert found.outside == 0


def test_an_example_fills_the_room_whatever_its_unit() -> None:
    """The same people, in metres or in sides, are in the same cells."""
    plain, metric = (
        crowd_of(query(grid="6x6", length=length), Inputs(points="normal", users=300), world)
        for length, world in ((None, np.random.default_rng(2)), (12, np.random.default_rng(2)))
    )

    assert (plain.truth == metric.truth).all()
    assert plain.truth.sum() == 300


def test_who_stands_outside_answers_from_the_border(tmp_path: Path) -> None:
    """Dropping somebody would tell that he is outside; the file's maker hears of it."""
    inputs = _file(tmp_path, "ann,1.0,0.5", "bob,-3,0.5", "eve,0.5,0.5")
    found = crowd_of(query(grid="5x5"), inputs, WORLD)

    assert found.truth[2].tolist() == [1, 0, 1, 0, 1]
    assert "2 of the points stand beyond the grid" in found.beyond()


def test_who_all_stand_in_one_cell_may_stand_in_another_unit(tmp_path: Path) -> None:
    """Parts of a side are all within the first metre, and nothing else would show it."""
    rows = ("ann,0.2,0.9", "bob,0.7,0.1")
    metric = crowd_of(query(grid="5x5", length=20), _file(tmp_path, *rows), WORLD)
    plain = crowd_of(query(grid="5x5"), _file(tmp_path, *rows), WORLD)

    assert "all of the points are in one cell of the grid, which is 20 by 20 m" in metric.beyond()
    assert plain.beyond() == ""
    alone = crowd_of(query(grid="5x5"), _file(tmp_path, "ann,0.5,0.5"), WORLD)
    assert alone.beyond() == ""


def test_points_of_another_unit_altogether_are_refused(tmp_path: Path) -> None:
    """All in one corner would be drawn, and believed."""
    with pytest.raises(OperatorFault, match=r"no point within the grid.*--length"):
        crowd_of(query(), _file(tmp_path, "ann,13.4,52.5", "bob,13.5,52.4"), WORLD)


def test_a_user_who_comes_twice_is_refused_by_the_line(tmp_path: Path) -> None:
    """The second report would cost epsilon once more, which nobody promised."""
    inputs = _file(tmp_path, "ann,0.1,0.1", "", "bob,0.2,0.2", "ann,0.3,0.3")
    with pytest.raises(
        OperatorFault, match=r"line 5: user ann comes for the 2\. time.*readings=2"
    ):
        crowd_of(query(), inputs, WORLD)


def test_with_readings_each_user_walks_through_his_rows(tmp_path: Path) -> None:
    """In the file's order, whoever stands between; who has no more rows stays."""
    inputs = _file(tmp_path, "ann,0.1,0", "bob,0.9,0", "ann,0.6,0", "ann,0.3,0")
    asked = query(grid="10", epsilon="3/1", settings=["readings=3"])
    found = crowd_of(asked, inputs, WORLD)

    assert found.cells.tolist() == [[1, 9], [6, 9], [3, 9]]
    assert found.truth.sum() == 6


def test_a_weight_is_no_second_device(tmp_path: Path) -> None:
    """A device that counts double would speak for two under the promise for one."""
    rows = ("ann,0.1,0.1,1", "bob,0.2,0.2,2.5")
    with pytest.raises(OperatorFault, match=r"line 3: the weight is 2\.5"):
        crowd_of(query(), _file(tmp_path, *rows, header="user,x,y,weight"), WORLD)


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        (Inputs(), "no --points came"),
        (Inputs(points="nobody.csv"), r"nobody\.csv cannot be read"),
        (Inputs(points="nobody.csv", users=5), "what the file says"),
    ],
)
def test_without_people_there_is_nobody_to_ask(inputs: Inputs, says: str) -> None:
    """Each of these would else be a traceback, or a map of nothing."""
    with pytest.raises(OperatorFault, match=says):
        crowd_of(query(), inputs, WORLD)


def test_the_grid_that_people_are_put_on_is_the_devices() -> None:
    """The Round that is planned is of the very grid that cells were counted on."""
    asked = query(grid="7x3", length=14)

    assert asked.grid == Grid((7, 3), 2000)
    assert Table(plan(asked, [])).of[0] == asked.grid
