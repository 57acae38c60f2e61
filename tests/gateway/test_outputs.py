"""Result files: all of them whole, or none."""

from pathlib import Path

import pytest

from gateway.commands.outputs import as_json, check_places, write_all
from gateway.faults import OperatorFault


def test_what_is_written_is_there_and_nothing_else(tmp_path: Path) -> None:
    """No temporary file stays beside the result."""
    write_all({tmp_path / "a.json": as_json({"a": 1}), tmp_path / "b.json": as_json(None)})

    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "b.json"}


def test_when_one_file_fails_the_others_are_as_before(tmp_path: Path) -> None:
    """A new map beside old scores would belong to different runs."""
    old, half = tmp_path / "a.json", tmp_path / "b.json"
    old.write_text("old")

    def torn(path: Path) -> None:
        path.write_text("half a pict")
        raise OSError(28, "No space left on device", str(path))

    with pytest.raises(OperatorFault, match="No space left on device"):
        write_all({old: as_json({"new": True}), half: torn})

    assert old.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"a.json"}


def test_a_missing_folder_is_found_before_the_work(tmp_path: Path) -> None:
    """A minute of computing must not end in a typing error."""
    with pytest.raises(OperatorFault, match="no folder"):
        check_places([tmp_path / "nowhere" / "map.npz"])


def test_a_folder_is_no_place_for_a_file(tmp_path: Path) -> None:
    """Neither is the path of another result."""
    with pytest.raises(OperatorFault, match="itself a folder"):
        check_places([tmp_path])
    with pytest.raises(OperatorFault, match="not all different"):
        check_places([tmp_path / "a", tmp_path / "b" / ".." / "a"][:1] * 2)


def test_json_with_nan_is_refused() -> None:
    """NaN is no JSON: other programs could not read the file."""
    with pytest.raises(ValueError, match="JSON compliant"):
        as_json({"score": float("nan")})
