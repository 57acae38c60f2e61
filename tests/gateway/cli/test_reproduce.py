"""`heatveil reproduce`: the list, figures with their files, the table of claims."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.lab.reproduce.figures import table

Command = Callable[..., Any]


def test_the_list_names_every_figure(heatveil: Command) -> None:
    """Without a figure one learns what there is, and what each claims."""
    said = heatveil("reproduce")

    assert said.status == 0
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == list(table())


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

    assert left.status == 1
    assert said in left.err
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
