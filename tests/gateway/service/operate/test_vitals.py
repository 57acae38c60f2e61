"""A part whose thread has died is said not to work, and what changes is told once."""

import threading
from typing import Any

import pytest

from gateway.service.operate.health import PARTS, WORK_OF, Health, Vitals


@pytest.fixture
def told() -> list[dict[str, Any]]:
    """Return what is told."""
    return []


@pytest.fixture
def vitals(told: list[dict[str, Any]]) -> Vitals:
    """Return the vitals of a service all of whose parts work."""
    vitals = Vitals(Health(*PARTS), told.append)
    for part in PARTS:
        vitals.say(part, True)
    return vitals


@pytest.mark.parametrize("name", WORK_OF)
def test_a_thread_that_has_ended_is_a_part_that_does_not_work(
    vitals: Vitals, told: list[dict[str, Any]], name: str
) -> None:
    """Nobody is left to say so: nothing would be stored, and everything look well."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name=name, daemon=True)
    thread.start()
    vitals.watch()
    vitals.look()
    assert vitals.health.ready
    over.set()
    thread.join()
    before = len(told)
    vitals.look()
    vitals.look()

    assert not vitals.health.ready
    part = vitals.health.parts()[WORK_OF[name]]
    assert (part.ok, f"its thread {name} has ended" in part.why) == (False, True)
    assert len(told) == before + 1
    assert told[-1]["ready"] is False


def test_less_room_than_is_kept_free_hinders_rounds_until_there_is_more(vitals: Vitals) -> None:
    """A round that opens then is paid for, and its answers are not taken."""
    assert vitals.room(64_000_000, 64)
    assert vitals.room(None, 64)  # where it cannot be known
    assert vitals.hindrance() == ""
    assert not vitals.room(63_999_999, 64)
    assert "less than 64 MB" in vitals.hindrance()
    assert vitals.room(64_000_000, 64)
    assert vitals.hindrance() == ""
