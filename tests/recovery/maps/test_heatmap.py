"""Maps: their invariants, and that they survive a file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edge.core.records import Grid, Guarantee
from recovery.maps.guarantee import describe_guarantee, from_json, to_json
from recovery.maps.heatmap import (
    BLANK,
    HATCHED,
    SOLID,
    Band,
    Blocks,
    Credible,
    Heatmap,
    Verdict,
    from_npz,
    to_npz,
)

PROMISE = Guarantee((1, 2), (1, 100000), (7, 900), "one moves", "local", "one reading", "much")


def test_a_map_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    """With the promise, the grid, the total and the status."""
    there = Heatmap(Grid((3, 2), 250), np.full((2, 3), 1 / 6), PROMISE, 1.5, "optimal")
    to_npz(there, tmp_path / "map.npz")

    here = from_npz(tmp_path / "map.npz")

    assert (here.mass == there.mass).all()
    assert here.mass.dtype == np.float64
    assert (here.grid, here.guarantee, here.total, here.status) == (
        there.grid,
        PROMISE,
        1.5,
        "optimal",
    )
    assert [file.name for file in tmp_path.iterdir()] == ["map.npz"]


@pytest.mark.parametrize("banded", [True, False])
def test_how_sure_a_map_is_comes_back_with_it(tmp_path: Path, banded: bool) -> None:
    """Along a line with bands, in a plane without."""
    rising = np.array([0.25, 0.5, 1.0])
    band = Band(0.9, rising / 2, rising) if banded else None
    credible = Credible(0.9, np.array([[0.5, 0.25, 0.125]]), np.array([0, 1.0]), band, 0.25)
    there = Heatmap(
        Grid((3, 1), 0),
        np.full((1, 3), 1 / 3),
        PROMISE,
        1.0,
        "optimal",
        "posterior",
        "few sources",
    )
    sure = replace(there, credible=credible, certified=band, verdict=Verdict("fits"))
    to_npz(sure, tmp_path / "map.npz")
    wrong = Verdict("assumptions", "it cannot be")
    to_npz(replace(there, verdict=wrong), tmp_path / "wrong.npz")

    here, doubted = from_npz(tmp_path / "map.npz"), from_npz(tmp_path / "wrong.npz")

    assert (here.verdict, here.expected_error) == (Verdict("fits"), 0.25)
    assert (doubted.verdict, doubted.expected_error) == (wrong, None)
    assert (here.estimator, here.why) == ("posterior", "few sources")
    assert (here.credible.level, here.credible.expected_error) == (0.9, 0.25)
    assert (here.credible.present == credible.present).all()
    assert (here.credible.numbers == credible.numbers).all()
    for found in (here.credible.band, here.certified):
        assert (found is not None) == banded
        if found is not None:
            assert found.level == 0.9
            assert (found.low == rising / 2).all()
            assert (found.high == rising).all()


def test_deviations_of_cells_come_back_from_the_file(tmp_path: Path) -> None:
    """And a map of a file from before there were any has none."""
    there = Heatmap(Grid((3, 1), 0), np.full((1, 3), 1 / 3), PROMISE, 9.0, "optimal")
    sd = np.array([[0.1, 0.0, 0.25]])
    to_npz(there, tmp_path / "without.npz")
    to_npz(replace(there, sd=sd), tmp_path / "with.npz")
    found = from_npz(tmp_path / "with.npz").sd

    assert from_npz(tmp_path / "without.npz").sd is None
    assert found is not None
    assert (found == sd).all()


@pytest.mark.parametrize(
    ("level", "bounds", "why"),
    [
        (0.9, ([0.0, 0.5, 0.4], [1.0, 1.0, 1.0]), "rise from 0 to 1"),
        (0.9, ([0.0, 0.5, 1.0], [0.0, 0.4, 1.0]), "a lower bound below"),
        (0.9, ([0.0, 0.5, 1.1], [1.0, 1.0, 1.2]), "rise from 0 to 1"),
        (0.9, ([0.0, 0.5], [1.0, 1.0, 1.0]), r"one shape, and has \(2,\) and \(3,\)"),
        (1.0, ([0.0, 0.5], [0.5, 1.0]), "a level between 0 and 1, and has 1.0"),
    ],
)
def test_a_band_that_no_share_can_lie_in_is_refused(
    level: float, bounds: list[list[float]], why: str
) -> None:
    """Cumulative shares rise from 0 to 1."""
    with pytest.raises(ValueError, match=why):
        Band(level, *map(np.array, bounds))


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 broken"])
def test_a_file_that_is_no_map_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    """One clear line, whatever is wrong with it."""
    path = tmp_path / "broken.npz"
    path.write_bytes(content)

    with pytest.raises(ValueError, match=r"broken\.npz is no map of heatveil"):
        from_npz(path)


def test_nothing_half_written_is_left_where_a_map_cannot_be_written(tmp_path: Path) -> None:
    """The folder in the way stays as it was, and no part lies about."""
    (tmp_path / "taken").mkdir()

    with pytest.raises(OSError, match="taken"):
        to_npz(Heatmap(Grid((4, 1), 0), np.eye(1, 4), PROMISE, 1.0, ""), tmp_path / "taken")

    assert [file.name for file in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    "mass",
    [
        np.eye(1, 3),
        np.full((1, 4), 0.3),
        np.array([[1.5, -0.5, 0, 0]]),
        np.array([[np.nan, 0, 0, 1]]),
        np.eye(1, 4)[0],
    ],
)
def test_a_mass_that_is_no_map_is_refused(mass: np.ndarray) -> None:
    """Every cell, nowhere negative, adding to one: the law of every map."""
    with pytest.raises(ValueError, match="add to 1"):
        Heatmap(Grid((4, 1), 0), mass, PROMISE, 1.0, "optimal")


# The promise in JSON and in words.

LOCAL = Guarantee(
    (1, 1), (1, 10), (7, 900), "one source moves by 1 m", "local", "one reading", "presence"
)


@pytest.mark.parametrize("promise", [LOCAL, LOCAL._replace(epsilon=None, delta=None, rho=(1, 8))])
def test_a_promise_survives_json_with_its_exact_ratios(promise: Guarantee) -> None:
    """A ratio that became a float on the way would be another promise."""
    assert from_json(to_json(promise)) == promise


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"epsilon": [1, 2]}', to_json(LOCAL).replace("[1, 1]", "0.5")],
)
def test_anything_else_is_refused(text: str) -> None:
    """A float where a ratio is meant, above all."""
    with pytest.raises(ValueError, match="a map without its promise is not shown"):
        from_json(text)


def test_the_words_hold_everything_that_was_promised() -> None:
    """Nothing the record says may be lost on the way to a reader."""
    words = " ".join(describe_guarantee(LOCAL))

    for part in (LOCAL.neighbours, LOCAL.trust, LOCAL.unit, LOCAL.unprotected, "1/10", "2.72"):
        assert part in words


def test_a_promise_in_another_currency_makes_no_claim_in_this_one() -> None:
    """Without an epsilon no odds are named."""
    assert "odds" not in " ".join(describe_guarantee(LOCAL._replace(epsilon=None)))


def test_a_block_is_drawn_and_named_by_what_is_sure_of_it() -> None:
    """Of ten cells: one surely full, two as full as any, two unsure, five nearly empty."""
    boxes = np.array([[0, 0, 1, 1], [0, 1, 1, 2], [0, 3, 1, 2], [0, 5, 1, 5]])
    shares, low = np.array([0.5, 0.2, 0.25, 0.05]), np.array([0.4, 0.15, 0.21, 0])
    blocks = Blocks(0.9, boxes, shares, low, np.array([0.6, 0.25, 0.9, 0.1]))

    assert blocks.styles.tolist() == [SOLID, SOLID, HATCHED, BLANK]
    assert blocks.claims.tolist() == [0]
    assert blocks.flat_mass[0].tolist() == [0.5, 0.1, 0.1, 0.125, 0.125, *[0.01] * 5]
