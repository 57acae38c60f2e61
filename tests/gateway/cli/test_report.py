"""A day as a page: whole in itself, with what it must say, and of a day that was."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.cli import report

from .conftest import Kept

Heatveil = Callable[..., Any]


def test_a_day_is_a_page_that_needs_nothing_else(
    kept: Kept, heatveil: Heatveil, tmp_path: Path
) -> None:
    """Its map, who answered, what was promised; no address that a browser would ask."""
    file = tmp_path / "day.html"
    ran = heatveil("report", "--config", kept.path, "--out", file)
    text = file.read_text("utf-8")

    assert ran.status == 0, ran.err
    assert "1 round of" in ran.out
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
    row = SimpleNamespace(name="anna", quarantine=None, alarm=None, last_s=30.0)
    reader: Any = SimpleNamespace(devices=lambda: [row])
    last: Any = SimpleNamespace(opened_s=60.0)

    said = report._devices(reader, last, reads)

    assert "need attention" in said
    assert ("anna" in said, "last heard" in said) == (named, named)
