"""`heatveil tighten` where devices answer places: a smaller epsilon, a budget that fell too."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core import tightening, wire
from edge.host import post
from edge.mechanisms import disk_limits
from gateway.devices.enrol import budgets, enrol, limitsfile
from gateway.devices.enrol.capped import capped, tighter_cap
from gateway.devices.enrol.check import check_together
from gateway.devices.fleet.crowd import Crowd
from gateway.devices.fleet.people import People
from gateway.faults import OperatorFault
from gateway.mechanisms import first_limits, first_round
from gateway.settings import config
from gateway.settings.deployment import Mqtt

SITE = """
[site]
name = "{name}"
[room]
cells = [5, 4]
[disk]
devices = 3
scheme = "dam-ns"
radius = 1
[privacy]
epsilon = "{epsilon}"
readings = {readings}
[rounds]
mechanism = "disk"
every_s = 0.1
[mqtt]
port = {port}
insecure = true
"""


class Street:
    """Three people with a device each, enrolled for four answers of epsilon 3/4."""

    def __init__(self, mqtt: Mqtt, folder: Path, name: str) -> None:
        self.mqtt, self.name, self.config = mqtt, name, folder / "site.toml"
        deployment = self.asks("3/1", 4)
        self.plan = first_round(deployment, config.query(deployment))
        self.made, self._place = enrol.enrol_fleet(name, 3), budgets.keep_in_memory()
        self.devices = enrol.derive_devices(self.made.secrets)
        self.limits = first_limits(deployment, config.query(deployment))
        enrol.save_devices(self.devices, deployment.site.devices)
        limitsfile.save_first(deployment.site.devices, self.devices, self.limits)
        budgets.provision(self.made, self.limits, self._place)

    def asks(self, epsilon: str, readings: int) -> Any:
        """Write the deployment file anew, and return what it says."""
        values = {"epsilon": epsilon, "readings": readings, "port": self.mqtt.port}
        self.config.write_text(SITE.format(name=self.name, **values))
        return config.load(self.config)

    def people(self) -> People:
        """Return the devices, freshly started."""
        started = budgets.boot(self.made.secrets, self._place).devices
        return People(started, np.zeros((1, 3), np.int64), 5, "disk")

    def message(self, plan: Any) -> bytes:
        """Return the signed bytes of a round."""
        topic = wire.round_topic(self.name, "disk")
        return bytes(post.pack_round(plan, self.devices.site_key, topic))


@pytest.fixture
def street(mosquitto: Mqtt, tmp_path: Path, request: pytest.FixtureRequest) -> Street:
    """Return a street whose site no other test has."""
    return Street(mosquitto, tmp_path, f"street-{abs(hash(request.node.name)) % 10**9}")


def test_devices_take_a_smaller_epsilon_and_answer_no_larger_one(
    street: Street, heatveil: Callable[..., Any]
) -> None:
    """Two thirds of it in one answer: the old Round is refused, the new one has its answers."""
    people = street.people()
    with Crowd(street.mqtt, people):
        deployment = street.asks("2/1", 4)
        said = heatveil("tighten", "--config", street.config, "--patience", 5)
    asked = first_round(deployment, config.query(deployment))

    assert said.status == 0, said.err
    assert "an epsilon of at most 0.5 an answer" in said.out
    assert "taken by 3 of 3" in said.out
    for number, there in enumerate((lambda: people, street.people), 1):  # after a restart too
        node = there().node("node-0")
        held = node.budget.limits
        old, new = (street.message(one._replace(number=number)) for one in (street.plan, asked))
        assert (held.version, Fraction(*disk_limits.promised(held))) == (2, 2)
        assert node.answer(old, lambda params: (0, 0)) is None
        assert "epsilon" in node.refusal
        assert node.answer(new, lambda params: (0, 0)), node.refusal

    check_together(deployment, street.devices)
    with pytest.raises(OperatorFault, match="another amount with one answer"):
        check_together(street.asks("3/1", 4), street.devices)


def test_fewer_answers_of_the_same_epsilon_are_tighter(
    street: Street, heatveil: Callable[..., Any]
) -> None:
    """And sent again they are what they were, not another version."""
    street.asks("3/2", 2)
    before = heatveil("tighten", "--config", street.config, "--patience", 0)
    with Crowd(street.mqtt, street.people()):
        said = heatveil("tighten", "--config", street.config, "--patience", 5)

    assert "taken by 0 of 3" in before.out
    assert "version 2 goes to" in said.out
    assert "taken by 3 of 3" in said.out


@pytest.mark.parametrize(
    ("epsilon", "readings", "words"),
    [
        ("1/1", 1, "a larger epsilon in one report"),
        ("15/4", 5, "a larger budget"),
        ("4/1", 8, "add up to more"),  # twice the answers, and less of a budget
    ],
)
def test_what_would_tell_more_is_not_even_sent(
    street: Street, heatveil: Callable[..., Any], epsilon: str, readings: int, words: str
) -> None:
    """A cheaper answer with the old budget would be a larger sum of epsilons."""
    street.asks(epsilon, readings)
    said = heatveil("tighten", "--config", street.config, "--patience", 0)
    sent = limitsfile.load(config.load(street.config).site.devices, street.devices)

    assert said.status == 1
    assert "nothing was sent" in said.err
    assert words in said.err
    assert {one.limits for one in sent.values()} == {street.limits}


CAPS = [Fraction(3, 4), Fraction(1, 2), Fraction(2, 5), Fraction(1, 10), Fraction(16)]


@pytest.mark.parametrize("last", CAPS, ids=str)
@pytest.mark.parametrize("wished", CAPS, ids=str)
def test_a_device_takes_what_tells_less_however_it_is_written(
    last: Fraction, wished: Fraction
) -> None:
    """3/4 has the squares 9 and 16, and 1/2 has 1 and 4, which a device takes for less noise."""
    old = capped(last, 4, 60)
    new, why = tighter_cap(old, capped(wished, 4, 60)._replace(version=2))

    assert bool(why) == (wished > last)
    assert Fraction(*disk_limits.promised(new)) == 4 * wished
    if not why:
        assert not tightening.looser(old, new)
        assert not disk_limits.looser(old, new)


def test_what_cannot_be_written_for_a_device_is_said() -> None:
    """Of many digits, the squares outgrow what a device's memory has room for."""
    old, new = capped(Fraction(7, 24), 4, 60), capped(Fraction(1, 997), 4, 60)

    assert "ask for an epsilon of fewer digits" in tighter_cap(old, new)[1]


def test_the_budget_of_dearer_answers_is_too_much_for_cheaper_ones() -> None:
    """The device's own other rule finds no fault with it: nothing of it has grown."""
    old, half = capped(Fraction(1), 4, 60), capped(Fraction(1, 2), 4, 60)
    new, why = tighter_cap(old, half._replace(version=2, budget=old.budget))

    assert not tightening.looser(old, new)
    assert "add up to more" in why
