"""A broker's file is replaced whole or not at all, and never for more eyes than before."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.devices.broker.doors import describe_unreadable, replace_file
from gateway.faults import OperatorFault


@pytest.fixture
def lax() -> Any:
    """Let this process make files for everybody, as a careless shell does."""
    old = os.umask(0)
    yield
    os.umask(old)


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_what_replaces_a_file_is_for_the_same_eyes(tmp_path: Path, lax: None, mode: int) -> None:
    """Whatever the umask says; and of the way there nothing is left."""
    path = tmp_path / "passwords"
    path.write_text("old")
    path.chmod(mode)
    replace_file(path, "new")

    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert [one.name for one in tmp_path.iterdir()] == ["passwords"]


def test_at_no_moment_may_others_read_it(
    tmp_path: Path, lax: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is for its owner alone from its first byte on; then it gets the mode that it had."""
    path = tmp_path / "passwords"
    path.write_text("old")
    path.chmod(0o600)
    seen: list[int] = []
    fchmod: Callable[[int, int], None] = os.fchmod

    def look(file: int, mode: int) -> None:
        seen.append(stat.S_IMODE(os.fstat(file).st_mode))
        fchmod(file, mode)

    monkeypatch.setattr(os, "fchmod", look)
    replace_file(path, "new")

    assert seen == [0o600]


@pytest.mark.parametrize("step", ["fsync", "fchmod"])
def test_a_disk_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A broker with half a list of passwords would let nobody in."""
    path = tmp_path / "passwords"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OperatorFault, match="No space left on device.*stays as it was"):
        replace_file(path, "new")

    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["passwords"]


def test_a_link_laid_beside_it_is_not_followed(tmp_path: Path) -> None:
    """Who may write in the folder must not make us write somewhere else."""
    path, other = tmp_path / "passwords", tmp_path / "other"
    path.write_text("old")
    other.write_text("precious")
    (tmp_path / "passwords.new").symlink_to(other)
    replace_file(path, "new")

    assert (path.read_text(), other.read_text()) == ("new", "precious")
    assert not path.is_symlink()


def test_what_cannot_be_read_is_told_in_one_line() -> None:
    """By the system's own word, and with a way out."""
    said = str(describe_unreadable(Path("/x/acl"), PermissionError(13, "Permission denied")))

    assert said.startswith("/x/acl cannot be read (Permission denied)")
    assert "\n" not in said
