"""`heatveil once`: one round, its map on the terminal, and nothing left running."""

import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import processes

PROGRAM = Path(sys.executable).with_name("heatveil")


def _rows(config: Path, wanted: str) -> list[Any]:
    with closing(sqlite3.connect(config.with_name("heatveil.sqlite"))) as database:
        return database.execute(wanted).fetchall()


@pytest.mark.long
@pytest.mark.usefixtures("fleet")
def test_one_round_is_asked_charged_drawn_and_printed(
    living: Path, heatveil: Callable[..., Any]
) -> None:
    """A first try of a site: what came, a picture in letters, one charge, no thread left."""
    before = {thread.name for thread in threading.enumerate()}
    said = heatveil("once", "--config", living)
    lines = said.out.splitlines()

    assert said.status == 0, said.err
    assert lines[0] == "round 1: 6 of 6 devices answered"
    assert lines[1].startswith("map of round 1, in all ")
    (row,) = lines[2:]
    assert re.fullmatch(r"\[.{40}\]", row)
    assert set(row) & {"@", "█"}
    assert _rows(living, "SELECT count(*) FROM charges") == [(1,)]
    assert _rows(living, "SELECT outcome FROM rounds") == [("closed",)]
    assert {thread.name for thread in threading.enumerate()} <= before


@pytest.mark.long
@pytest.mark.usefixtures("fleet")
def test_the_next_one_says_how_long_it_has_to_wait(
    living: Path, heatveil: Callable[..., Any]
) -> None:
    """Devices refuse who comes too soon: silence for a minute would look like a fault."""
    assert heatveil("once", "--config", living).status == 0
    command = [PROGRAM, "once", "--config", living]
    with processes.Child(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        said = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=60)

    (wait_s,) = re.findall(r"^the next round may open in (\d+) s", said)
    assert 30 < int(wait_s) <= 60
    assert rest == "no round was run: it was stopped\n"
    assert process.returncode == 1
    assert _rows(living, "SELECT count(*) FROM charges") == [(1,)]


def test_a_round_that_nobody_answers_is_no_map_and_says_why(
    living: Path, heatveil: Callable[..., Any]
) -> None:
    """A script that runs it learns that from the exit status, a person from the sentence."""
    living.write_text(living.read_text().replace("gather_s = 5", "gather_s = 0.2"))
    assert heatveil("enrol", "--config", living).status == 0
    said = heatveil("once", "--config", living)

    assert said.status == 1
    assert said.out.startswith("round 1: 0 of 6 devices answered\nno estimate: nobody answered")


@pytest.mark.long
def test_without_a_broker_it_ends_with_a_sentence(
    site: Path, heatveil: Callable[..., Any]
) -> None:
    """It is for a person at a terminal: it does not wait for a broker that never comes."""
    said = heatveil("once", "--config", site)

    assert said.status == 1
    assert "heatveil: no MQTT broker at 127.0.0.1:" in said.err.splitlines()[-1]
    assert _rows(site, "SELECT count(*) FROM charges") == [(0,)]
