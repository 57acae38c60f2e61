"""Adds, removes and renews one device: keys, budget, limits, broker, and the gateway's file.

In this order, so that a kill at any point leaves nothing that speaks unseen: what the device is
given is on the disk first (without the rest it is worth nothing); then the broker lets it in; and
the gateway's devices.json, written whole or not at all, is what makes it one of the fleet. A
device that goes is cut off at the broker first. What a kill leaves undone the same command does
when it is run again, or `remove` undoes. One command at a time: a lock is held.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
from math import prod
from pathlib import Path

from .. import config
from ..brokers.doors import Doors
from ..deployment import Deployment
from ..enrolment import enrol, single, tightened
from ..enrolment.enrol import Device, Devices
from ..enrolment.granting import granted
from ..enrolment.single import Newcomer
from ..faults import OperatorFault
from ..rounds import Place
from ..storage.alone import held
from ..storage.store import Store
from .device_files import Halves
from .device_standing import at_broker, has_store, known

RELOAD = "A gateway that runs takes it up when it is told to reload (SIGHUP), else at its start"
FEWER = (
    "the map has fewer sensors from now on. What was promised still holds for the others, since "
    "each device's noise is its own"
)


class Change:
    """A change of one device; a context manager that holds the lock."""

    def __init__(
        self,
        path: Path,
        name: str,
        folder: Path | None,
        secrets: Path | None,
        out: Path | None,
        say: Callable[[str], None],
    ) -> None:
        self._path, self._name, self._say, self._stack = path, name, say, ExitStack()
        self._deployment: Deployment = config.load(path)
        self._folder = folder or path.with_name("broker")
        self._secrets = secrets or path.with_name("secrets.json")
        self._out = out or path.parent / f"{name}.device.json"

    def __enter__(self) -> "Change":
        site = self._deployment.site
        lock = site.devices.with_name(site.devices.name + ".lock")
        unusable = (
            f"{lock} cannot be written ({{why}}); it keeps two changes apart. Mend its folder"
        )
        self._stack.enter_context(
            held(lock, unusable, "another `heatveil device` runs; wait for it")
        )
        self._devices = enrol.load_devices(site.devices, site.name)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, sensor: int | None, virtual: bool) -> None:
        """Enrol a device that is new."""
        single.check_name(self._name, self._devices, self._deployment.mqtt.username)
        sensors = prod(self._deployment.sensors.count)
        sensor = single.free_sensor(self._devices, sensors, sensor)
        made = self._made(Place(sensor, 1))
        self._enrol(made, virtual, lambda door: door.add(self._name, made.password))
        self._say(f"{self._name} is enrolled for sensor {sensor}. {RELOAD}")

    def remove(self) -> None:
        """Cut a device off and forget it."""
        deployment, _ = known(self._path, self._name)
        if len(self._devices.by_name) == 1:
            raise OperatorFault(
                f"{self._name} is the last device, and without one no round can be asked; there "
                "must be one, or a deployment has nothing to do. Add another first, or stop the "
                "gateway"
            )
        self._at_broker(lambda door: door.remove(self._name))
        left = {name: one for name, one in self._devices.by_name.items() if name != self._name}
        self._keep(self._devices._replace(by_name=left))
        halves = Halves(deployment, self._secrets, self._out)
        if not halves.drop(self._name):
            self._say(f"Its keys are on its board, and in {self._out.name} if that is still there")
        if has_store(deployment):
            store = Store.of(deployment)
            store.free(self._name)
            store.close()
        self._say(f"{self._name} is no device of ours any more; {FEWER}. {RELOAD}")

    def rotate(self, keys: bool) -> None:
        """Give a device a new password, or all keys anew."""
        known(self._path, self._name)
        halves = Halves(self._deployment, self._secrets, self._out)
        virtual = halves.virtual(self._name)
        if keys:
            made = self._made(self._devices.by_name[self._name].place)
            change = lambda door: door.rotate(self._name, made.password)  # noqa: E731
            self._enrol(made, virtual is not None, change)
            self._say(
                f"{self._name} has new keys and a new budget, and the old ones are worth nothing; "
                f"what was spent stays spent in the ledger. {RELOAD}"
            )
            return
        link_key = os.urandom(32)
        if virtual is not None:
            halves.new_password(self._name, link_key)
            self._say(f"Its new password is in {self._secrets}; start the fleet again")
        else:
            halves.new_link(self._name, link_key.hex())
            self._say(f"Its new password is in {self._out}: for its board, and nobody else")
        try:
            self._at_broker(lambda door: door.rotate(self._name, link_key.hex()))
        except OperatorFault:
            if virtual is not None:
                halves.new_password(self._name, virtual.link_key)
            else:
                self._out.unlink()
            raise

    def _made(self, place: Place) -> Newcomer:
        keyholder = self._deployment.privacy.keyholder
        sensor, sensors = place
        return single.enrolled(
            self._devices, self._name, sensor, sensors=sensors, keyholder=keyholder
        )

    def _enrol(self, made: Newcomer, virtual: bool, let_in: Callable[[Doors], str]) -> None:
        """Write what a device is given, let it in, and make it one of the fleet."""
        deployment, site = self._deployment, self._devices.site
        limits = granted(config.query(deployment), deployment.rounds.every_s)
        who = made.secret.identity
        ours = who.key_id, who.mac_key, who.config_key
        device = Device(who.name, Place(who.sensor, who.sensors), who.mode, *ours)
        fleet = self._devices._replace(by_name={**self._devices.by_name, who.name: device})
        sensors = prod(deployment.sensors.count)
        enrol.check_fleet(fleet, sensors, keyholder=deployment.privacy.keyholder)
        halves = Halves(deployment, self._secrets, self._out)
        again = who.name in self._devices.by_name
        if virtual:
            halves.new_virtual(made, self._devices.site_key, limits)
            self._say(f"Its keys are in {self._secrets}; start the fleet again")
        else:
            halves.new_board(made, limits)
            self._say(f"{self._out} is all that its board needs, and nobody else may have it")
        try:
            if deployment.privacy.keyholder:
                holder = self._path.with_name(f"{who.name}.{who.key_id.hex()}.keyholder.json")
                alone = enrol.Secrets(site, self._devices.site_key, (made.secret,))
                enrol.save_roots(enrol.Enrolment(alone, {who.name: made.root}), holder)
                self._say(f"{holder} takes its noise off: move it to where only its owner comes")
            self._at_broker(let_in)
            given = tightened.load(deployment.site.devices, self._devices)
            given[who.name] = tightened.Given(who.key_id, limits)
            tightened.save(deployment.site.devices, site, given)
            self._keep(fleet)
        except OperatorFault:
            if not again:  # keys that nobody knows are worth nothing
                halves.drop(who.name) if virtual else self._out.unlink(missing_ok=True)
            raise

    def _keep(self, devices: Devices) -> None:
        enrol.save_devices(devices, self._deployment.site.devices)
        self._devices = devices

    def _at_broker(self, do: Callable[[Doors], str]) -> None:
        at_broker(self._deployment, self._folder, self._say, do)
