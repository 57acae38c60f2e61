"""The parts that a config makes: what each wake costs, and a sensor that comes back."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edge.board import assemble, config, drivers
from edge.core import slots
from edge.core.limits import Limits
from edge.host import rootkeys
from edge.host.enrol import provision

ROOT = bytes(range(32))
WHO = rootkeys.identity("lab", "n", ROOT, bytes(32), 3)
PRICE = 1000


def told(wake_s: int = 0) -> Any:
    """Return a Config of which only this matters."""
    driver = {"name": "yours", "empty": None, "address": None}
    return config.Config(WHO, {}, None, driver, 100, wake_s, None, False, "thermal", None)


@pytest.mark.parametrize(("wake_s", "spent"), [(0, 24), (60, 3)])
def test_a_board_that_sleeps_pays_for_one_answer_a_wake(
    tmp_path: Path, wake_s: int, spent: int
) -> None:
    """Three starts and an answer each: the lease that is lost would cost seven more, each time."""
    place = slots.Files(str(tmp_path), "budget")
    first = Limits(1, 8, 1, 500_000, 10**6, 0)
    provision(place, WHO.state_key, rootkeys.first_chain(ROOT), first)
    for wake in range(3):
        budget = assemble.budget_of(told(wake_s), str(tmp_path))
        assert (budget.epoch, budget.spent % PRICE) == (wake + 1, 0)
        assert budget.charge(PRICE, wake)
    assert assemble.budget_of(told(wake_s), str(tmp_path)).spent == spent * PRICE


@pytest.mark.parametrize(
    ("answers", "lost"), [(1, 0), (4, 0), (7, 0), (8, 1), (20, 4), (31, 6), (32, 7), (1000, 7)]
)
def test_no_start_costs_more_than_a_quarter_of_what_is_left(
    tmp_path: Path, answers: int, lost: int
) -> None:
    """A promise of a few readings must not go with the first power cut."""
    place = slots.Files(str(tmp_path), "budget")
    held = Limits(1, 8, 1, 500_000, answers * PRICE, 0)
    provision(place, WHO.state_key, rootkeys.first_chain(ROOT), held)
    first = assemble.budget_of(told(), str(tmp_path))
    assert first.charge(PRICE, 0)

    again = assemble.budget_of(told(), str(tmp_path))
    assert again.spent - first.spent == lost * PRICE
    assert lost < max(answers / assemble.SHARE, 1)


def test_what_is_left_pays_for_each_answer_whatever_is_cut(tmp_path: Path) -> None:
    """A small budget, cut after each answer: fewer are lost the fewer there are."""
    place = slots.Files(str(tmp_path), "budget")
    held = Limits(1, 8, 1, 500_000, 60 * PRICE, 0)
    provision(place, WHO.state_key, rootkeys.first_chain(ROOT), held)
    answered = 0
    while (budget := assemble.budget_of(told(), str(tmp_path))).charge(PRICE, answered):
        answered += 1
        assert budget.spent >= answered * PRICE

    assert answered >= 15  # eight at a time, these were eight
    assert budget.exhausted


def test_a_spoilt_budget_is_told_and_not_mended(tmp_path: Path) -> None:
    """Nothing is written over what may be evidence."""
    (tmp_path / "budget.0").write_bytes(b"spoilt")

    assert assemble.budget_of(told(), str(tmp_path)).fault
    assert (tmp_path / "budget.0").read_bytes() == b"spoilt"


def test_the_ring_holds_four_frames_of_the_largest_array(tmp_path: Path) -> None:
    """A frame that did not fit could never be sent again."""
    large = told()._replace(identity=WHO._replace(sensors=768))
    ring = assemble.ring_of(large, str(tmp_path))
    for frame in range(4):
        ring.put(bytes([frame]) * (4 * 768 + 100))

    assert ring.overwritten == 0
    assert len(ring) == 4


def test_a_sensor_that_comes_back_is_set_up_anew() -> None:
    """It lost its power, and with it the rate and the mode that were written once."""
    made: list[int] = []

    def opening() -> Any:
        made.append(1)

        def read(_: Any) -> list[int]:
            if len(made) == 1 and len(reads) == 2:
                raise OSError("-1 at 0x69")
            return [7]

        reads: list[int] = []
        return SimpleNamespace(read=lambda params: (reads.append(1), read(params))[1])

    held = drivers.Held(opening, 1, (1, 4))
    assert held.read(None) == (7,)
    with pytest.raises(OSError, match="does not answer"):
        held.read(None)
    assert held.faults == 1
    assert held.read(None) == (7,)
    assert (len(made), held.faults) == (2, 0)


@pytest.mark.parametrize("said", [[1, 2], [], None])
def test_a_sensor_of_another_size_is_rubbish(said: Any) -> None:
    """Two numbers where one was enrolled: each would be held against another's noise."""
    held = drivers.Held(lambda: SimpleNamespace(read=lambda params: said), 1, (1, 4))

    with pytest.raises(ValueError, match="cannot measure"):
        held.read(None)


def test_a_driver_that_is_none_is_named_at_the_start() -> None:
    """Not at the first Round, when nobody looks at the console any more."""
    wrong = told()._replace(driver={"name": "bme680"})

    with pytest.raises(ValueError, match="no such driver"):
        assemble.sensor_of(wrong)
    with pytest.raises(ValueError, match="not read on this computer"):
        drivers.open_sensor({"name": "tmp117", "empty": None, "address": None})
