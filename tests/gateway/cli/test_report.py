"""A day as a page: whole in itself, with what it must say, and of a day that was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

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
