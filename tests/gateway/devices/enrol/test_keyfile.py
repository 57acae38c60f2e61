"""A file of keys survives a power cut at every moment: whole as it was, or whole as it will be."""

import os
import stat
from pathlib import Path

import pytest

from gateway.devices.enrol import enrol
from gateway.faults import OperatorFault


def test_a_key_file_is_on_the_disk_before_it_takes_the_place_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replaced first and flushed later, a power cut between leaves an empty file and no keys."""
    path, diary = tmp_path / "secrets.json", list[str]()
    flush, replace = os.fsync, Path.replace

    def flushed(handle: int) -> None:
        found = os.fstat(handle)
        diary.append("folder" if stat.S_ISDIR(found.st_mode) else f"{found.st_size} bytes")
        flush(handle)

    def replaced(beside: Path, place: Path) -> Path:
        diary.append(f"replaced by {beside.stat().st_size} bytes")
        return replace(beside, place)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", replaced)
    enrol.save_secrets(enrol.enrol_fleet("lab", 3).secrets, path)
    size = path.stat().st_size

    assert size > 1000
    assert diary == [f"{size} bytes", f"replaced by {size} bytes", "folder"]


def test_a_key_file_that_cannot_be_flushed_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk must not cost the keys that were there, nor leave a copy of the new ones."""
    path = tmp_path / "secrets.json"
    enrol.save_secrets(enrol.enrol_fleet("lab", 3).secrets, path)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OperatorFault, match="No space left"):
        enrol.save_secrets(enrol.enrol_fleet("lab", 4).secrets, path)

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
