"""The command itself; and the commands that write a file to start from."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import jsonschema
import pytest

from gateway import cli
from gateway.cli import load_program, play
from gateway.cli.config import collect_key_explanations, make_schema
from gateway.cli.records import report
from gateway.settings import config
from gateway.settings.deployment import Deployment
from tests import processes

from .conftest import Kept

# The command as one types it: what it answers to, and how it leaves.

TOP: Any = load_program()
COMMANDS = sorted(name for name, one in TOP.commands.items() if not hasattr(one, "commands"))
PROGRAM = Path(sys.executable).with_name("heatveil")


def test_help_names_every_command(heatveil: Callable[..., Any]) -> None:
    """Whoever types the bare name finds the way from there."""
    said = heatveil("--help")

    assert said.status == 0
    assert len(COMMANDS) > 15
    assert "Exit status: 0 done; 1 what you can mend" in " ".join(said.out.split())
    assert [name for name in COMMANDS if f"\n  {name} " not in said.out] == []


def test_help_does_not_wait_for_numpy() -> None:
    """The analyst's libraries take seconds to import on a small machine; help needs none."""
    looked = processes.run(
        [sys.executable, "-c", "import sys, gateway.cli; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )

    heavy = {"numpy", "scipy", "cvxpy", "matplotlib", "sqlalchemy", "uvicorn"}
    assert heavy.isdisjoint(looked.stdout.split())


def test_our_own_faults_show_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug dressed up as the operator's fault would never be reported."""
    monkeypatch.setattr(play, "play_and_write", Mock(side_effect=ZeroDivisionError))

    with pytest.raises(ZeroDivisionError):
        cli.main(["play", "thermal"])


def test_a_machine_that_is_too_small_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, heatveil: Callable[..., Any]
) -> None:
    """A room of 40,000 sensors and 160,000 cells asks for 47.7 GiB: no bug of ours."""
    monkeypatch.setattr(
        play, "play_and_write", Mock(side_effect=MemoryError("Unable to allocate 47.7 GiB"))
    )
    said = heatveil("play", "thermal")

    assert "47.7 GiB" in said.refusal
    assert said.err.count("\n") == 1


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
def test_a_full_disk_under_what_is_printed_is_said_in_one_line() -> None:
    """Half a sample, half a ledger: whoever redirected it must hear of it."""
    with Path("/dev/full").open("w") as full:
        ran = processes.run(
            [PROGRAM, "config", "--sample"], stdout=full, stderr=subprocess.PIPE, text=True
        )

    assert ran.returncode == 1
    assert "full" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_level_that_is_none_is_refused_by_every_command(
    monkeypatch: pytest.MonkeyPatch, heatveil: Callable[..., Any]
) -> None:
    """Also by one that writes no log: else a typing error is found at the next fault."""
    monkeypatch.setenv("HEATVEIL_LOG", "info")  # so that what the flag sets is forgotten after
    said = heatveil("--log", "loud", "config")

    assert (said.status, said.out) == (1, "")
    assert "HEATVEIL_LOG is 'loud' but must be one of debug, info, warning, error" in said.err
    assert said.err.count("\n") == 1


# The commands that write a file to start from: config and report.

# The deployment file explained: the sample loads, and the schema says what the program says.

Heatveil = Callable[..., Any]
SAMPLE = tomllib.loads(config.make_sample())


def accepts(given: Any) -> bool:
    """Return what an editor says of a file."""
    validator = jsonschema.Draft202012Validator(make_schema())
    return bool(validator.is_valid(given))


def loads(given: Any) -> bool:
    """Return what the program says of it."""
    try:
        Deployment(**given)
    except ValueError:
        return False
    return True


def changed(table: str, key: str, value: Any) -> dict[str, Any]:
    """Return the sample with one value changed."""
    return {**SAMPLE, table: {**SAMPLE.get(table, {}), key: value}}


def test_the_sample_is_printed_as_it_is_and_loads(tmp_path: Path, heatveil: Heatveil) -> None:
    """`heatveil config --sample > gateway.toml` is how everybody begins."""
    said = heatveil("config", "--sample")
    (tmp_path / "gateway.toml").write_text(said.out)

    assert said.out == config.make_sample()
    assert config.load_deployment(tmp_path / "gateway.toml").site.name == "lab"
    assert heatveil("config").out == said.out


def test_the_schema_is_json_schema_and_takes_the_sample(heatveil: Heatveil) -> None:
    """An editor that marks the sample as wrong is switched off."""
    printed = json.loads(heatveil("config", "--schema").out)
    jsonschema.Draft202012Validator.check_schema(printed)

    assert printed == make_schema()
    assert accepts(SAMPLE)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("mqtt", "port", 1883),
        ("mqtt", "port", 70_000),
        ("mqtt", "port", "http"),
        ("mqtt", "prot", 1883),
        ("room", "cells", [8, 4]),
        ("room", "cells", [8, 4, 2]),
        ("room", "cells", 0),
        ("rounds", "estimator", "guess"),
        ("rounds", "quorum", 0),
        ("homeassistant", "enabled", True),
        ("homeassistant", "enabled", "yes"),
        ("privacy", "epsilon", 1),
        ("privacy", "epsilon", [1, 2]),
        ("workers", "partitions", 257),
        ("guard", "minutes", 60),
        ("sensors", "background", "hidden"),
        ("planet", "name", "mars"),
    ],
)
def test_editor_and_program_agree(table: str, key: str, value: Any) -> None:
    """What is marked does not load, and what loads is not marked; a ratio is better quoted."""
    given = changed(table, key, value)

    assert accepts(given) == loads(given) or (key, value) == ("privacy", [1, 2])


def test_every_key_of_the_sample_is_explained_and_every_key_is_in_it() -> None:
    """A key that only the code knows is a key that nobody uses."""
    schema = make_schema()
    words = collect_key_explanations()
    named = {"port", "username", "delta", "mechanism", "calibration"}  # say it themselves
    for table, reference in schema["properties"].items():
        keys = schema["$defs"][reference["$ref"].rpartition("/")[2]]["properties"]
        assert {key for key in keys if (table, key) not in words} <= named, table
        assert {key for name, key in words if name == table} <= keys.keys(), table


# A day as a page: whole in itself, with what it must say, and of a day that was.


def test_a_day_is_a_page_that_needs_nothing_else(
    kept: Kept, heatveil: Heatveil, tmp_path: Path
) -> None:
    """Its map, who answered, what was promised; no address that a browser would ask."""
    file = tmp_path / "day.html"
    ran = heatveil("report", "--config", kept.path, "--out", file)
    text = file.read_text("utf-8")

    assert "1 round of" in ran.success
    assert text.count("<figure") == 1
    assert "5 of 6" in text
    assert "This map is not a picture of people" in text
    assert "Formally: epsilon" in text
    assert 'href="data:image/png;base64,' in text
    assert "http" not in text
    assert "<script" not in text


def test_a_day_without_rounds_is_refused(kept: Kept, heatveil: Heatveil, tmp_path: Path) -> None:
    """It says which day has some, and writes nothing."""
    file = tmp_path / "day.html"
    early = heatveil("report", "--config", kept.path, "--day", "2001-01-01", "--out", file)
    wrong = heatveil("report", "--config", kept.path, "--day", "yesterday", "--out", file)

    assert (early.status, wrong.status) == (1, 1)
    assert "the newest closed on" in early.err
    assert not file.exists()


@pytest.mark.parametrize(("reads", "named"), [("place", False), ("temperature", True)])
def test_nobody_is_named_with_when_he_left(reads: str, named: bool) -> None:
    """Where devices are people the page, which is passed on, says how many were not heard."""
    row: Any = SimpleNamespace(name="anna", quarantine=None, alarm=None, clock=None, last_s=30.0)
    last: Any = SimpleNamespace(opened_s=60.0)

    said = report._format_device_faults([row], last, reads)

    assert "need attention" in said
    assert ("anna" in said, "last heard" in said) == (named, named)
