"""What a board is given: every file of the device, nothing of the host's, and no address."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import edge
from tests.house import rules

EDGE = Path(str(edge.__file__)).parent
TO_THE_ROOT = {"board/boot.py", "board/main.py"}
OF_A_BUILD = {"manifest.py", "entropy.py", "noise.py", "cpython.py"}  # and what is for CPython


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


def test_mip_is_told_no_address() -> None:
    """Where the files come from is known to who installs them; an address would go stale."""
    for pair in package()["urls"]:
        assert not re.search(r"[a-z]+:|//|\.\.", " ".join(pair))


def test_nothing_on_a_device_imports_what_is_not_there() -> None:
    """A module that needs the host's would fail on the board alone, and late."""
    for name in on_a_device():
        text = (EDGE / name).read_text()
        assert not re.search(r"^\s*(from|import) (edge|\.+)\.?(host|linux)\b", text, re.M), name
        assert not re.search(r"^\s*from \.+ import .*\b(host|linux)\b", text, re.M), name


def frozen() -> tuple[list[str], list[str]]:
    """Return the files and the modules that a build freezes, by the functions it hands over."""
    taken: list[str] = []
    modules: list[str] = []

    def take_package(name: str, files: list[str], base_path: str) -> None:
        assert (name, base_path) == ("edge", "..")
        taken.extend(files)

    def take_module(name: str, base_path: str) -> None:
        assert (EDGE / base_path / name).is_file()
        modules.append(name)

    code = compile((EDGE / "manifest.py").read_text(), "manifest.py", "exec")
    exec(code, {"package": take_package, "module": take_module})
    return taken, modules


def test_a_frozen_build_has_the_same_files(monkeypatch) -> None:
    """And both templates, for a frozen board has no file system to copy them to."""
    monkeypatch.chdir(EDGE)

    assert frozen() == (on_a_device(), ["boot.py", "main.py"])


def test_importing_the_manifest_does_nothing() -> None:
    """It lies among the modules, and tools that look at all of them import it."""
    exec(compile((EDGE / "manifest.py").read_text(), "manifest.py", "exec"), {})


# What the files of a board and of Linux do without, though pins and clocks are theirs.

FILES = sorted([*(EDGE / "board").rglob("*.py"), *(EDGE / "linux").rglob("*.py")])
WAITS = {"random bits from spread"}
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
        "board/nap.py": {"the hour of the day from RTC", "the hour of the day from time"},
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
