"""What is said of a frame that the gateway refused, and of the one after it."""

import sqlite3
from collections.abc import Callable
from typing import Any, cast

import pytest

from edge import wire
from edge.host import rootkeys
from gateway import config
from gateway.deployment import Deployment
from gateway.devices.kit import start
from gateway.devices.kit.start import Frame, Listener
from gateway.faults import OperatorFault
from gateway.storage.store import Store

WHO = rootkeys.identity("seen", "attic", bytes(range(32)), bytes(32), 5)
OLD, NEW = Frame(2, 1, b"old" * 300), Frame(2, 2, b"new")
LATE = "round 33 closed 0.3 s ago"


@pytest.fixture
def deployment(desk: Any) -> Deployment:
    """Return a deployment whose gateway ran once."""
    found = config.load(desk.path)
    Store.of(found).close()
    return found


@pytest.fixture
def write(deployment: Deployment) -> Callable[..., None]:
    """Return what writes a frame into the store, as the gateway does."""

    def row(frame: Frame, kind: str = "", why: str = "") -> None:
        with sqlite3.connect(deployment.site.database) as store:
            if why:
                store.execute(
                    "INSERT INTO refused (at_s, topic, why, size, frame, kind) VALUES "
                    "(1, ?, ?, ?, ?, ?)",
                    (
                        wire.topic("seen", "attic", "data"),
                        why,
                        frame.bytes,
                        frame.body[:512],
                        kind,
                    ),
                )
                return
            store.execute(
                "INSERT INTO reports (device, key_id, epoch, seq, round, frame, taken_s) VALUES "
                "('attic', ?, ?, ?, ?, ?, 1)",
                (WHO.key_id, frame.epoch, frame.seq, bytes(4), frame.body),
            )
        store.close()

    return row


class Came:
    """An ear to which these frames come, one a look."""

    def __init__(self, *frames: Frame) -> None:
        self.frames = frames

    def wait_more(self, known: int, _: float) -> list[Frame]:
        return list(self.frames[known : known + 1])


def told(deployment: Deployment, *frames: Frame) -> list[str]:
    said: list[str] = []
    start._until_taken(cast(Listener, Came(*frames)), deployment, WHO, 30, said.append)
    return said


def test_a_frame_that_was_refused_is_no_success(
    deployment: Deployment, write: Callable[..., None]
) -> None:
    """A board answers the old round that the broker kept; what counts is what comes after it."""
    write(OLD, "late", LATE)
    alone = told(deployment, OLD)
    assert f"refused: {LATE}" in alone[0]
    assert "none that counts yet" in alone[-1]
    assert not any("on its disk" in line for line in alone)

    write(NEW)
    both = told(deployment, OLD, NEW)
    assert f"refused: {LATE}" in both[0]
    assert "has it on its disk" in both[-1]


def test_what_the_next_round_does_not_mend_is_a_fault(
    deployment: Deployment, write: Callable[..., None]
) -> None:
    """A wrong place is one for ever; a gateway that does not know it yet takes it at a reload."""
    write(OLD, "place", "attic is not enrolled for round 3")
    with pytest.raises(OperatorFault, match="attic is not enrolled for round 3"):
        told(deployment, OLD)
    write(NEW, "unknown", "no device is called attic")
    assert "SIGHUP" in told(deployment, NEW)[-1]


def test_a_frame_of_which_nothing_is_known_is_not_taken(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither here nor there: it waits on the board."""
    monkeypatch.setattr(start, "TAKEN_S", 0.0)
    assert start.find_fate(deployment, WHO, OLD, 0) is None
    assert "has not taken it" in told(deployment, OLD)[-1]
