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
from ..enrolment import enrol, keycount, single
from ..enrolment.single import Newcomer
from ..faults import OperatorFault
from ..rounds import Place
from ..serves.table import of
from ..storage.alone import held
from ..storage.store import Store
from .device_enrolling import Places, enrolled
from .device_files import Halves
from .device_spent import check_promise, keys_heard, spent
from .device_standing import at_broker, has_store, known, let_in, meant_by

RELOAD = "A gateway takes it up at its start, or when told to reload (SIGHUP; systemd: restart)"
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

    def add(self, sensor: int | None, virtual: bool, count: int = 1) -> None:
        """Enrol a device that is new, with so many sensors, or finish what was begun."""
        held = self._devices.by_name.get(self._name)
        halves = Halves(self._deployment, self._secrets, self._out)
        if held and single.key_of(halves.begun, self._devices.site) == held.key_id:
            halves.finish()
            self._say(f"{self._name} was enrolled; {self._out} is all that its board needs")
            return
        single.check_name(self._name, self._devices, self._deployment.mqtt.username)
        room = prod(of(self._deployment).sensors(self._deployment))
        made = self._made(Place(single.free_sensor(self._devices, room, sensor, count), count))
        self._enrol(made, virtual, lambda door: door.add(self._name, made.password))
        first, to = made.secret.identity.sensor, f" and {count - 1} more" * (count > 1)
        self._say(f"{self._name} is enrolled for sensor {first}{to}. {RELOAD}")

    def remove(self) -> None:
        """Cut a device off and forget it, or what is left of one that went, or never came."""
        deployment, halves = self._deployment, Halves(self._deployment, self._secrets, self._out)
        ours = self._name in self._devices.by_name
        if not ours and not self._left_over(halves):
            known(self._path, self._name)
        if ours and len(self._devices.by_name) == 1:
            raise OperatorFault(
                f"{self._name} is the last device, and without one no round can be asked; there "
                "must be one, or a deployment has nothing to do. Add another first, or stop the "
                "gateway"
            )
        self._at_broker(lambda door: door.remove(self._name))
        counts = keycount.load(deployment.site.devices, self._devices, keys_heard(deployment))
        # Whoever has its sensor next has had its keys.
        keycount.keep(deployment.site.devices, self._devices, counts)
        left = {name: one for name, one in self._devices.by_name.items() if name != self._name}
        enrol.save_devices(self._devices._replace(by_name=left), deployment.site.devices)
        halves.abandon()
        if not halves.drop(self._name) and ours:
            self._say(f"Its keys are on its board, and in {self._out.name} if that is still there")
        if has_store(deployment):
            store = Store.of(deployment)
            store.free(self._name)
            store.close()
        self._say(f"{self._name} is no device of ours any more; {FEWER}. {RELOAD}")

    def rotate(self, keys: bool, budget: bool = False) -> None:
        """Give a device a new password, or all keys anew; budget: and all of one, too."""
        known(self._path, self._name)
        halves = Halves(self._deployment, self._secrets, self._out)
        virtual = halves.virtual(self._name)
        if keys:
            made = self._made(self._devices.by_name[self._name].place)
            change = lambda door: door.rotate(self._name, made.password)  # noqa: E731
            self._enrol(made, virtual is not None, change, budget)
            left = "a whole new budget" if budget else "the budget that is left of the promise"
            self._say(
                f"{self._name} has new keys and {left}, and the old ones are worth nothing; "
                f"what was spent stays spent in the ledger. {RELOAD}"
            )
            return
        link_key = os.urandom(32)
        if virtual is not None:
            halves.new_password(self._name, link_key)
            self._say(f"Its new password is in {self._secrets}; start the fleet again")
        else:
            halves.new_link(self._name, link_key.hex())
        try:
            self._at_broker(lambda door: door.rotate(self._name, link_key.hex()))
        except OperatorFault:
            if virtual is not None:
                halves.new_password(self._name, virtual.link_key)
            else:
                halves.abandon()
            raise
        if virtual is None:
            halves.finish()
            how = f"Bring it to its board: heatveil rotate {self._name}"
            self._say(f"Its new password is in {self._out}, for nobody else. {how}")

    def _left_over(self, halves: Halves) -> bool:
        """Return whether there is something of a device that is not one of the fleet."""
        if halves.begun.exists() or halves.virtual(self._name) is not None:
            return True
        if meant_by(self._name, self._devices.by_name):
            return False  # a slip of the pen, which is no broker's business
        return let_in(self._deployment, self._folder, self._name)

    def _made(self, place: Place) -> Newcomer:
        keyholder = self._deployment.privacy.keyholder
        sensor, sensors = place
        return single.enrolled(
            self._devices, self._name, sensor, sensors=sensors, keyholder=keyholder
        )

    def _enrol(
        self, made: Newcomer, virtual: bool, let_in: Callable[[Doors], str], anew: bool = False
    ) -> None:
        check_promise(self._deployment)
        before = 0 if anew else spent(self._deployment, {*self._devices.by_name} - {self._name})
        halves = Halves(self._deployment, self._secrets, self._out)
        places = Places(self._path, self._deployment, halves)
        own, place = (
            self._deployment,
            Place(made.secret.identity.sensor, made.secret.identity.sensors),
        )
        most, heard = of(own).keys(own), keys_heard(own)
        with keycount.counted(own.site.devices, self._devices, place, heard, most, sure=virtual):
            door = lambda: self._at_broker(let_in)  # noqa: E731
            enrolled(places, self._devices, made, virtual, before, door, self._say)

    def _at_broker(self, do: Callable[[Doors], str]) -> None:
        at_broker(self._deployment, self._folder, self._say, do)
