"""A site of arrays whose noise is from tables: asked, charged, drawn and opened by its owner."""

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from edge.core import wire
from edge.core.node import Node
from edge.host import post, rootkeys
from edge.mechanisms import bulk
from gateway.devices.enrol import budgets, enrol, limitsfile
from gateway.mechanisms.thermal.granting import grant, worth
from gateway.mechanisms.thermal.query import first_round
from gateway.service.intake.outcomes import Asked, Kept
from gateway.service.ledger import price
from gateway.settings import config
from gateway.store.store import Store
from tests.gateway.devices.owner.conftest import Owned
from tests.gateway.devices.owner.test_unveiling import rows, unveil

FIRST = {"left": (0, 12), "right": (12, 24), "door": (36, 1)}
SENSORS = 37


class Arrays(Owned):
    """Two arrays and a thermometer, which has few readings and draws exactly."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, sensors=SENSORS)
        text = self.config.read_text()
        self.config.write_text(text.replace("[rounds]", '[rounds]\nsampler = "table"'))
        self.deployment = config.load(self.config)
        self.query = config.query(self.deployment)
        roots = {name: random.Random(name).randbytes(32) for name in FIRST}
        site_key = self.made.secrets.site_key
        devices = tuple(
            enrol.Secret(
                rootkeys.identity("owned", name, roots[name], site_key, first, "keyholder", count),
                rootkeys.link_key(roots[name]),
            )
            for name, (first, count) in FIRST.items()
        )
        self.made = enrol.Enrolment(enrol.Secrets("owned", site_key, devices), roots)
        self.devices = enrol.derive_devices(self.made.secrets)
        enrol.save_devices(self.devices, self.deployment.site.devices)
        enrol.save_roots(self.made, self.holder)
        self.limits = grant(self.query, self.deployment.rounds.every_s)
        limitsfile.save_first(self.deployment.site.devices, self.devices, self.limits)
        self._place = budgets.keep_in_memory()
        budgets.provision(self.made, self.limits, self._place)

    def ask(self, values: Sequence[int]) -> None:
        """Run a round in which the sensors see these grains, and keep what comes in the store."""
        self._rounds, self._seq = self._rounds + 1, self._seq + 1
        asked, message = self.asked(self._rounds)
        store, kept = Store(self.database, self.devices.site), []
        assert not store.open_round(asked, Fraction(1000))
        for name, (first, count) in FIRST.items():
            seen = values[first : first + count]
            frame = self.nodes[name].answer(message, lambda _, seen=seen: seen)
            assert frame, self.nodes[name].refusal
            epoch, key_id = self.nodes[name].meta()["boot"], self.devices.by_name[name].key_id
            kept.append(Kept(name, epoch, self._seq, asked.name, frame, key_id))
            for at, value in enumerate(seen, first):
                self.seen[name, epoch, self._seq, self._rounds, at] = value
        store.keep(kept)
        store.close()

    def asked(self, number: int) -> tuple[Asked, bytes]:
        """Return the round of that number, signed."""
        plan = first_round(self.query)._replace(number=number)
        message = post.pack_round(
            plan, self.devices.site_key, wire.round_topic(self.devices.site, "thermal")
        )
        name = wire.name_of(plan)
        return Asked(name, name, plan, message, price(plan.guarantee)), message

    def boot(self) -> None:
        started = self.started()
        self.nodes = {
            who.name: Node(who, budget, tables=who.sensors > 1) for who, budget in started
        }
        self._seq = 0


@pytest.fixture
def arrays(tmp_path: Path) -> Arrays:
    """Return the site after two boots and four rounds."""
    made = Arrays(tmp_path)
    numbers = random.Random(5)
    for _ in range(2):
        made.boot()
        for _ in range(2):
            made.ask([numbers.randrange(-900, 900) for _ in range(SENSORS)])
    return made


def test_the_owner_gets_every_reading_back(heatveil: Any, arrays: Arrays) -> None:
    """Of arrays, whose noise is from tables, and of the thermometer beside them."""
    assert len(first_round(arrays.query).params) == 8
    said = unveil(heatveil, arrays)

    assert said.status == 0, said.err
    assert "12 frames, 148 in all" in said.out
    assert rows(arrays.folder / "readings.sqlite") == {
        key: (value, "") for key, value in arrays.seen.items()
    }


def test_other_noise_opens_nothing(
    heatveil: Any, arrays: Arrays, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above must be able to say no: an owner who draws exactly gets no reading back."""
    monkeypatch.setattr(bulk, "source", lambda *_: None)
    unveil(heatveil, arrays)
    found = rows(arrays.folder / "readings.sqlite")
    right = {key: (value, "") for key, value in arrays.seen.items()}

    assert {key for key in found if found[key] == right[key]} <= {
        key for key in right if key[0] == "door"
    }


def test_a_budget_is_worth_no_more_than_the_noise_that_delta_leaves(arrays: Arrays) -> None:
    """All that a device may ever answer, at 99 hundredths of delta; the rest is for the tables."""
    once = replace(arrays.query, readings=1)  # where the exact curve leaves nothing over
    left = (99, 10_000_000)

    assert worth(arrays.limits.budget, left) <= 8
    assert 7.999 < worth(grant(once, 0.1).budget, left) <= 8
    exact = grant(replace(once, sampler="exact"), 0.1)
    assert worth(exact.budget, left) > 8  # what was planned for all of delta
