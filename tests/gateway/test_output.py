"""What a play tells while it works: something to a terminal, nothing to a file."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.faults import OperatorFault
from gateway.output import as_json, check_places, write_all
from tests import processes

# Result files: all of them whole, or none.


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


def test_json_with_nan_is_refused() -> None:
    """NaN is no JSON: other programs could not read the file."""
    with pytest.raises(ValueError, match="JSON compliant"):
        as_json({"score": float("nan")})


def test_what_is_no_plain_file_is_not_replaced(tmp_path: Path) -> None:
    """Moved onto a device or a link, a result would take its place for everybody."""
    pipe, link = tmp_path / "pipe", tmp_path / "link.json"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "elsewhere.json")

    for path in (pipe, link, Path(os.devnull)):
        with pytest.raises(OperatorFault, match="a link, a pipe or a device"):
            check_places([path])
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_a_result_does_not_overwrite_what_is_read(tmp_path: Path) -> None:
    """By whatever way round its path is written."""
    (tmp_path / "sub").mkdir()
    read = tmp_path / "sources.csv"
    read.write_text("position,intensity\n0.5,1\n")

    with pytest.raises(OperatorFault, match="not all different"):
        check_places([tmp_path / "sub" / ".." / "sources.csv"], [read])
    with pytest.raises(OperatorFault, match="not all different"):
        check_places([tmp_path / "a.npz", tmp_path / "sub" / ".." / "a.npz"])


@pytest.mark.long
def test_a_polite_end_in_the_middle_leaves_no_half_file(tmp_path: Path) -> None:
    """SIGTERM is how a scheduler ends a job; Python alone would leave the halves."""
    command = [str(Path(sys.executable).with_name("heatveil")), "play", "thermal"]
    command += [
        "--sources-random",
        "2",
        "--cells",
        "100",
        "--sensors",
        "50",
        "--spread",
        "0.05",
        "--epsilon",
        "1",
    ]
    command += ["--scores", "s.json", "--plot", "p.png", "--out", "m.npz"]
    playing = processes.Child(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    until_s = time.monotonic() + 60
    while playing.poll() is None and time.monotonic() < until_s:
        if any(path.name.endswith(".part") for path in tmp_path.iterdir()):
            playing.terminate()
            break
        time.sleep(0.001)

    assert playing.wait() == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


class Terminal(io.StringIO):
    """A standard error that somebody looks at."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_is_told_and_a_file_is_not(
    heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silence of a minute looks like death; a log wants no spinner."""
    words = ("play", "thermal", "--sources-random", 1, "--sensors", 5, "--seed", 1)
    assert heatveil(*words).err == ""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    assert heatveil(*words).status == 0

    assert "writing the files and the promise ..." in terminal.getvalue()
