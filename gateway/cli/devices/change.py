"""Adds, removes and renews one device: keys, budget, limits, broker, and the gateway's file."""

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from math import prod
from pathlib import Path
from typing import Annotated, Any

import typer

from edge.core.budget import COUNT, NANO, Copies, Lost
from edge.host import rootkeys

from ...devices.broker.doors import BrokerAccess, find_broker_folder
from ...devices.broker.mosquitto import derive_session_id
from ...devices.enrol import budgets, enrol, keycount, limitsfile
from ...devices.enrol.check import check_limits
from ...devices.enrol.enrol import Device, Newcomer, Secret, Secrets
from ...devices.kit.siting import derive_settings, derive_steps
from ...faults import OperatorFault
from ...mechanisms import find_for_deployment, find_serving, make_first_limits, plan_first_round
from ...service.ledger import Charge
from ...service.rounds import Place
from ...settings import config, windows
from ...settings.deployment import Deployment
from ...store.places import find_place, has_store
from ...store.reader import ChargeRow, Reader
from ...store.store import Store
from .. import flags
from ..records.ledger import ALL
from .status import (
    change_at_broker,
    find_device,
    free,
    is_admitted_by_broker,
    list_devices,
    locate_unfinished,
    nearest_name,
    shut,
)

# The files of one device: its half of the keys, its budget, and what it leaves behind.


class DeviceFiles:
    """Where the devices' half of the keys is kept: of virtual ones together, of a board alone."""

    def __init__(self, deployment: Deployment, secrets: Path, board: Path) -> None:
        self._deployment, self.path, self.board = deployment, secrets, board
        self.secrets: Secrets | None = None
        if secrets.exists():
            self.secrets = enrol.load_secrets(secrets, deployment.site.name)

    def find_virtual(self, name: str) -> Secret | None:
        """Return what a virtual device knows of itself; None for a board."""
        held = self.secrets.devices if self.secrets is not None else ()
        return next((one for one in held if one.identity.name == name), None)

    def add_virtual(self, made: Newcomer, limits: Any, window: bytes = b"") -> None:
        """Give a virtual device its budget and its keys; what it had under an old key goes.

        Raises:
            OperatorFault: a fleet runs, or the files cannot be written.
        """
        name, site = made.secret.identity.name, self._deployment.site.name
        state = self.path.with_name(budgets.STATE)
        state.mkdir(0o700, exist_ok=True)
        with budgets.open_slot_folder(state) as place:
            self._forget(name)
            alone = Secrets(site, made.secret.identity.site_key, (made.secret,))
            alone_made = enrol.Enrolment(alone, {name: made.root})
            budgets.write_first_budgets(alone_made, limits, place, window)
        self._keep(made.secret)

    def change_password(self, held: Secret, link_key: bytes) -> None:
        """Give a virtual device another password."""
        self._keep(held._replace(link_key=link_key))

    def forget_device(self, name: str) -> bool:
        """Forget a device's keys and budget, if they are here; return whether they were."""
        if self.find_virtual(name) is None or self.secrets is None:
            return False
        left = tuple(one for one in self.secrets.devices if one.identity.name != name)
        self.secrets = self.secrets._replace(devices=left)
        enrol.save_secrets(self.secrets, self.path)
        self._forget(name)
        return True

    def write_new_board(
        self, made: Secret, chain: bytes, limits: Any, window: bytes = b""
    ) -> None:
        """Write the one file of a board; `finish_board_file` gives it its name once all is done.

        Raises:
            OperatorFault: there is a finished one, or it cannot be written.
        """
        enrol.refuse_existing_file(self.board)
        who = made.identity
        link = make_link_settings(self._deployment, who.name, made.link_key.hex())
        more = derive_settings(self._deployment)
        if window:
            more["window"] = window.hex()
        if find_for_deployment(self._deployment).reads == "temperature":
            more["steps"] = derive_steps(self._deployment, limits.exponent)
        enrol.save_board_file(self.unfinished_path, who, chain, limits, link, more)

    def turn_virtual_into_board(self, held: Secret) -> None:
        """Make the file of a board of a virtual device that never spoke, which is none then.

        Raises:
            OperatorFault: it spoke, a fleet runs, or the file cannot be written.
        """
        name = held.identity.name
        with budgets.open_slot_folder(self.path.with_name(budgets.STATE)) as place:
            try:
                record = Copies(place(name), held.identity.state_key).read_newest()
            except Lost as fault:
                raise OperatorFault(
                    f"the budget of {name} cannot be read ({fault}); a board with its keys might "
                    "spend it twice. Name another device of the fleet, or enrol the fleet again"
                ) from None
            if record.epoch:
                raise OperatorFault(
                    f"{name} has already run as a virtual device; a board with the same keys "
                    "would repeat its noise, or both would report at once. Name one that never "
                    "ran, or enrol the fleet again and provision its boards first"
                )
            self.write_new_board(held, record.chain, record.limits, record.window)
            # Before the file has its name: two of one key would share noise.
            self.forget_device(name)
        self.finish_board_file()

    def write_new_link(self, name: str, password: str) -> None:
        """Write how a board comes to the broker from now on; as `write_new_board`."""
        enrol.refuse_existing_file(self.board)
        link = make_link_settings(self._deployment, name, password)
        enrol.save_link_file(self.unfinished_path, self._deployment.site.name, name, link)

    @property
    def unfinished_path(self) -> Path:
        """Where a board's file is while its device is being changed."""
        return locate_unfinished(self.board)

    def finish_board_file(self) -> None:
        """Give a board's file its name, if there is one."""
        if self.unfinished_path.exists():
            self.unfinished_path.replace(self.board)

    def remove_unfinished(self) -> None:
        """Remove a board's file that is worth nothing."""
        self.unfinished_path.unlink(missing_ok=True)

    def _keep(self, secret: Secret) -> None:
        held, who = () if self.secrets is None else self.secrets.devices, secret.identity
        rows = tuple(secret if one.identity.name == who.name else one for one in held)
        if secret not in rows:
            rows += (secret,)
        self.secrets = Secrets(self._deployment.site.name, who.site_key, rows)
        enrol.save_secrets(self.secrets, self.path)

    def _forget(self, name: str) -> None:
        """Remove slots and spool of a key that is no more; never those of another name."""
        state = self.path.with_name(budgets.STATE)
        for slot in range(COUNT):
            (state / f"{name}.{slot}").unlink(missing_ok=True)
        for spool in state.glob(f"{name}.????????.spool*"):
            spool.unlink()


def make_link_settings(deployment: Deployment, name: str, password: str) -> dict[str, Any]:
    """Return how a device comes to the broker with a new password, and so in a new session."""
    session = derive_session_id(deployment.site.name, name, password)
    return enrol.make_link_settings(deployment.mqtt, name, password, session)


def make_device_keys(
    deployment: Deployment, devices: enrol.Devices, name: str, place: Place, central: str
) -> Newcomer:
    """Return a device with keys of its own; central: the mechanism of that trust it may answer."""
    keyholder = deployment.privacy.keyholder
    return enrol.enrol_device(
        devices, name, place.sensor, keyholder=keyholder, sensors=place.sensors, central=central
    )


def find_secure_sum_device(secrets: Secrets | None, name: str) -> Secret:
    """Return what a virtual device of secure sums knows of itself.

    Raises:
        OperatorFault: there is none of that name.
    """
    for one in secrets.devices if secrets is not None else ():
        if one.identity.name == name:
            return one
    raise OperatorFault(
        f"{name} is not in the fleet that was enrolled, and no device can join it later: the "
        "shards of a secure sum are drawn once, for all devices. Before the fleet runs, give the "
        "board the name of an enrolled device, such as the first in secrets.json"
    )


# What the room has paid already, and so is not in the budget of a device that comes later.


def check_promise(deployment: Deployment, others: Mapping[str, bytes]) -> None:
    """Check that no device is given more than the store has promised, as the gateway does.

    Args:
        others: the keys of the devices beside it.

    Raises:
        OperatorFault: it would be, or it would be another promise, or the gateway would not start
            with the others.
    """
    if not has_store(deployment):
        return
    guarantee = find_for_deployment(deployment).plan(config.make_query(deployment), []).guarantee
    with closing(Reader(find_place(deployment))) as reader:
        reader.check_promise(guarantee, deployment.privacy.readings, others)


def sum_spent_nano_rho(deployment: Deployment, others: Iterable[str]) -> int:
    """Return the nano-rho that every round so far has cost, and extra answers of its sensor.

    Each price is rounded up by itself, as devices do. Whose sensor a device read that is no more
    is not known, so what it told beside the rounds counts for every newcomer.

    Args:
        others: the devices that there are beside this one: what they told, they told.
    """
    if not has_store(deployment):
        return 0
    apart = frozenset(others)
    with closing(Reader(find_place(deployment))) as reader:
        charges = reader.list_charges(ALL)  # in a window too: no charge is old by a wall clock
    return sum_nano_rho(one for one in charges if one.device not in apart)


def count_keys_heard(deployment: Deployment) -> Counter[str]:
    """Return of how many keys of each device the gateway has heard, by name."""
    if not has_store(deployment):
        return Counter()
    with closing(Reader(find_place(deployment))) as reader:
        return Counter(row.name for row in reader.list_devices())


def sum_nano_rho(charges: Iterable[Charge | ChargeRow]) -> int:
    """Return charges in nano-rho.

    >>> from fractions import Fraction
    >>> sum_nano_rho((Charge(Fraction(1, 3)), Charge(Fraction(1, 2), "attic")))
    833333334
    """
    return sum(math.ceil(NANO * one.rho) for one in charges)


# In this order, so that a kill at any point leaves nothing that speaks unseen: what the device is
# given is on the disk first (without the rest it is worth nothing); then the broker lets it in;
# and the gateway's devices.json, written whole or not at all, is what makes it one of the fleet. A
# device that goes is cut off at the broker first. What a kill leaves undone the same command does
# when it is run again, or `remove` undoes. One command at a time: a lock is held.

RELOAD = (
    "A gateway notices this when it starts or, told to reload (SIGHUP; systemd: restart), once "
    "the open round is over"
)
FEWER = (
    "the map has fewer sensors from now on. What was promised still holds for the others, since "
    "each device's noise is its own"
)


class DeviceChange:
    """A change of one device; a context manager that holds the lock."""

    def __init__(
        self,
        path: Path,
        name: str,
        out: Path | None = None,
        say: Callable[[str], None] = typer.echo,
    ) -> None:
        self._path, self._name, self._say, self._stack = path, name, say, ExitStack()
        self._deployment: Deployment = config.load_deployment(path)
        self._folder = find_broker_folder(self._deployment.mqtt, path)
        self._secrets = path.with_name("secrets.json")
        self._out = out or path.parent / f"{name}.device.json"

    def __enter__(self) -> "DeviceChange":
        site = self._deployment.site
        self._stack.enter_context(enrol.lock_devices(site.devices))
        self._devices = enrol.load_devices(site.devices, site.name)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, sensor: int | None, virtual: bool, count: int = 1, central: str = "") -> None:
        """Enrol a device that is new, with so many sensors, or finish what was begun.

        Args:
            central: the mechanism of central trust that it may answer.
        """
        held = self._devices.by_name.get(self._name)
        halves = DeviceFiles(self._deployment, self._secrets, self._out)
        sums = find_for_deployment(self._deployment).trust == "distributed" and not virtual
        if sums and (halves.find_virtual(self._name) or not halves.unfinished_path.exists()):
            halves.turn_virtual_into_board(find_secure_sum_device(halves.secrets, self._name))
            self._say(
                f"{self._name} is no device of the fleet any more; {self._out} is all that its "
                "board needs, and nobody else may have it"
            )
            return
        begun = (
            held and enrol.read_key_id(halves.unfinished_path, self._devices.site) == held.key_id
        )
        # Two would have its keys, and share noise.
        if begun and halves.find_virtual(self._name):
            raise OperatorFault(
                f"the move of {self._name} from the fleet to a board was interrupted, and both "
                "have its keys; two devices with one key would repeat the same noise. Run this "
                "command without --virtual, which finishes the move, and then this one again"
            )
        if begun:
            halves.finish_board_file()
            self._say(f"{self._name} was enrolled; {self._out} is all that its board needs")
            return
        enrol.check_name_is_free(self._name, self._devices, self._deployment.mqtt.username)
        room = prod(find_for_deployment(self._deployment).sensors(self._deployment))
        place = Place(enrol.find_free_sensor(self._devices, room, sensor, count), count)
        made = make_device_keys(self._deployment, self._devices, self._name, place, central)
        self._enrol(made, virtual, lambda door: door.add_device(self._name, made.password))
        first, to = made.secret.identity.sensor, f" and {count - 1} more" * (count > 1)
        self._say(f"{self._name} is enrolled for sensor {first}{to}. {RELOAD}")
        if self._deployment.privacy.window_h and has_store(self._deployment):
            self._say(f"If rounds were asked, it has {_say_left(self._deployment)}")

    def remove(self) -> None:
        """Cut a device off and forget it, or what is left of one that went, or never came."""
        deployment, halves = (
            self._deployment,
            DeviceFiles(self._deployment, self._secrets, self._out),
        )
        ours = self._name in self._devices.by_name
        if not ours and not self._has_leftovers(halves):
            find_device(self._path, self._name)
        if ours and len(self._devices.by_name) == 1:
            raise OperatorFault(
                f"{self._name} is the last device, and a deployment without devices can ask no "
                "round. It was not removed. Add another device first, or stop the gateway"
            )
        self._at_broker(lambda door: door.remove_device(self._name))
        counts = keycount.load_key_counts(
            deployment.site.devices, self._devices, count_keys_heard(deployment)
        )
        # Whoever has its sensor next has had its keys.
        keycount.save_key_counts(deployment.site.devices, self._devices, counts)
        left = {name: one for name, one in self._devices.by_name.items() if name != self._name}
        enrol.save_devices(self._devices._replace(by_name=left), deployment.site.devices)
        halves.remove_unfinished()
        if not halves.forget_device(self._name) and ours:
            self._say(f"Its keys are on its board, and in {self._out.name} if that is still there")
        if has_store(deployment):
            with closing(Store.open_for(deployment)) as store:
                store.let_back(self._name)
        self._say(
            f"{self._name} is no device of ours any more; {FEWER}. {RELOAD}; "
            "until then the page shows it as silent"
        )

    def rotate(self, keys: bool, budget: bool = False) -> None:
        """Give a device a new password, or all keys anew; budget: and all of one, too."""
        find_device(self._path, self._name)
        halves = DeviceFiles(self._deployment, self._secrets, self._out)
        virtual = halves.find_virtual(self._name)
        if keys:
            held = self._devices.by_name[self._name]
            made = make_device_keys(
                self._deployment, self._devices, self._name, held.place, held.central
            )
            change = lambda door: door.change_password(self._name, made.password)  # noqa: E731
            self._enrol(made, virtual is not None, change, budget)
            left = "a whole new budget" if budget else _say_left(self._deployment)
            self._say(
                f"{self._name} has new keys and {left}, and the old ones are worth nothing; "
                f"what was spent stays spent in the ledger. {RELOAD}"
            )
            return
        link_key = os.urandom(32)
        if virtual is not None:
            halves.change_password(virtual, link_key)
            self._say(f"Its new password is in {self._secrets}; start the fleet again")
        else:
            halves.write_new_link(self._name, link_key.hex())
        try:
            self._at_broker(lambda door: door.change_password(self._name, link_key.hex()))
        except OperatorFault:
            if virtual is not None:
                halves.change_password(virtual, virtual.link_key)
            else:
                halves.remove_unfinished()
            raise
        if virtual is None:
            halves.finish_board_file()
            how = f"Bring it to its board: heatveil rotate {self._name}"
            self._say(f"Its new password is in {self._out}, for nobody else. {how}")

    def _has_leftovers(self, halves: DeviceFiles) -> bool:
        """Return whether there is something of a device that is not one of the fleet."""
        if halves.unfinished_path.exists() or halves.find_virtual(self._name) is not None:
            return True
        if nearest_name(self._name, self._devices.by_name):
            return False  # a slip of the pen, which is no broker's business
        return is_admitted_by_broker(self._deployment, self._folder, self._name)

    def _enrol(
        self,
        made: Newcomer,
        virtual: bool,
        let_in: Callable[[BrokerAccess], str],
        anew: bool = False,
    ) -> None:
        """Count a new key, and give it to a device whose budget is what the room has not paid."""
        own, who = self._deployment, made.secret.identity
        others = self._devices.key_ids
        others.pop(self._name, None)
        check_promise(own, others)
        self._check_others_fit(who.name)
        before = 0 if anew else sum_spent_nano_rho(own, others)
        most, heard = find_serving(own.rounds.mechanism).key_limit(own), count_keys_heard(own)
        place = Place(who.sensor, who.sensors)
        with keycount.count_key_while_giving(
            own.site.devices, self._devices, place, heard, most, sure=virtual
        ):
            self._admit(made, virtual, before, let_in)

    def _check_others_fit(self, name: str) -> None:
        """Check that the gateway would start with the other devices, and this file.

        Else the one with the new keys would fit this file alone, and the others the former. Whose
        limits are not known is left out: it needs new keys itself.

        Raises:
            OperatorFault: it would not.
        """
        known = limitsfile.load_limits(self._deployment.site.devices, self._devices)
        known.pop(name, None)
        others = {who: self._devices.by_name[who] for who in known}
        try:
            check_limits(self._deployment, self._devices._replace(by_name=others), known)
        except OperatorFault as wrong:
            raise OperatorFault(
                f"{name} gets no keys, and nothing was written: the other devices do not fit this "
                f"file. {wrong}"
            ) from wrong

    def _admit(
        self, made: Newcomer, virtual: bool, before: int, let_in: Callable[[BrokerAccess], str]
    ) -> None:
        """Write what a device is given, let it in, and make it one of the fleet.

        Args:
            before: nano-rho that the room has paid already, by the ledger.

        Raises:
            OperatorFault: one of them could not be done; then the device is none of ours.
        """
        deployment, devices = self._deployment, self._devices
        halves = DeviceFiles(deployment, self._secrets, self._out)
        who, mechanism = made.secret.identity, find_for_deployment(deployment)
        if mechanism.trust == "distributed":
            raise OperatorFault(
                f"{mechanism.name} adds devices up in shards that are drawn once, when all are "
                "enrolled, and their root keys are not kept: no device can join or get new keys "
                "later. Enrol the fleet again, in a new folder, which is a new promise"
            )
        served = find_serving(mechanism.name)
        query = config.make_query(deployment)
        own = {who.name: Device.from_identity(who)}
        enrol.check_may_answer_central(
            devices._replace(by_name=own), plan_first_round(deployment, query)
        )
        served.check_held(query, {who.name: who.sensors}, {})
        whole = make_first_limits(deployment, query)
        # In a window all comes back; when it was spent a wall clock alone knows, and is not asked.
        window = windows.make_window_record(deployment, whole, spent=before > 0)
        limits = whole if window else served.remaining_limits(query, whole, before)
        fleet = devices._replace(by_name={**devices.by_name, **own})
        sensors = prod(mechanism.sensors(deployment))
        enrol.check_fleet(fleet, sensors, keyholder=deployment.privacy.keyholder)
        again = who.name in devices.by_name
        if virtual:
            halves.add_virtual(made, limits, window)
            self._say(f"Its keys are in {halves.path}; start the fleet again")
        else:
            halves.write_new_board(made.secret, rootkeys.first_chain(made.root), limits, window)
        try:
            if deployment.privacy.keyholder:
                holder = self._path.with_name(f"{who.name}.{who.key_id.hex()}.keyholder.json")
                alone = enrol.Secrets(devices.site, devices.site_key, (made.secret,))
                enrol.save_roots(enrol.Enrolment(alone, {who.name: made.root}), holder)
                self._say(f"{holder} takes its noise off: move it to where only its owner comes")
            self._at_broker(let_in)
            given = limitsfile.load_limits(deployment.site.devices, devices)
            spent, hours = whole.budget - limits.budget, deployment.privacy.window_h
            given[who.name] = limitsfile.GivenLimits(
                who.key_id, limits, spent, hours, deployment.following
            )
            limitsfile.save_limits(deployment.site.devices, devices.site, given)
            enrol.save_devices(fleet, deployment.site.devices)
        except OperatorFault:
            halves.remove_unfinished()  # keys that nobody knows are worth nothing
            if virtual and not again:
                halves.forget_device(who.name)
            raise
        if not virtual:
            halves.finish_board_file()
            self._say(f"{halves.board} is all that its board needs, and nobody else may have it")

    def _at_broker(self, do: Callable[[BrokerAccess], str]) -> None:
        change_at_broker(self._deployment, self._folder, self._say, do)


def _say_left(deployment: Deployment) -> str:
    """Return what budget a device with a new key has."""
    if hours := deployment.privacy.window_h:
        silent_h = math.ceil(windows.bound_span_s(hours) / windows.HOUR_S)
        return f"a window that is spent, and is silent for up to {silent_h} h of its own uptime"
    return "what is left of the budget"


# `heatveil device list|add|remove|rotate|free|shut`.

Out = Annotated[
    Path | None, typer.Option(help="For the board; NAME.device.json beside the config.")
]
Keys = Annotated[
    bool, typer.Option("--keys", help="All keys anew, a new enrolment, not the password alone.")
]
NewBudget = Annotated[
    bool,
    typer.Option(
        "--new-budget", help="With --keys: all of one, though the room has paid already."
    ),
]

app = flags.make_command_group("The devices: list, add, remove, new keys, shut out and let back.")
app.command("list")(list_devices)


@app.command()
def add(
    name: flags.Name,
    config: flags.Config,
    sensor: Annotated[
        int | None, typer.Option(min=0, help="Which it reads; the first that has no device.")
    ] = None,
    sensors: Annotated[
        int, typer.Option(min=1, help="How many it reads, from that one on: 64 of an 8x8 array.")
    ] = 1,
    virtual: Annotated[
        bool, typer.Option("--virtual", help="One of `heatveil fleet`, and no board.")
    ] = False,
    central: flags.Central = "",
    out: Out = None,
) -> None:
    """Enrol one device more, let it in at the broker, and write one file for its board."""
    with DeviceChange(config, name, out) as change:
        change.add(sensor, virtual, sensors, central)


@app.command()
def remove(name: flags.Name, config: flags.Config) -> None:
    """Cut a device off at the broker, and forget its keys."""
    with DeviceChange(config, name) as change:
        change.remove()


@app.command("rotate")
def device_rotate(
    name: flags.Name,
    config: flags.Config,
    keys: Keys = False,
    new_budget: NewBudget = False,
    out: Out = None,
) -> None:
    """Give a device a new password at the broker; the old one is worth nothing at once."""
    if new_budget and not keys:
        raise typer.BadParameter("a budget belongs to keys: give --keys too")
    with DeviceChange(config, name, out) as change:
        change.rotate(keys, new_budget)


app.command()(free)
app.command()(shut)
