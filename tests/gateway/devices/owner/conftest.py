"""A small site whose owner kept the keys: its files, its devices, and what they really saw."""

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from edge.core import wire
from edge.core.node import Node
from edge.host import post, rootkeys
from edge.mechanisms.thermal import Params
from gateway.devices.enrol import budgets, enrol, limitsfile
from gateway.mechanisms.thermal.deployment import plan_first_round
from gateway.mechanisms.thermal.granting import make_first_limits
from gateway.service.intake.outcomes import AskedRound, CountedReport
from gateway.service.ledger import compute_round_rho
from gateway.settings import config
from gateway.store.store import Store

SITE = "owned"
DEPLOYMENT = """
[site]
name = "{site}"
[room]
cells = 40
length_m = 10.0
[heat]
spread_m2 = 1.0
[sensors]
count = {sensors}
[privacy]
epsilon = "{epsilon}"
delta = "1/100000"
readings = {readings}
window_h = {window_h}
keyholder = {keyholder}
[rounds]
sampler = "{sampler}"
gather_s = 5
every_s = {every_s}
[mqtt]
port = {port}
insecure = true
[page]
port = {page}
"""
DEFAULTS = {"site": SITE, "sensors": 3, "epsilon": "8/1", "readings": 40, "keyholder": "true"}
DEFAULTS |= {"every_s": "0.1", "port": 1, "page": 1, "sampler": "exact", "window_h": 0}


class Owned:
    """Devices with budgets, a gateway's database that they filled, and the owner's files."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.folder, self.config = folder, folder / "site.toml"
        self.holder, self.database = folder / "keyholder.json", folder / "heatveil.sqlite"
        self.values: dict[str, Any] = dict(DEFAULTS)
        self.write(**changes)
        self.deployment = config.load_deployment(self.config)
        self.query = config.make_query(self.deployment)
        self.made = self.enrolled()
        self.devices = enrol.derive_gateway_half(self.made.secrets)
        self.limits = make_first_limits(self.query, self.deployment.rounds.every_s)
        enrol.save_devices(self.devices, self.deployment.site.devices)
        enrol.save_roots(self.made, self.holder)
        limitsfile.save_first_limits(self.deployment.site.devices, self.devices, self.limits)
        self._place = budgets.keep_slots_in_memory()
        budgets.write_first_budgets(self.made, self.limits, self._place)
        self._rounds = 0
        self.nodes: dict[str, Any] = {}
        # (device, epoch, seq, number of the round, sensor): what the sensor gave, in grains
        self.seen: dict[tuple[str, int, int, int, int], int] = {}

    def enrolled(self) -> enrol.Enrolment:
        """Return the site's devices, with what all their keys come from."""
        return enrol.enrol_fleet(
            self.deployment.site.name,
            self.query.sensors[0],
            keyholder=self.query.keyholder,
            fresh=random.Random(7).randbytes,
        )

    def write(self, **changes: Any) -> None:
        """Write the deployment file, anew: with these values, and the others as they were."""
        self.values |= changes
        self.config.write_text(DEPLOYMENT.format(**self.values))

    @property
    def params(self) -> Any:
        """The whole numbers of every round."""
        return Params(*plan_first_round(self.query).params)

    def started(self) -> list[tuple[Any, Any]]:
        """Return all devices in their next boot, with their budgets."""
        return budgets.boot_devices(self.made.secrets, self._place).devices

    def boot(self) -> None:
        """Start all devices, or start them again."""
        self.nodes = {
            who.name: Node(who, budget, tables=who.sensors > 1) for who, budget in self.started()
        }
        self._seq = 0

    def ask(self, values: Sequence[int]) -> None:
        """Run a round in which the sensors see these grains, and keep what comes in the store."""
        self._rounds, self._seq = self._rounds + 1, self._seq + 1
        asked, store, kept = self.asked(self._rounds), Store(self.database, self.devices.site), []
        assert not store.open_round(asked, Fraction(1000))
        for name, node in self.nodes.items():
            device = self.devices.by_name[name]
            first, count = device.place
            seen = values[first : first + count]
            frame = node.answer(asked.message, lambda _, seen=seen: seen)
            assert frame, node.refusal
            epoch = node.meta()["boot"]
            kept.append(CountedReport(name, epoch, self._seq, asked.name, frame, device.key_id))
            for sensor, value in enumerate(seen, first):
                self.seen[name, epoch, self._seq, self._rounds, sensor] = value
        store.keep_batch(kept)
        store.close()

    def asked(self, number: int) -> AskedRound:
        """Return the round of that number, signed."""
        plan = plan_first_round(self.query)._replace(number=number)
        topic = wire.round_topic(self.devices.site, "thermal")
        message, name = post.pack_round(plan, self.devices.site_key, topic), wire.name_of(plan)
        return AskedRound(name, name, plan, message, compute_round_rho(plan.guarantee))

    def root(self, name: str) -> bytes:
        """Return what all keys of a device come from."""
        root = self.made.roots[name]
        assert rootkeys.key_id(root) == self.devices.by_name[name].key_id
        return root


@pytest.fixture
def site_of(tmp_path: Path) -> Callable[..., Owned]:
    """Return the maker of a site whose deployment file has these values."""
    return partial(Owned, tmp_path)


@pytest.fixture
def owned(site_of: Callable[..., Owned]) -> Owned:
    """Return a keyholder site with three devices, two boots and five rounds."""
    owned = site_of()
    low, high = owned.params.low, owned.params.high
    owned.boot()
    owned.ask([0, 1, -1])
    owned.ask([high, low, 7])  # at the clamp
    owned.boot()
    owned.ask([high - 1, low + 1, 100])
    owned.ask([-3, high + 5000, 2])  # beyond the clamp: what the device saw is not to be had
    owned.boot()
    owned.ask([11, 12, 13])
    return owned
