"""A site of arrays whose noise is from tables: asked, charged, drawn and opened by its owner."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edge.host import rootkeys
from edge.mechanisms import bulk
from gateway.devices.enrol import enrol
from gateway.mechanisms.thermal.granting import grant, worth
from gateway.mechanisms.thermal.query import first_round
from tests.gateway.devices.owner.conftest import Owned
from tests.gateway.devices.owner.test_unveiling import rows, unveil

FIRST = {"left": (0, 12), "right": (12, 24), "door": (36, 1)}
SENSORS = 37


class Arrays(Owned):
    """Two arrays and a thermometer, which has few readings and draws exactly."""

    def enrolled(self) -> enrol.Enrolment:
        roots = {name: random.Random(name).randbytes(32) for name in FIRST}
        key = super().enrolled().secrets.site_key
        devices = tuple(
            enrol.Secret(
                rootkeys.identity("owned", name, roots[name], key, first, "keyholder", count),
                rootkeys.link_key(roots[name]),
            )
            for name, (first, count) in FIRST.items()
        )
        return enrol.Enrolment(enrol.Secrets("owned", key, devices), roots)


@pytest.fixture
def arrays(tmp_path: Path) -> Arrays:
    """Return the site after two boots and four rounds."""
    made = Arrays(tmp_path, sensors=SENSORS, sampler="table")
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
