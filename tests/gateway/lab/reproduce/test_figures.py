"""What a figure says of its claim, and runs: the same however they are made, none made twice."""

import csv
import errno
import json
import multiprocessing
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure as FigureCanvas

from gateway.faults import OperatorFault
from gateway.lab.reproduce import runs
from gateway.lab.reproduce.figures import (
    ELSEWHERE,
    PAPERS,
    Figure,
    Results,
    Task,
    Value,
    check_falling,
    check_lowest,
    check_power,
    find_figures,
    load_figures,
)
from gateway.lab.reproduce.people import (
    describe_repeated_users,
    draw_city,
    read_gazes,
    read_square,
)
from gateway.lab.reproduce.picture import Interval, Panel, draw_panels
from gateway.lab.reproduce.pyramid import gather_gazes
from gateway.lab.reproduce.quadtree import MSE, make_inner_least_check
from gateway.lab.reproduce.runs import (
    RunOptions,
    make_figures,
    run_all_tasks,
    run_tasks,
)

ROOT = Path(__file__).parents[4]


def silent(stage: str) -> None:
    """Take no notice."""


def results(line: Callable[[float], float], noise: float = 0.0, trials: int = 6) -> Results:
    """Return results of a line and of one that is twice as high, over 1, 2, 4 and 8."""
    world = np.random.default_rng(1)
    return Results(
        (run, Value("p", name, at, times * line(at) * (1 + noise * world.normal())))
        for run in range(trials)
        for at in (1.0, 2.0, 4.0, 8.0)
        for name, times in (("low", 1.0), ("high", 2.0))
    )


@pytest.mark.parametrize(
    ("noise", "verdicts"),
    [
        (0.01, ("confirmed", "refuted", "confirmed", "refuted")),
        (3.0, ("not decided", "not decided", "not decided", "not decided")),
    ],
)
def test_a_claim_is_decided_where_chance_allows(noise: float, verdicts: tuple[str, ...]) -> None:
    """True ones are confirmed, false ones refuted, and much noise decides neither."""
    found = results(lambda at: at**-0.5, noise)
    said = (
        check_lowest(found, "low", ("high",)),
        check_lowest(found, "high", ("low",)),
        check_falling(found, "low"),
        check_falling(found, "low", rises=True),
    )

    assert tuple(one.verdict for one in said) == verdicts


@pytest.mark.parametrize(("printed", "verdict"), [(-0.5, "confirmed"), (-1.5, "refuted")])
def test_a_power_is_told_from_another(printed: float, verdict: str) -> None:
    """Of a line that goes by the root."""
    found = check_power(results(lambda at: at**-0.5, 0.02), "p", "low", printed, 0.1)

    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("heights", "verdict"),
    [((3, 2, 3), "confirmed"), ((2, 2, 3), "not decided"), ((1, 2, 3), "refuted")],
)
def test_a_best_value_lies_between_the_ends(heights: tuple[int, ...], verdict: str) -> None:
    """What is as good at an end of the axis, or better, shows none."""
    world = np.random.default_rng(1)
    found = Results(
        (run, Value(MSE, "a", at, height + 0.1 * world.normal()))
        for run in range(6)
        for at, height in enumerate(heights)
    )

    assert make_inner_least_check("a")(found).verdict == verdict


def test_every_paper_has_figures_and_names_find_them() -> None:
    """By the whole name, by its beginning, by the paper, and all."""
    names = [one.name for one in find_figures(["all"])]

    assert {name.partition("-")[0] for name in names} == set(PAPERS)
    assert [one.name for one in find_figures(["thermal-3"])] == [
        f"thermal-3{letter}" for letter in "abcd"
    ]
    assert [one.name for one in find_figures(["pyramid-1", "pyramid-1"])] == ["pyramid-1"]
    assert names == list(load_figures())


@pytest.mark.parametrize("name", list(ELSEWHERE))
def test_a_figure_that_is_none_here_says_where_it_is(name: str) -> None:
    """And what it names is there."""
    with pytest.raises(OperatorFault, match=f"{name} has no numbers of its own: .*") as told:
        find_figures([name])
    named = re.findall(r"notebooks/\w+\.py|\w+-(?:table)?\d", str(told.value))[1:]

    assert any(one in load_figures() or (ROOT / one).exists() for one in named)
    assert name not in load_figures()


@pytest.mark.long
@pytest.mark.parametrize("name", list(load_figures()))
def test_a_run_gives_numbers_that_follow_from_its_task(name: str) -> None:
    """Finite ones, the same again: seeds go by the task and by nothing else."""
    task = load_figures()[name].list_tasks(2, 3, True, "")[-1]._replace(scale=0.01)
    _, played = run_tasks([task])

    assert played[task]
    assert np.isfinite([one.value for one in played[task]]).all()
    assert played == run_tasks([task])[1]


TASKS = [Task("thermal-3b", ("m", 20), run, 5) for run in range(6)]


def _play_all(order: RunOptions) -> runs.Played:
    """Return every run; one that comes twice is a failure."""
    found: runs.Played = {}
    for played in run_all_tasks(TASKS, order):
        assert not found.keys() & played.keys()
        found |= played
    return found


def test_processes_give_the_same_values() -> None:
    """A figure must not depend on how many were at work."""
    alone, many = (_play_all(RunOptions(jobs=jobs)) for jobs in (1, 2))

    assert alone == many
    assert list(alone) == TASKS


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Return the runs that are made of a small figure."""
    made = []

    def work(task: Task) -> Iterator[Value]:
        made.append(task)
        yield Value("p, with a comma", "a", 1, float(task.make_generator().random()))
        yield Value("p, with a comma", "b", 1, 2.0)

    figure = Figure(
        "small", "a is below b", "none", "x", (("here",), ("there",)), work,
        lambda found: check_lowest(found, "a", ("b",)), 4, (2, 0.5, ()),
    )  # fmt: skip
    # A picture takes half a second.
    monkeypatch.setattr(runs, "draw_panels", lambda name, panels, path: path.write_text(name))
    monkeypatch.setattr(runs, "load_figures", lambda: {"small": figure})
    monkeypatch.setattr("gateway.lab.reproduce.figures.load_figures", lambda: {"small": figure})
    return made


def _make(folder: Path, **order: object) -> Results:
    figures = list(runs.load_figures().values())
    ((_, found, finding),) = make_figures(figures, RunOptions(**order), folder, silent)  # type: ignore[arg-type]
    assert finding.verdict == "confirmed"
    return found


def test_runs_that_are_there_are_not_made_again(
    counted: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More trials go on with those, other settings and other code do not."""
    made = []

    def order(**order: object) -> Results:
        found = _make(tmp_path, **order)
        made.append(len(counted))
        return found

    first, again = order(trials=3), order(trials=3)
    order(trials=4)
    order(trials=4, seed=2)
    monkeypatch.setattr(runs, "hash_code", lambda: "another")
    order(trials=4, seed=2)
    order(trials=4, seed=2)

    assert made == [6, 6, 8, 16, 24, 24]
    assert first.compute_interval("p, with a comma", "a", 1) == again.compute_interval(
        "p, with a comma", "a", 1
    )
    assert (tmp_path / "small.png").exists()
    with (tmp_path / "small.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["seed"], row["code"]) for row in rows} == {("2", "another")}
    assert len(rows) == 16


def test_what_is_done_when_the_disk_is_full_stays_done(
    counted: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a day's runs must not be lost to somebody else's log."""
    monkeypatch.setattr(runs, "_CHUNK_S", 0)  # each run is a file
    write = runs._write

    def fill(rows: list[object], path: Path) -> None:
        if len(counted) > 3:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(rows, path)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "_write", fill)
    with pytest.raises(OperatorFault, match="No space left on device"):
        _make(tmp_path, trials=4)
    before = counted.copy()
    monkeypatch.setattr(runs, "_write", write)
    _make(tmp_path, trials=4)

    assert counted[len(before) :] == [before[3], *counted[len(before) + 1 :]]
    assert len(counted) == 9  # eight, and the one that was lost


def test_code_that_changes_meanwhile_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values would stand among ours, and nobody could make them again."""
    monkeypatch.setattr(runs, "run_tasks", lambda tasks: ("another", {}))

    with pytest.raises(OperatorFault, match="has changed while"):
        list(run_all_tasks(TASKS, RunOptions()))


@pytest.mark.long
def test_a_killed_worker_loses_and_doubles_nothing() -> None:
    """The figure is the one that a single process makes, whoever was killed meanwhile."""
    tasks = [Task("thermal-3b", ("m", 20), run, 5) for run in range(60)]
    alone = {
        task: values
        for some in run_all_tasks(tasks, RunOptions())
        for task, values in some.items()
    }
    found, killed = dict[Task, list[Value]](), 0
    for some in run_all_tasks(tasks, RunOptions(jobs=2)):
        assert not found.keys() & some.keys()
        found |= some
        if killed < 2 and (workers := multiprocessing.active_children()):
            workers[0].kill()
            killed += 1

    assert killed == 2
    assert found == alone


def test_a_file_is_one_square(tmp_path: Path) -> None:
    """The longer side fills it; all in one place, or none at all, is refused."""
    rows = "".join(
        f"u{n},{3 * x:.6f},{y:.6f}\n" for n, (x, y) in enumerate(draw_city(50, _world()))
    )
    (tmp_path / "room.csv").write_text("user,x,y\n" + rows, "utf-8")
    (tmp_path / "one.csv").write_text("user,x,y\na,1,1\nb,1,1\n", "utf-8")
    places = read_square(tmp_path / "room.csv")

    assert np.ptp(places[:, 0]) == pytest.approx(1)
    assert np.ptp(places[:, 1]) < 0.5
    with pytest.raises(OperatorFault, match="all its points in one place"):
        read_square(tmp_path / "one.csv")
    with pytest.raises(OperatorFault, match="cannot be read"):
        read_square(tmp_path / "none.csv")


def test_a_person_with_many_points_is_spoken_of(tmp_path: Path) -> None:
    """Figures let every point answer; whoever reads them must know that a user is not a point."""
    many, one = tmp_path / "many.csv", tmp_path / "one.csv"
    many.write_text("user,x,y\na,0,0\na,1,1\nb,0,1\n", "utf-8")
    one.write_text("user,x,y\na,0,0\nb,1,1\n", "utf-8")

    assert "many.csv has 3 points of 2 users" in describe_repeated_users(many)
    assert "promised to a point" in describe_repeated_users(many)
    assert not describe_repeated_users(one)


def _world() -> np.random.Generator:
    return np.random.default_rng(2)


def test_gazes_are_read_as_salicon_publishes_them(tmp_path: Path) -> None:
    """Row before column, counted from 1, of pictures of a size of their own."""
    path = tmp_path / "fixations.json"
    seen = [{"image_id": 7, "fixations": [[1, 1], [480, 640]]}, {"image_id": 7, "fixations": []}]
    told = {"images": [{"id": 7, "width": 640, "height": 480}], "annotations": seen}
    path.write_text(json.dumps(told))

    assert read_gazes(path)[0][0] == pytest.approx(np.array([[0, 0], [639 / 640, 479 / 480]]))
    assert len(read_square(path)) == 2
    assert "fixations.json has 2 points of 1 users" in describe_repeated_users(path)
    task = Task("pyramid-8", ("gazes", 1, "1"), 3, 1, points=str(path))
    assert set(gather_gazes(task, 5, _world()).ravel()) <= set(read_gazes(path)[0][0].ravel())


@pytest.mark.parametrize("fixations", [[[481, 1]], [[0, 1]], "none", [[1]]])
def test_other_gazes_are_refused(tmp_path: Path, fixations: object) -> None:
    """Outside of the picture, or no pairs: nobody looked there."""
    path = tmp_path / "other.json"
    seen = [{"image_id": 7, "fixations": fixations}]
    told = {"images": [{"id": 7, "width": 640, "height": 480}], "annotations": seen}
    path.write_text(json.dumps(told))

    with pytest.raises(OperatorFault, match="Salicon's fixations"):
        read_gazes(path)


# `heatveil reproduce`: the list, figures with their files, the table of claims.


Command = Callable[..., Any]


def test_the_list_names_every_figure(heatveil: Command) -> None:
    """Without a figure one learns what there is, and what each claims."""
    said = heatveil("reproduce")

    assert said.status == 0
    assert [line.split()[0] for line in said.out.splitlines()[1:-1]] == list(load_figures())


@pytest.mark.long
def test_figures_are_printed_drawn_and_kept(heatveil: Command, tmp_path: Path) -> None:
    """Values, claim and verdict of each, then one table of claims; again from the files."""
    words = ("disk-12", "thermal-4", "thermal-lemma7", "--quick", "--jobs", 1)
    said, again = (heatveil("reproduce", *words, "--folder", tmp_path / "made") for _ in range(2))
    names = ["disk-12", "thermal-4a", "thermal-4b", "thermal-4c", "thermal-lemma7"]

    assert said.status == 0, said.err
    assert said.out == again.out
    verdicts = {line.split()[0]: line.split()[1] for line in said.out.splitlines()[-11:-5]}
    assert verdicts == {
        "figure": "verdict",
        **dict(
            zip(names, ("refuted", "confirmed", "confirmed", "refuted", "refuted"), strict=True)
        ),
    }
    assert "2 confirmed, 3 refuted, 0 not decided" in said.out
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == sorted(
        f"{name}{ending}" for name in names for ending in ("", ".csv", ".png")
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("disk-99",), "disk-99 is not a figure that can be made again"),
        (("disk-13a", "--points", "none.csv"), "none.csv cannot be read"),
        (("disk-8", "--folder", "/proc/none"), "cannot be made"),
        (("disk-8", "--window", "1,2,3,4"), "came without --points"),
        (("disk-8", "--points", "none.csv", "--window", "1,2,3,4"), "none.csv"),
    ],
)
def test_what_cannot_be_made_is_refused_in_a_line(
    heatveil: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: str,
) -> None:
    """Before anything is computed."""
    monkeypatch.chdir(tmp_path)
    left = heatveil("reproduce", *words)

    assert said in left.refusal
    assert left.err.count("\n") == 1


def test_a_window_is_not_written_over_the_set_that_it_is_of(
    heatveil: Command, tmp_path: Path
) -> None:
    """The user's own file would be emptied before it is read."""
    own = tmp_path / "points.csv"
    own.write_text("user,longitude,latitude\na,2,3\n")
    words = ("--points", own, "--window", "1,2,3,4", "--folder", tmp_path)
    left = heatveil("reproduce", "disk-8", *words)

    assert left.status == 1
    assert own.read_text() == "user,longitude,latitude\na,2,3\n"


@pytest.mark.parametrize("least", [1.0, 0.01])
def test_a_picture_has_room_for_whole_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: float
) -> None:
    """A bar that is cut off at the top looks like one that ends there."""
    line = (Interval(1, 2.0, 1.9, 4), Interval(2, least, 0.4 * least, 4))
    drawn: list[Any] = []
    monkeypatch.setattr(FigureCanvas, "savefig", lambda self, *_, **__: drawn.append(self))
    draw_panels("two means", [Panel("one", "epsilon", "error", {"a": line})], tmp_path / "a.png")

    low, high = drawn[0].axes[0].get_ylim()
    assert low < min(0.1, 0.6 * least)
    assert high > 3.9
