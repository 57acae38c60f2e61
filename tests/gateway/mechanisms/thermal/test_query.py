"""Flags and settings: what becomes of each, and what is refused."""

from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from gateway.faults import OperatorFault
from gateway.mechanisms import flags, named
from gateway.mechanisms.flags import query_of
from gateway.mechanisms.thermal.query import first_round

query = partial(query_of, named("thermal"))


def test_without_flags_the_query_is_the_papers() -> None:
    """n = 100, m = 50, T = 0.05, one cell hidden; only delta is smaller than the paper's."""
    found = query()

    assert (found.grid, found.sensors, found.spread_m2) == (((100, 1), 0), (50,), 0.05)
    assert (found.epsilon, found.delta) == ((1, 1), (1, 100000))
    assert found.protect_distance_m is None


@pytest.mark.parametrize(
    ("setting", "name", "value"),
    [
        ("readings=4", "readings", 4),
        ("protect_distance_m=0.05", "protect_distance_m", 0.05),
        ("protect_distance_m=none", "protect_distance_m", None),
        ("walls=insulated", "walls", "insulated"),
        ("walls=none", "walls", "none"),
        ("step=1/16", "step", Fraction(1, 16)),
        ("sigma=1/10", "sigma", (1, 10)),
        ("epsilon=1/2", "epsilon", (1, 2)),
        ("keyholder=true", "keyholder", True),
        (" failure = 0.1 ", "failure", 0.1),
        ("sources=2", "sources", 2),
        ("furniture=0,0,4,1; 50,0,3,1", "furniture", ((0, 0, 4, 1), (50, 0, 3, 1))),
        ("estimator=lasso", "estimator", "lasso"),
    ],
)
def test_every_kind_of_field_can_be_set(setting: str, name: str, value: Any) -> None:
    """A setting takes the type of its field, so that nothing is a text by accident."""
    assert getattr(query(settings=[setting]), name) == value


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("redings=4", "did you mean readings"),
        ("grid=3", "use --cells"),
        ("readings", "name=value"),
        ("=4", "nothing cannot be set"),
        ("readings=four", "whole number"),
        ("readings=4.0", "whole number"),
        ("failure=often", "is not a number"),
        ("keyholder=perhaps", "true or false"),
        ("step=0.0625", "ratio"),
        ("walls=brick", "insulated"),
        ("furniture=a table", "no furniture"),
        ("furniture=1,2", "within the 100 by 1"),
        ("estimator=magic", "posterior, lmmse"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(setting: str, says: str) -> None:
    """A setting that is ignored would be believed to hold."""
    with pytest.raises(OperatorFault, match=says):
        query(settings=[setting])


def test_a_length_makes_cells_of_whole_millimetres() -> None:
    """Twenty metres in eighty cells are cells of 250 mm, the same on every device."""
    assert flags.grid("80", 20.0) == ((80, 1), 250)
    with pytest.raises(OperatorFault, match="whole millimetres"):
        flags.grid("100", 3.3333)


def test_what_cannot_fit_in_memory_is_refused_before_it_is_tried() -> None:
    """A machine that swaps itself to death says nothing at all."""
    with pytest.raises(OperatorFault, match="fit in memory"):
        query(cells="1000000", sensors="1000")


@pytest.mark.parametrize("intensity", ["1e300", "1e307", "1e-300"])
def test_numbers_beyond_all_computing_are_the_operators_fault(intensity: str) -> None:
    """An overflow deep in the calibration is no bug of ours, and no board has such grains."""
    with pytest.raises(OperatorFault, match=r"none that a sensor has|cannot be computed with"):
        first_round(query(settings=[f"intensity_max={intensity}"]))
