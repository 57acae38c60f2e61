"""Bad input: one clear line, exit status 1, and no file where there was none.

Each row is a command, and words that its one line must hold. In the folder of the test lie a
good file of sources, a good published file, a deployment, and the broken files below.
"""

import io
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edge.core.budget import Limits
from gateway.devices.enrol import budgets, enrol
from gateway.faults import OperatorFault
from gateway.output import check_writable, make_json_writer, write_all
from gateway.settings import config
from tests import processes
from tests.processes import find_free_port

BROKEN = {
    "empty.csv": b"",
    "binary.csv": b"\xff\xfe\x00\x81",
    "no_header.csv": b"0.5,1\n",
    "words.csv": b"position,intensity\n0.5,one\n",
    "nan.csv": b"position,intensity\nnan,1\n",
    "infinite.csv": b"position,intensity\n0.5,inf\n",
    "negative.csv": b"position,intensity\n0.5,-1\n",
    "outside.csv": b"position,intensity\n1.5,1\n",
    "cold.csv": b"position,intensity\n0.5,0\n",
    "boundless.csv": b"position,intensity\n0.5,1e308\n",
    "plane.csv": b"x,y,intensity\n0.5,0.5,1\n",
    "deep.json": b"[" * 100_000,
    "half.json": b'{"schema": 1, "mechanism": "ther',
    "other.toml": b"[rooms]\ncells = 10\n",
    "no.toml": b"cells: 10\n",
}
GOOD = ("play", "thermal", "--sources", "good.csv")

CASES: list[tuple[tuple[str, ...], str]] = [
    (("play", "thermal"), "neither of --sources and --sources-random"),
    ((*GOOD, "--sources-random", "2"), "both of --sources and --sources-random"),
    (("play", "dusk", "--sources", "good.csv"), "dusk is not a mechanism"),
    (("play", "thermal", "--sources", "missing.csv"), "No such file"),
    (("play", "thermal", "--sources", "."), "Is a directory"),
    (("play", "thermal", "--sources", "empty.csv"), "position,intensity"),
    (("play", "thermal", "--sources", "binary.csv"), "cannot be read"),
    (("play", "thermal", "--sources", "no_header.csv"), "position,intensity"),
    (("play", "thermal", "--sources", "words.csv"), "line 2"),
    (("play", "thermal", "--sources", "nan.csv"), "line 2"),
    (("play", "thermal", "--sources", "infinite.csv"), "line 2"),
    (("play", "thermal", "--sources", "negative.csv"), "line 2"),
    (("play", "thermal", "--sources", "outside.csv"), "from 0 to 1"),
    (("play", "thermal", "--sources", "cold.csv"), "no heat"),
    (
        ("play", "thermal", "--sources", "boundless.csv", "--spread", "1e-4"),
        "infinite temperature",
    ),
    (("play", "thermal", "--sources", "plane.csv"), "the grid is a line"),
    (
        ("play", "thermal", "--sources", "good.csv", "--cells", "4x4", "--sensors", "2x2"),
        "the grid is a plane",
    ),
    (("play", "thermal", "--sources-random", "101"), "100 cells hold 1 to 100"),
    (("play", "thermal", "--sources-random", "-1"), "-1 sources"),
    ((*GOOD, "--epsilon", "0.5"), "write 1/2, so"),
    ((*GOOD, "--epsilon", "0/1"), "ratio of positive whole numbers"),
    ((*GOOD, "--epsilon", "-1/2"), "ratio of positive whole numbers"),
    ((*GOOD, "--set", "sigma=1000000000000/1"), "it would be cut"),
    ((*GOOD, "--delta", "0.00001"), "write 1/100000, so"),
    ((*GOOD, "--delta", "1e-5"), "write 1/100000, so"),
    ((*GOOD, "--delta", "1/1"), "between 0 and 1"),
    ((*GOOD, "--delta", "3/2"), "between 0 and 1"),
    ((*GOOD, "--calibration", "paper", "--delta", "1/5"), "up to 0.1"),
    ((*GOOD, "--spread", "0"), "must be positive"),
    ((*GOOD, "--spread", "-1"), "must be positive"),
    ((*GOOD, "--spread", "nan"), "must be positive"),
    ((*GOOD, "--spread", "1e300"), "evened out"),
    ((*GOOD, "--spread", "1e300"), "no length in metres is given"),
    ((*GOOD, "--spread", "4", "--set", "walls=insulated"), "spread_m2 from 2.5e-05 to 0.062"),
    ((*GOOD, "--sensors", "0"), "whole number from 1"),
    ((*GOOD, "--sensors", "2.5"), "whole number from 1"),
    ((*GOOD, "--sensors", "5x5"), "--sensors 50"),
    ((*GOOD, "--cells", "1"), "--cells 1 is one place"),
    ((*GOOD, "--cells", "10x10", "--sensors", "64"), "--sensors 8x8"),
    ((*GOOD, "--length", "-3"), "must be above 0"),
    ((*GOOD, "--set", "readings=0"), "readings is 0"),
    ((*GOOD, "--set", "redings=4"), "did you mean readings"),
    ((*GOOD, "--set", "protect_distance_m=5"), "between one cell"),
    ((*GOOD, "--estimator", "magic"), "estimator is 'magic'"),
    ((*GOOD, "--out", "nowhere/map.npz"), "there is no folder"),
    ((*GOOD, "--out", "a", "--scores", "a"), "not all different"),
    (("recover", "missing.json"), "heatveil: missing.json cannot be read (No such file"),
    (("recover", "half.json"), "no file of published readings"),
    (("recover", "deep.json"), "no file of published readings"),
    (("recover", "value_nan.json"), "NaN"),
    (("recover", "value_text.json"), "no whole number of grains"),
    (("recover", "value_far.json"), "with this noise it lies between"),
    (("recover", "value_huge.json"), "401 digits"),
    (("recover", "value_few.json"), "49 values for 50 sensors"),
    (("recover", "epsilon_float.json"), "ratio of positive whole numbers"),
    (("calibrate", "--epsilon", "0.5"), "write 1/2, so"),
    (("calibrate", "--config", "missing.toml"), "No such file"),
    (("calibrate", "--config", "site.toml", "--epsilon", "1/2"), "--epsilon came with site.toml"),
    (("recover", "good.csv"), "no file of published readings"),
    (("serve", "--config", "missing.toml"), "No such file"),
    (("serve", "--config", "no.toml"), "cannot be read"),
    (("serve", "--config", "other.toml"), "room"),
    (("fleet", "--config", "site.toml", "--nodes", "9"), "--nodes 9 but"),
    (("demo", "--epsilon", "0.5"), "write 1/2, so"),
    (("demo", "--folder", "good.csv"), "cannot be made"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heatveil: Callable[..., Any]) -> Path:
    """Return the working folder of a test, with good and broken files in it."""
    monkeypatch.chdir(tmp_path)
    for name, contents in BROKEN.items():
        Path(name).write_bytes(contents)
    Path("good.csv").write_text("position,intensity\n0.5,1\n")
    heatveil(*GOOD, "--seed", "1", "--published", "good.json")
    for name, path, value in (
        ("value_nan", ("rounds", 0, "values", 3), float("nan")),
        ("value_text", ("rounds", 0, "values", 3), "12"),
        ("value_far", ("rounds", 0, "values", 3), -(10**12)),
        ("value_huge", ("rounds", 0, "values", 3), 10**400),
        ("value_few", ("rounds", 0, "values"), [0] * 49),
        ("epsilon_float", ("query", "epsilon"), 0.5),
    ):
        found = json.loads(Path("good.json").read_text())
        place = found
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        Path(f"{name}.json").write_text(json.dumps(found))
    site = config.make_sample().replace("port = 8080", f"port = {find_free_port()}")
    site = site.replace("port = 8883", "port = 1").replace("# insecure", "insecure")
    lines = [line for line in site.splitlines() if not line.startswith(("ca_", "password_"))]
    Path("site.toml").write_text("\n".join(lines))
    made = enrol.enrol_fleet("lab", 2)
    enrol.save_secrets(made.secrets, Path("secrets.json"))
    enrol.save_devices(enrol.derive_gateway_half(made.secrets), Path("devices.json"))
    Path("state").mkdir()
    with budgets.open_slot_folder(Path("state")) as place:
        budgets.write_first_budgets(made, Limits(1, 8, 1, 10_000, 10**9, 0), place)
    return tmp_path


def test_who_has_other_readings_is_told_python_that_works(
    heatveil: Callable[..., Any], tmp_path: Path
) -> None:
    """No parser's words, and three lines that draw a map of what came as a table."""
    (tmp_path / "readings.csv").write_text("sensor,grains\n0,1\n")
    said = heatveil("recover", tmp_path / "readings.csv")
    names = {"payloads": [[sensor, 40_000 * (sensor == 20)] for sensor in range(50)]}
    exec(said.err.partition("in Python: ")[2], names)

    assert "(line 1 is not JSON)" in said.err
    assert names["found"].mass.shape == (1, 100)


@pytest.mark.long
def test_each_is_one_clear_line(folder: Path, heatveil: Callable[..., Any]) -> None:
    """All in one test, for the folder takes longer to lay out than a case to run."""
    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    wrong = []
    for words, says in CASES:
        said = heatveil(*words)
        one_line = said.err.startswith("heatveil: ") and said.err.count("\n") == 1
        if not (said.status == 1 and said.out == "" and one_line and says in said.err):
            wrong.append((words, said))
    after = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert wrong == []
    assert before == after


def test_a_port_that_is_taken(folder: Path, heatveil: Callable[..., Any]) -> None:
    """The page says so at once, and before a broker or a device was started."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        said = heatveil("demo", "--port", other.getsockname()[1])

    assert "Address already in use" in said.refusal
    assert said.err.count("\n") == 1


@pytest.mark.long
def test_no_broker(folder: Path, heatveil: Callable[..., Any]) -> None:
    """Nobody listens on port 1."""
    said = heatveil("fleet", "--config", "site.toml")
    lines = [line for line in said.err.splitlines() if not line.startswith("{")]

    assert said.status == 1
    assert len(lines) == 1
    assert "no MQTT broker at 127.0.0.1:1" in lines[0]


# Result files: all of them whole, or none.


def test_what_is_written_is_there_and_nothing_else(tmp_path: Path) -> None:
    """No temporary file stays beside the result."""
    write_all(
        {
            tmp_path / "a.json": make_json_writer({"a": 1}),
            tmp_path / "b.json": make_json_writer(None),
        }
    )

    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "b.json"}


def test_when_one_file_fails_the_others_are_as_before(tmp_path: Path) -> None:
    """A new map beside old scores would belong to different runs."""
    old, half = tmp_path / "a.json", tmp_path / "b.json"
    old.write_text("old")

    def torn(path: Path) -> None:
        path.write_text("half a pict")
        raise OSError(28, "No space left on device", str(path))

    with pytest.raises(OperatorFault, match="No space left on device"):
        write_all({old: make_json_writer({"new": True}), half: torn})

    assert old.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"a.json"}


def test_json_with_nan_is_refused() -> None:
    """NaN is no JSON: other programs could not read the file."""
    with pytest.raises(ValueError, match="JSON compliant"):
        make_json_writer({"score": float("nan")})


def test_what_is_no_plain_file_is_not_replaced(tmp_path: Path) -> None:
    """Moved onto a device or a link, a result would take its place for everybody."""
    pipe, link = tmp_path / "pipe", tmp_path / "link.json"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "elsewhere.json")

    for path in (pipe, link, Path(os.devnull)):
        with pytest.raises(OperatorFault, match="a link, a pipe or a device"):
            check_writable([path])
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_a_result_does_not_overwrite_what_is_read(tmp_path: Path) -> None:
    """By whatever way round its path is written."""
    (tmp_path / "sub").mkdir()
    read = tmp_path / "sources.csv"
    read.write_text("position,intensity\n0.5,1\n")

    with pytest.raises(OperatorFault, match="not all different"):
        check_writable([tmp_path / "sub" / ".." / "sources.csv"], [read])
    with pytest.raises(OperatorFault, match="not all different"):
        check_writable([tmp_path / "a.npz", tmp_path / "sub" / ".." / "a.npz"])


# Told to end as soon as all is written and nothing has its name.
ENDED = """
import os, signal, sys
from heatveil.__main__ import main

def end(_):
    for name in os.listdir():
        print("half" if name.endswith(".part") else name, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

os.fsync = end
sys.exit(main())
"""


@pytest.mark.long
def test_a_polite_end_in_the_middle_leaves_no_half_file(tmp_path: Path) -> None:
    """SIGTERM is how a scheduler ends a job; Python alone would leave the halves."""
    words = "--sources-random 2 --cells 100 --sensors 50 --spread 0.05 --epsilon 1"
    words += " --scores s.json --plot p.png --out m.npz"
    command = [sys.executable, "-c", ENDED, "play", "thermal", *words.split()]
    playing = processes.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert playing.stdout.split().count("half") == 3
    assert playing.returncode == 128 + signal.SIGTERM
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
