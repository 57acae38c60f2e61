"""What it costs to stop a board that works, and that it is said."""

from typing import Any

import pytest

from edge import slots
from edge.budget import Budget
from edge.limits import Limits
from gateway.cli.provision import kept
from gateway.devices.kit import state

NAME = "attic"


@pytest.mark.long
def test_a_restart_says_what_it_costs(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a board that never began nothing is lost; of one that did, what it had paid ahead."""
    monkeypatch.setattr(state, "SHARE", 1)  # for a budget of three
    desk.board()
    words = ("provision", NAME, "--board", f"folder:{desk.path.parent / 'board'}")
    first = desk.run(*words, "--settings", desk.own)
    assert (first.status, "\nrestart" in first.out) == (0, False), first.err

    held = kept(desk.path, NAME, desk.path.with_name(f"{NAME}.device.json"))
    assert held is not None
    place = slots.Files(str(desk.path.parent / "board" / "heatveil"), "budget")
    Budget(place, held.identity.state_key).boot()
    again = desk.run(*words)
    assert again.status == 0, again.err
    assert "restart      costs up to 2 answers" in again.out


@pytest.mark.parametrize(
    ("answers", "epoch", "aside"), [(4, 1, 0), (20, 1, 4), (99, 1, 7), (99, 0, 0)]
)
def test_as_many_as_a_lease_may_hold(answers: int, epoch: int, aside: int) -> None:
    """Less the one for which it was taken."""
    held = Limits(1, 8, 1, 500_000, answers * 1000, 0)
    seen = state.State("", "", "", "", "", "", "", True, "", "", 2, epoch, 0, 0, held, 0, 0, 0)
    assert seen.aside == aside
    assert seen._replace(limits=None).aside == 0
