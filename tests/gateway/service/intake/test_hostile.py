"""Twenty thousand bad messages among good ones; `bench_hostile` sends ten million."""

import runpy
from collections import Counter
from pathlib import Path

import pytest

from gateway.service.intake import door

BENCH = Path(__file__).parents[3] / "bench" / "bench_hostile.py"


@pytest.mark.parametrize("seed", [1, 2])
def test_no_bad_message_raises_or_stops_a_good_one_and_each_has_a_reason(seed: int) -> None:
    """Forged, foreign, nested, oversized, cut short, signed by a device that was opened."""
    found = runpy.run_path(str(BENCH))["run"](10_000, seed)

    assert found.raised == 0
    assert found.kept == found.good > 700
    assert found.unexplained == 0
    met = {"topic", "unknown", "garbled", "version", "forged", "changed", "oversized", "future"}
    assert met <= set(found.kinds)
    assert found.kinds.total() + found.absorbed >= found.payloads * 0.99


def test_a_decoder_that_raises_anything_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without the catch around the decoder the first such message stops a batch."""

    def bad(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(door, "genuine", bad)
    found = runpy.run_path(str(BENCH))["run"](500, 1)

    assert found.raised > 0
    assert found.kept < found.good
    assert isinstance(found.kinds, Counter)
