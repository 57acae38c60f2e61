"""Deaths and returns: so many a minute, nobody twice at once, and nobody where none are asked."""

import pytest

from gateway.devices.fleet import crowd
from gateway.devices.fleet.crowd import Churn
from gateway.faults import OperatorFault
from tests.waiting import eventually


class Mortals:
    """A fleet that notes who is gone."""

    def __init__(self) -> None:
        self.names = [f"node-{number}" for number in range(5)]
        self.gone: set[str] = set()
        self.most, self.bars = 0, False

    def die(self, name: str) -> None:
        assert name not in self.gone, "it was dead already"
        self.gone.add(name)
        self.most = max(self.most, len(self.gone))

    def again(self, name: str) -> None:
        if self.bars:
            raise OperatorFault("its budget is lost")
        self.gone.remove(name)


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Mortals:
    """Return a fleet whose devices are gone for a moment only."""
    monkeypatch.setattr(crowd, "AWAY_S", (0.01, 0.05))
    return Mortals()


def test_devices_die_and_come_back(fleet: Mortals) -> None:
    """Several may be gone at once, and every one returns."""
    with Churn(fleet, 6000) as dying:
        came = eventually(lambda: dying.returns >= 20)

    assert came
    assert dying.deaths - dying.returns == len(fleet.gone)
    assert fleet.most >= 1


def test_one_that_cannot_come_back_ends_nothing(fleet: Mortals) -> None:
    """The others go on dying, and it is not counted as one that returned."""
    fleet.bars = True
    with Churn(fleet, 6000) as dying:
        all_gone = eventually(lambda: dying.deaths >= 5)

    assert all_gone
    assert dying.returns == 0
