"""The table of faults says what is so: a row has its tests and its control, a test its row."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROWS, TRAPS = 26, 20
TEST = re.compile(r"`(test_\w+)`")


def all_names() -> set[str]:
    """Return the names of all tests of this folder."""
    files = [file.read_text("utf-8") for file in HERE.glob("test_*.py")]
    return {name for file in files for name in re.findall(r"^def (test_\w+)", file, re.MULTILINE)}


def table(words: str) -> list[list[str]]:
    """Return the cells of all rows of a table."""
    lines = [line for line in words.splitlines() if re.match(r"\| (\d+|\+) \|", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def wrong(faults: str) -> list[str]:
    """Return what is wrong with the table of faults."""
    rows, known, found = table(faults), all_names(), []
    if [row[0] for row in rows if row[0] != "+"] != [str(n) for n in range(1, ROWS + 1)]:
        found.append(f"the rows are not 1 to {ROWS}")
    for number, _, test, control in rows:
        shown = TEST.findall(test)
        if not shown or not (TEST.findall(control) or "[control]" in control):
            found.append(f"row {number} has no test, or no control")
        names = {*shown, *TEST.findall(control)}
        found += [f"row {number}: {name} is not there" for name in names - known]
        known_controls = [name for name in TEST.findall(control) if "control" in name]
        if TEST.findall(control) and not known_controls:
            found.append(f"row {number}: its control is none")
    return found


def test_every_fault_has_a_test_and_a_control() -> None:
    """And every test of this folder stands in a row, or with the traps."""
    words = (HERE / "README.md").read_text("utf-8")
    faults, traps = words.split("## Traps")

    assert wrong(faults) == []
    assert [row[0] for row in table(traps)] == [str(n) for n in range(1, TRAPS + 1)]
    own = set(re.findall(r"^def (test_\w+)", Path(__file__).read_text("utf-8"), re.MULTILINE))
    assert all_names() - own - set(TEST.findall(words)) == set()
    assert set(TEST.findall(traps)) <= all_names()


@pytest.mark.parametrize(
    "change", ["| 7 | broker down", "test_duplicate_control", "test_9000_devices_at_once`,"]
)
def test_a_table_that_is_wrong_is_noticed(change: str) -> None:
    """A row that is missing, a control that is gone, a name that nobody has."""
    faults = (HERE / "README.md").read_text("utf-8").split("## Traps")[0]
    found = faults.replace("`test_9000_devices_at_once` ", "`test_9000_devices_at_once`, ")

    assert change in found
    assert wrong(found.replace(change, "`test_none`, "))


def test_files_of_the_second_table_are_there() -> None:
    """A path that moved is no place to look."""
    traps = (HERE / "README.md").read_text("utf-8").split("## Traps")[1]
    paths = re.findall(r"`((?:gateway|edge|tests|\.ci)/[\w/.]+|pyproject\.toml)`", traps)

    assert len(paths) > 15
    assert [path for path in paths if not (HERE.parents[1] / path).exists()] == []
