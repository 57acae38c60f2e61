"""Chores are done at their own pace, one failing stops no other, and none outlives its gateway."""

import threading
import time
from itertools import pairwise
from typing import Any

import pytest
import structlog.testing

from gateway.service.operate.health import PARTS, WORK_OF, Chore, Chores, Health, Vitals


def test_each_is_done_at_once_and_then_at_its_own_pace() -> None:
    """A quick one is not slowed by a slow one, nor the slow one done too often."""
    quick, slow, enough = [], [], threading.Event()

    def often() -> None:
        quick.append(time.monotonic())
        if len(quick) == 5:
            enough.set()

    with Chores(Chore(0.05, often), Chore(3600, lambda: slow.append(1))):
        assert enough.wait(10)

    assert slow == [1]
    assert all(later - earlier > 0.03 for earlier, later in pairwise(quick))


def test_one_that_fails_is_told_of_and_tried_again_beside_the_others() -> None:
    """Forgetting old readings must not stop the taking of new ones; and it is never silent."""
    tries, others, enough = [], [], threading.Event()

    def failing() -> None:
        tries.append(1)
        raise RuntimeError("a path that holds a secret")

    def other() -> None:
        others.append(1)
        if len(others) == 3:
            enough.set()

    both = Chore(0.02, failing), Chore(0.02, other)
    with structlog.testing.capture_logs() as logs, Chores(*both) as chores:
        assert enough.wait(10)
        assert chores._thread.is_alive()

    assert len(tries) >= 2
    assert logs[0]["event"] == "a chore failed"
    assert (logs[0]["chore"], logs[0]["why"]) == ("failing", "RuntimeError")
    assert "secret" not in str(logs)


def test_the_end_waits_for_the_chore_under_way_and_begins_no_other() -> None:
    """A store is closed after this: nobody may still be writing to it."""
    begun, done = threading.Event(), []

    def long() -> None:
        begun.set()
        time.sleep(0.2)
        done.append("long")

    chores = Chores(Chore(3600, long), Chore(3600, lambda: done.append("next")))
    with chores:
        assert begun.wait(10)

    assert done == ["long"]
    assert not chores._thread.is_alive()


# A part whose thread has died is said not to work, and what changes is told once.


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
