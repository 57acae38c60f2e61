"""Ratios of whole numbers, as they are typed."""

import pytest

from recovery.noise import check_ratio, parse_ratio


@pytest.mark.parametrize(
    ("text", "ratio"),
    [
        ("1/2", (1, 2)),
        ("10/4", (5, 2)),
        (" 4/1 ", (4, 1)),
        ("3", (3, 1)),
        ("1/100000", (1, 100000)),
    ],
)
def test_a_ratio_is_read_in_lowest_terms(text: str, ratio: tuple[int, int]) -> None:
    """Equal requests must be equal bytes on every device."""
    assert parse_ratio(text) == ratio


@pytest.mark.parametrize(
    "text",
    [
        "0.5",
        "1e-5",
        "",
        "/",
        "1/",
        "/2",
        "0/1",
        "1/0",
        "-1/2",
        "1/2/3",
        "½",
        "²/3",
        "a/b",
        "9223372036854775808/1",
    ],
)
def test_anything_else_is_refused_with_the_way_out(text: str) -> None:
    """Above all a decimal fraction, which has no one value on every device."""
    with pytest.raises(ValueError, match=r"write \d+/\d+( for a half)?, so") as refusal:
        parse_ratio(text, "delta")

    assert repr(text) in str(refusal.value)
    assert str(refusal.value).startswith("delta")


@pytest.mark.parametrize(
    "ratio", [0.5, 1, "1/2", (1,), (1.0, 2), (0, 1), (1, -2), (True, 1), [1, 2], (1, 2**63)]
)
def test_a_ratio_in_the_program_is_two_positive_whole_numbers(ratio: object) -> None:
    """A float slipped in by a caller is refused as one typed by an operator is."""
    with pytest.raises(ValueError, match="must be a pair"):
        check_ratio(ratio, "epsilon")


@pytest.mark.parametrize(
    ("text", "meant"), [("0.001", "1/1000"), (" 2.5 ", "5/2"), ("1e-5", "1/100000")]
)
def test_a_decimal_is_answered_with_the_ratio_it_means(text: str, meant: str) -> None:
    """Whoever reads it can copy it, be it in a flag or in a deployment file."""
    with pytest.raises(ValueError, match=f"write {meant}, so"):
        parse_ratio(text)
