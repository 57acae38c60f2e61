"""One device made one of the fleet, in an order that a kill at any point cannot make a hole of."""

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import NamedTuple

from .. import config
from ..deployment import Deployment
from ..enrolment import enrol, tightened
from ..enrolment.enrol import Device, Devices
from ..enrolment.single import Newcomer
from ..faults import OperatorFault
from ..rounds import Place
from ..serves.table import granted, of
from .device_files import Halves


class Places(NamedTuple):
    """A deployment, where its file is, and where the devices' halves are."""

    path: Path
    deployment: Deployment
    halves: Halves


def enrolled(
    places: Places,
    devices: Devices,
    made: Newcomer,
    virtual: bool,
    before: int,
    let_in: Callable[[], None],
    say: Callable[[str], None],
) -> None:
    """Write what a device is given, let it in, and make it one of the fleet.

    Args:
        before: nano-rho that the room has paid already, by the ledger: its budget is what is left.
        let_in: does that at the broker.

    Raises:
        OperatorFault: one of them could not be done; then the device is none of ours.
    """
    path, deployment, halves = places
    who, entry = made.secret.identity, of(deployment)
    query = config.query(deployment)
    entry.check_held(query, {who.name: who.sensors}, {})
    whole = granted(deployment, query)
    limits = entry.unspent(query, whole, before)
    ours = who.key_id, who.mac_key, who.config_key
    device = Device(who.name, Place(who.sensor, who.sensors), who.mode, *ours)
    fleet = devices._replace(by_name={**devices.by_name, who.name: device})
    sensors = prod(entry.sensors(deployment))
    enrol.check_fleet(fleet, sensors, keyholder=deployment.privacy.keyholder)
    again = who.name in devices.by_name
    if virtual:
        halves.new_virtual(made, devices.site_key, limits)
        say(f"Its keys are in {halves.path}; start the fleet again")
    else:
        halves.new_board(made, limits)
    try:
        if deployment.privacy.keyholder:
            holder = path.with_name(f"{who.name}.{who.key_id.hex()}.keyholder.json")
            alone = enrol.Secrets(devices.site, devices.site_key, (made.secret,))
            enrol.save_roots(enrol.Enrolment(alone, {who.name: made.root}), holder)
            say(f"{holder} takes its noise off: move it to where only its owner comes")
        let_in()
        given = tightened.load(deployment.site.devices, devices)
        given[who.name] = tightened.Given(who.key_id, limits, whole.budget - limits.budget)
        tightened.save(deployment.site.devices, devices.site, given)
        enrol.save_devices(fleet, deployment.site.devices)
    except OperatorFault:
        halves.abandon()  # keys that nobody knows are worth nothing
        if virtual and not again:
            halves.drop(who.name)
        raise
    if not virtual:
        halves.finish()
        say(f"{halves.board} is all that its board needs, and nobody else may have it")
