"""The unit is what systemd takes without a word, and nearly as closed as the gateway's."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import edge.linux
from tests import processes

UNIT = Path(edge.linux.__file__).parent / "heatveil-node.service"
MOST_EXPOSED = 2.0  # out of 10; the gateway's has 1.5 and no sensor
PYTHON = "/opt/heatveil/bin/python"


def analyzed(need: Callable[[str], str], folder: Path, text: str, *words: str) -> str:
    """Return what systemd-analyze says of a unit, and its exit status."""
    (folder / UNIT.name).write_text(text.replace(PYTHON, sys.executable))
    command = [need("systemd-analyze"), *words, str(folder / UNIT.name)]
    ran = processes.run(command, capture_output=True, text=True)
    return f"{ran.stdout}{ran.stderr}status {ran.returncode}"


def test_systemd_has_nothing_to_say_of_it(need, tmp_path: Path) -> None:
    """A key that it does not know is a defence that is not there, and nobody sees it missing."""
    text = UNIT.read_text()

    assert analyzed(need, tmp_path, text, "verify", "--man=no") == "status 0"
    planted = text.replace("ProtectHome=yes", "ProtectHomes=yes")
    assert "ProtectHomes" in analyzed(need, tmp_path, planted, "verify", "--man=no")


def test_it_is_exposed_as_little_as_was_promised(need, tmp_path: Path) -> None:
    """systemd's own score; without the system-call filter it is worse, so it is looked at."""

    def score(text: str) -> float:
        told = analyzed(need, tmp_path, text, "security", "--offline=true", "--threshold=100")
        found = re.search(r"exposure level for \S+: ([\d.]+)", told)
        assert found is not None, told
        return float(found[1])

    text = UNIT.read_text()
    assert score(text) <= MOST_EXPOSED
    assert score(re.sub(r"^SystemCallFilter.*\n", "", text, flags=re.M)) > score(text)
    assert score(re.sub(r"^Protect.*\n", "", text, flags=re.M)) > MOST_EXPOSED


def test_what_it_starts_is_there() -> None:
    """A path of the unit that has moved would be noticed on somebody's wall."""
    started = re.search(r"ExecStart=\S+ -m (\S+) (\S+)", UNIT.read_text())

    assert started is not None
    assert (UNIT.parents[2] / (started[1].replace(".", "/") + ".py")).is_file()
    assert "--with-key=tpm2" in UNIT.read_text()
