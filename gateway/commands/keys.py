"""The owner's keys: what there is, single boots to hand out, and boots to forget: `heatveil keys`.

No key is ever printed; what is printed are the public four bytes that name an enrolment.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .. import config
from ..enrolment import ringfile
from ..enrolment.enrol import Devices, load_devices
from ..enrolment.keyring import FURTHEST, Boots, Chain, Ring, boots, spans
from ..faults import OperatorFault, suggestion
from .boots import beyond, check_begun, heard
from .unveiling import check_ring, named

Say = Callable[[str], None]


def listed(path: Path, keys_path: Path | None, say: Say) -> None:
    """Say which device is enrolled with which key, and what a file of keys opens of it.

    Raises:
        OperatorFault: a file is at fault.
    """
    deployment, devices = _devices(path)
    newest, place = heard(deployment, devices) or {}, deployment.site.devices
    ring = Ring(devices.site, {})
    if keys_path:
        ring = ringfile.read(keys_path, devices.site, *ringfile.KINDS)
    say(f"{place} says who may speak and signs what they are told; it opens no reading.")
    if keys_path:
        say(f"{keys_path} takes noise off, as the last column says.")
    say("boot: the newest that the gateway's database has heard of, where there is one.")
    say(f"{'device':20s} {'key':8s} {'boot':>7s} {'mode':10s} opens")
    for name, device in devices.by_name.items():
        held = ring.held.get(name)
        boot, opens = str(newest.get(name, "-")), _opens(held, device.key_id)
        say(f"{name:20s} {device.key_id.hex()} {boot:>7s} {device.mode:10s} {opens}")
    for name in sorted(set(ring.held) - set(devices.by_name)):
        say(f"{name:20s} {ring.held[name].key_id.hex()} not enrolled any more")


def grant(
    path: Path, keys_path: Path, names: Sequence[str], epochs: str, out: Path, say: Say
) -> None:
    """Write the keys of some boots of some devices to a file that can be handed out.

    Args:
        epochs: boots such as 3-7, 9.

    Raises:
        OperatorFault: a file is at fault, or such a key is not there to be given.
    """
    wanted, (deployment, devices) = boots(epochs), _devices(path)
    chains = _owners(keys_path, devices)
    given: dict[str, Boots] = {}
    for name in names:
        held = _chosen(name, chains, devices, keys_path)
        by_epoch = {epoch: key for epoch in wanted if (key := held.epoch_key(epoch))}
        if left := [epoch for epoch in wanted if epoch not in by_epoch]:
            raise OperatorFault(
                f"boot {left[0]} of {name} cannot be given; {keys_path} opens its boots from "
                f"{held.first} to {held.first + FURTHEST} alone, for what was shredded is gone. "
                "Ask for others with --epochs"
            )
        given[name] = Boots(held.key_id, by_epoch)
    newest = heard(deployment, devices)
    ringfile.grant(out, devices.site, given)
    say(
        f"{out} opens every frame of boots {spans(wanted)} of {named(names)}, sent or still to be "
        "sent, for whoever has it, and no other boot. It cannot be taken back: a copy is enough."
    )
    if ahead := beyond(wanted[-1], list(given), newest):
        say(ahead)


def shred(
    path: Path, keys_path: Path, names: Sequence[str], before: int, future: bool, say: Say
) -> None:
    """Step the keys of devices on, so that boots before this one can never be opened again.

    Args:
        names: of devices; all that the file holds where there are none.
        future: boots that no device has begun may be forgotten too.

    Raises:
        OperatorFault: a file is at fault, there is nothing to be forgotten, or too much.
    """
    deployment, devices = _devices(path)
    newest = None if future else heard(deployment, devices)
    chains = _owners(keys_path, devices)
    chosen = names or list(chains)
    for name in chosen:
        chain = _chosen(name, chains, devices, keys_path)
        key = chain.chain_at(before)
        if key is None or before == chain.first:
            raise OperatorFault(
                f"the boots before {before} of {name} cannot be shredded; {keys_path} holds those "
                f"from {chain.first} to {chain.first + FURTHEST}, and keys only step on. Give "
                "--before a boot after the first of them"
            )
        if not future:
            check_begun(before, name, newest)
        chains[name] = Chain(chain.key_id, before, key)
    ringfile.replace(keys_path, devices.site, chains)
    say(
        f"{keys_path} opens boots from {before} on of {named(chosen)}; what it held before is "
        f"overwritten, and frames of boots before {before} stay blurred for ever."
    )
    say(
        "As long as a copy or a backup of the old file is anywhere, that is not so: destroy them. "
        "Flash memory and some file systems keep old bytes as well; where that matters, destroy "
        "the medium."
    )


def _devices(path: Path) -> tuple[config.Deployment, Devices]:
    deployment = config.load(path)
    return deployment, load_devices(deployment.site.devices, deployment.site.name)


def _owners(path: Path, devices: Devices) -> dict[str, Chain]:
    """Return the owner's keys by device; those of single boots step nowhere."""
    ring = ringfile.read(path, devices.site, ringfile.OWNER)
    check_ring(ring, devices, path)
    return {name: held for name, held in ring.held.items() if isinstance(held, Chain)}


def _chosen(name: str, chains: Mapping[str, Chain], devices: Devices, path: Path) -> Chain:
    device = devices.by_name.get(name)
    if device is not None and device.mode == "sealed":
        raise OperatorFault(
            f"--device {name} is sealed; only a device enrolled as keyholder has keys that take "
            "its noise off, and of this one nobody has any. Name another device"
        )
    if name not in chains:
        raise OperatorFault(
            f"--device {name} is not in {path}, which must hold its key, for there is no other; "
            f"{suggestion(name, chains)}"
        )
    return chains[name]


def _opens(held: Chain | Boots | None, key_id: bytes) -> str:
    """Return what is held of a device, for people."""
    if held is None:
        return "nothing"
    if held.key_id != key_id:
        return f"nothing: the file has key {held.key_id.hex()}, of another enrolment"
    if isinstance(held, Boots):
        return f"boots {spans(held.by_epoch)} alone"
    return "every boot" if held.root is not None else f"boots from {held.first} on"
