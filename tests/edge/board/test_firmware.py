"""What each firmware has, and the files that a board is given."""

import builtins
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

import edge
from edge.board import firmware
from gateway.devices import bundle
from tests.house import rules

# A firmware that can be no device says why, by a sentence and a light, and starts nothing.

RIGHT: Any = SimpleNamespace(
    implementation=SimpleNamespace(name="micropython", version=(1, 22, 0))
)


class Word:
    """A whole number of 64 bits: what does not fit wraps, or raises as another build does."""

    def __init__(self, value: int, raises: bool) -> None:
        self.value, self.raises = value, raises

    def _made(self, value: int) -> "Word":
        if not -(2**63) <= value < 2**63:
            if self.raises:
                raise OverflowError("long int not supported in this build")
            value = (value + 2**63) % 2**64 - 2**63
        return Word(value, self.raises)

    def __lshift__(self, by: int) -> "Word":
        return self._made(self.value << by)

    def __rshift__(self, by: int) -> "Word":
        return self._made(self.value >> by)

    def __mul__(self, by: int) -> "Word":
        return self._made(self.value * by)

    def __eq__(self, other: object) -> bool:
        return self.value == other

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("raises", [True, False])
def test_single_words_are_refused_whether_they_wrap_or_raise(raises: bool) -> None:
    """A build without big integers would blur wrongly now and then."""
    assert "single words" in firmware.objection(Word(1, raises), RIGHT)  # type: ignore[arg-type]
    assert firmware.objection(1, RIGHT) == ""


@pytest.mark.parametrize(
    ("kind", "version"),
    [("circuitpython", (9, 2, 1)), ("micropython", (1, 21, 0)), ("micropython", (1, 9, 4))],
)
def test_another_python_is_named(kind: str, version: tuple[int, ...]) -> None:
    """With what to flash instead."""
    told = SimpleNamespace(implementation=SimpleNamespace(name=kind, version=version))
    said = firmware.objection(1, told)

    assert "MicroPython 1.22 or later" in said
    assert "micropython.org" in said


@pytest.mark.parametrize("missing", ["asyncio", "binascii", "hashlib", "json", "os", "time"])
def test_a_module_that_is_missing_is_named(missing: str, monkeypatch: Any) -> None:
    """Firmwares are built without this or that."""
    whole = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == missing:
            raise ImportError(f"no module named '{name}'")
        return whole(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    said = firmware.objection(1, RIGHT)
    monkeypatch.undo()

    assert f"no module named '{missing}'" in said


def test_a_sealed_device_needs_entropy_of_its_own() -> None:
    """A keyholder's noise comes from its keys alone."""
    assert "random numbers" in firmware.refuse_mode("sealed", SimpleNamespace())
    assert firmware.refuse_mode("keyholder", SimpleNamespace()) == ""
    assert firmware.refuse_mode("sealed", SimpleNamespace(urandom=len)) == ""


def test_every_interpreter_here_but_cpython_is_taken(interpreter) -> None:
    """The file itself is compiled by each; the WebAssembly port has no entropy."""
    said = interpreter.run(
        "import os\nfrom edge.board import firmware\n"
        "print(firmware.objection()[:23], firmware.refuse_mode('sealed', os)[:23], sep='|')"
    )
    wrong = "this firmware is not th"
    first = wrong if interpreter.name == "cpython" else ""
    assert said == f"{first}|{wrong if interpreter.name == 'wasm' else ''}\n"


class Ended(BaseException):
    """Enough was seen."""


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a board with a light, on which time passes; it ends after a minute."""
    import time

    made = SimpleNamespace(lit=[], now_ms=0)
    pin = SimpleNamespace(value=made.lit.append)
    machine: Any = SimpleNamespace(Pin=lambda name, mode=0: pin)
    machine.Pin.OUT = 1

    def sleep_ms(ms: int) -> None:
        made.now_ms += ms
        if made.now_ms >= 60_000:
            raise Ended

    monkeypatch.setitem(sys.modules, "machine", machine)
    monkeypatch.setattr(time, "ticks_ms", lambda: made.now_ms, raising=False)
    monkeypatch.setattr(time, "sleep_ms", sleep_ms, raising=False)
    return made


def test_it_is_said_and_flashed_and_not_started_again(board: Any, capsys: Any) -> None:
    """CPython is no firmware of a board, so this one says so."""
    with pytest.raises(Ended):
        firmware.go()

    assert "MicroPython 1.22" in capsys.readouterr().out
    assert board.lit.count(1) == 60  # four flashes in four seconds


@pytest.mark.parametrize("fault", [ImportError("no module named edge.core.wire"), MemoryError()])
def test_a_file_that_does_not_load_is_said(
    board: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """A flash that was full, a file that was cut off: not a silent board."""
    from edge import loading

    monkeypatch.setattr(firmware, "objection", lambda: "")
    monkeypatch.setattr(loading, "load", Mock(side_effect=fault))
    with pytest.raises(Ended):
        firmware.go()

    said = capsys.readouterr().out
    assert type(fault).__name__ in said
    assert "heatveil provision" in said


def test_a_hand_on_the_console_stops_it(board: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control-C must reach the prompt, or a board could never be mended."""
    from edge import loading

    monkeypatch.setattr(firmware, "objection", lambda: "")
    monkeypatch.setattr(loading, "load", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        firmware.go()


def test_a_start_that_breaks_off_is_said_and_not_silent(
    board: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A heap that is too small, a board without a radio: nobody would look at its prompt."""
    from edge import loading
    from edge.board import start

    monkeypatch.setattr(firmware, "objection", lambda: "")
    monkeypatch.setattr(loading, "load", lambda: None)
    monkeypatch.setattr(start, "run", Mock(side_effect=MemoryError))
    with pytest.raises(Ended):
        firmware.go()

    assert "the start ended with MemoryError; run heatveil doctor" in capsys.readouterr().out
    assert board.lit.count(1) == 60


# What a board is given: every file of the device, nothing of the host's, and no address.

EDGE = Path(str(edge.__file__)).parent
TO_THE_ROOT = {"board/boot.py", "board/main.py"}
# And what is for CPython.
OF_A_BUILD = {"manifest.py", "entropy.py", "noise.py", "records.py", "cpython.py"}


def on_a_device() -> list[str]:
    """Return every file that a board loads, by its place under edge/."""
    found = {path.relative_to(EDGE).as_posix() for path in EDGE.rglob("*.py")}
    hosts = {name for name in found if name.startswith(("host/", "linux/"))}
    return sorted(found - hosts - TO_THE_ROOT - OF_A_BUILD)


def package() -> dict[str, Any]:
    """Return package.json."""
    found: dict[str, Any] = json.loads((EDGE / "package.json").read_text())
    return found


def test_mip_is_given_every_file_of_the_device() -> None:
    """A module that is missing stops the board at its start; one too many is memory."""
    wanted = [[f"edge/{name}", name] for name in on_a_device()]

    assert package()["urls"] == wanted, "write into edge/package.json: " + json.dumps(wanted)
    assert package()["deps"] == []


def test_nothing_on_a_device_imports_what_is_not_there() -> None:
    """A module that needs the host's would fail on the board alone, and late."""
    for name in on_a_device():
        text = (EDGE / name).read_text()
        assert not re.search(r"^\s*(from|import) (edge|\.+)\.?(host|linux)\b", text, re.M), name
        assert not re.search(r"^\s*from \.+ import .*\b(host|linux)\b", text, re.M), name


def test_a_frozen_build_has_the_same_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is known by the digest that the host reckons; what starts a board stays on its flash."""
    taken: list[str] = []
    known: list[str] = []

    def take_package(name: str, files: list[str], base_path: str, opt: int) -> None:
        assert (name, base_path, opt) == ("edge", "..", 3)
        taken.extend(files)

    def take_module(name: str, base_path: str) -> None:
        assert name == "heatveil_frozen.py"
        known.append(Path(base_path, name).read_text())

    monkeypatch.chdir(EDGE)
    code = compile((EDGE / "manifest.py").read_text(), "manifest.py", "exec")
    exec(code, {"package": take_package, "module": take_module})

    assert taken == on_a_device()
    assert known == [f"DIGEST = {bundle.hash_sources()!r}\n"]


# What the files of a board and of Linux do without, though pins and clocks are theirs.

FILES = sorted([*(EDGE / "board").rglob("*.py"), *(EDGE / "linux").rglob("*.py")])
WAITS = {"random bits from draw_jitter"}
TELLS = {"import of json", "a print"}  # to who stands before it: what is wrong, by its word
MAY = {  # rule: file, and what it may do there
    rules.inexact: {  # a time to sleep, both
        "board/sensors/bus.py": {"true division"},
        "linux/exact.py": {"true division"},
    },
    rules.chance: {"board/net.py": WAITS, "board/start.py": WAITS},
    rules.calendar: {
        "board/start.py": {"import of ntptime"},  # for TLS, see net/tls.py
        # Its memory, and how long a sleep was: a window ages by no other hour of the day.
        "board/power.py": {"the hour of the day from RTC", "the hour of the day from time"},
    },
    rules.telling: {
        "board/config.py": {"import of json"},
        "board/firmware.py": TELLS,
        "board/start.py": {"a print"},
        "linux/enrol.py": TELLS,
        "linux/run.py": {"a print"},
    },
    rules.open_compare: {},
    rules.trusting: {},
}


def found(rule: Callable[[str], list[str]], path: Path, text: str) -> list[str]:
    """Return what breaks a rule in a file and is not among what it may."""
    name = path.relative_to(EDGE).as_posix()
    meant = MAY[rule].get(name, set())
    return [f"{name} {fault}" for fault in rule(text) if fault.partition(": ")[2] not in meant]


@pytest.mark.parametrize("rule", MAY, ids=lambda rule: rule.__name__)
def test_no_file_breaks_a_rule_but_where_it_may(rule: Callable[[str], list[str]]) -> None:
    """A driver that scaled in floats would void the promise; one that printed, all of it."""
    assert [fault for path in FILES for fault in found(rule, path, path.read_text())] == []
