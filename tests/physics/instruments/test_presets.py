"""Named sensors: the numbers of their data sheets, and refusals that help."""

from dataclasses import fields
from fractions import Fraction

import pytest

from physics.instruments.presets import PRESETS, Preset, named


@pytest.mark.parametrize(
    ("name", "step", "conversion_s", "pixels", "pixel_deg"),
    [
        ("tmp117", Fraction(78125, 10**7), 0.125, 1, 0),
        ("ds18b20", Fraction(625, 10**4), 0.75, 1, 0),
        ("grideye", Fraction(25, 100), 0.1, 64, 7.5),
        ("mlx90640-110", Fraction(1, 100), 1.0, 768, 110 / 32),
        ("mlx90640-55", Fraction(1, 100), 1.0, 768, 55 / 32),
    ],
)
def test_the_numbers_are_those_of_the_data_sheets(
    name: str, step: Fraction, conversion_s: float, pixels: int, pixel_deg: float
) -> None:
    """Written here as the sheets print them, not as the code derives them."""
    one = named(name)

    assert (one.step, one.conversion_s, one.pixels) == (step, conversion_s, pixels)
    assert one.view_deg[0] / one.shape[0] == pixel_deg


@pytest.mark.parametrize("one", PRESETS.values(), ids=PRESETS)
def test_every_number_says_where_it_is_from(one: Preset) -> None:
    """A number without a source is a guess that nobody can check."""
    plain = Preset("plain")
    set_here = {
        part.name for part in fields(one) if getattr(one, part.name) != getattr(plain, part.name)
    }
    told = set(one.sources) | ({"shape"} if "view_deg" in one.sources else set())

    assert set_here - {"name", "sources"} <= told
