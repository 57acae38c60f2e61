"""The owner's keys, exact readings for their holder, and tighter limits: keys, unveil, tighten."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from edge.host.rootkeys import mac_key
from recovery.maps.guarantee import format_ratio, round_up

from ... import logs
from ...devices.enrol import limitsfile
from ...devices.enrol.check import check_levels, check_readings, check_windows
from ...devices.enrol.enrol import Devices, load_devices, lock_devices
from ...devices.owner import keyring
from ...devices.owner.keyring import (
    FURTHEST,
    BootKeys,
    KeyChain,
    KeyRing,
    format_boots,
    parse_boots,
)
from ...devices.owner.tighten import LimitAnswers, send_limits
from ...devices.owner.unveiling import (
    ALL,
    ExactReading,
    StoredReport,
    UnveilingPass,
    check_output_path,
    open_source,
    write_readings,
)
from ...faults import OperatorFault, UnmadeFault, suggest_name
from ...mechanisms import find_serving, make_first_limits, plan_first_round
from ...output import Stage, show_stages
from ...service.ledger import compute_budget_rho, compute_round_rho
from ...settings import config
from ...settings.deployment import Deployment
from ...store.reader import open_reader
from .. import flags
from ..check import is_gateway_running
from ..records.ledger import compute_spent_epsilon

# Which boots of the devices were heard, as the gateway's database has it.
#
# It tells the owner of keys where now is: a boot beyond it is one that no device has begun.

Newest = Mapping[str, int]  # by the names of devices; who was not heard is not in it


def read_newest_boots(deployment: config.Deployment, devices: Devices) -> Newest | None:
    """Return the newest boot of each device under its present key; None without a database.

    Raises:
        OperatorFault: there is one, and it cannot be read.
    """
    path = deployment.site.database
    if not path.exists():
        return None
    with open_source(path, devices.site) as source:
        found = source.read_newest_boots()
    known = {name: found.get((name, one.key_id)) for name, one in devices.by_name.items()}
    return {name: epoch for name, epoch in known.items() if epoch is not None}


def check_boot_begun(before: int, name: str, newest: Newest | None) -> None:
    """Check that no boot would be forgotten that a device has not even begun.

    Raises:
        OperatorFault: such a boot would be.
    """
    known = (newest or {}).get(name)
    if known is not None and before <= known + 1:
        return
    said = f"the newest that was heard of it is {known}" if known else "none of it was heard here"
    most = f"{known + 1} or less" if known else "a boot that was heard"
    raise OperatorFault(
        f"--before {before} reaches beyond the boots of {name}: {said}; no frame of boots up to "
        f"{before - 1} could ever be unveiled, not even those that are still to be sent. Give "
        f"{most}, or add --future if that is what you want"
    )


def describe_future_boots(wanted: int, names: list[str], newest: Newest | None) -> str:
    """Return a sentence on boots up to this one that are still to come, or nothing."""
    if newest is None:
        return ""
    ahead = [name for name in names if wanted > newest.get(name, 0)]
    if not ahead:
        return ""
    said = ", ".join(f"{name} at {newest.get(name, 0) or 'none'}" for name in ahead)
    return f"It reaches into boots that have not begun; the newest heard: {said}."


# Exact readings for the holder of keys, in a file of their own: `heatveil unveil`. NOT PRIVATE.
#
# This runs by itself, never in the gateway's process: it reads the gateway's database, which it
# cannot write, and says nothing of a reading on the terminal or in a log.


def unveil(
    path: flags.Config,
    out: Annotated[Path, typer.Option(help="A new file, .sqlite or .csv. NOT PRIVATE.")],
    keys: Annotated[
        Path | None,
        typer.Option(help="keyholder.json or a granted epochs.json; the first beside the config."),
    ] = None,
    since: Annotated[int | None, typer.Option(min=1, help="From this round on.")] = None,
    number: Annotated[int | None, typer.Option("--round", min=1, help="This round alone.")] = None,
) -> None:
    """Give the holder of keys the exact readings, in a file of their own. NOT PRIVATE."""
    if since is not None and number is not None:
        raise OperatorFault(
            "--since and --round were both given; more readings would be opened than one of them "
            "asks for. Leave one out"
        )
    rounds, keys_path = (since or number or ALL[0], number or ALL[1]), _hold(path, keys)
    deployment = config.load_deployment(path)
    database, site = deployment.site.database, deployment.site.name
    check_output_path(out, database)
    devices = load_devices(deployment.site.devices, site)
    ring = keyring.read_key_ring(keys_path, site, *keyring.KINDS)
    check_keys_match(ring, devices, keys_path)
    with open_source(database, site) as source, show_stages() as stage:
        opening = UnveilingPass(devices, source.read_rounds(site, devices.site_key), ring)
        reports, count = source.read_reports(rounds), source.count_reports(rounds)
        write_readings(
            out,
            site,
            _unveil_at_least_one(opening, _tell(reports, count, stage)),
            lambda: opening.left,
        )
    for line in _format_unveiled_lines(out, opening):
        typer.echo(line)


def check_keys_match(ring: KeyRing, devices: Devices, path: Path) -> None:
    """Check that the keys are those of the devices as they are enrolled.

    Raises:
        OperatorFault: a device is sealed, is enrolled with another key, or is not enrolled.
    """
    for name, held in ring.held.items():
        device = devices.by_name.get(name)
        if device is None:
            raise OperatorFault(
                f"the key file {path} has keys of {name}, which is not in the devices file; "
                "without its enrolment its frames cannot be recognised. Name the key file and the "
                "devices file of one enrolment"
            )
        if device.mode == "sealed":
            raise OperatorFault(
                f"{name} was enrolled as sealed; its noise depends on random bytes that never "
                "left the board, so no key can take it off. Its readings stay blurred. Enrol it "
                "as keyholder if later ones are to be opened"
            )
        if held.key_id != device.key_id:
            raise OperatorFault(
                f"the key file {path} has key {held.key_id.hex()} of {name}, which is enrolled "
                f"with key {device.key_id.hex()}; a key opens the frames of its own enrolment "
                "alone. Name the key file of this enrolment, or the devices file of that one"
            )
        if isinstance(held, KeyChain) and held.root and mac_key(held.root) != device.mac_key:
            raise OperatorFault(
                f"the devices file has another key for the frames of {name} than {path}; only "
                "frames that the device really signed may be opened, or forged readings would "
                "pass for its own. Restore the devices file as it was when it was enrolled"
            )


def _tell(reports: Iterable[StoredReport], count: int, stage: Stage) -> Iterator[StoredReport]:
    for number, stored in enumerate(reports):
        if number % 1000 == 0:
            stage(f"opening frame {number} of {count}")
        yield stored


def _unveil_at_least_one(
    opening: UnveilingPass, reports: Iterable[StoredReport]
) -> Iterator[ExactReading]:
    """Yield the readings; after the last, refuse to have found none."""
    yield from opening.unveil_reports(reports)
    if not opening.frames:
        found = (
            "; ".join(_describe_left_out(opening)) or "no device has answered one of these rounds"
        )
        raise OperatorFault(
            f"no frame could be opened ({found}), so no file was written: an empty one would be "
            "taken for an empty room. Check the rounds that were asked for, and for which boots "
            "you have keys (heatveil keys list)"
        )


def _describe_left_out(opening: UnveilingPass) -> list[str]:
    """Return what was left out, a clause for each reason."""
    by_reason: Counter[str] = Counter()
    devices: dict[str, set[str]] = {}
    for name, _, why, frames in opening.left:
        by_reason[why] += frames
        devices.setdefault(why, set()).add(name)
    return [
        f"{frames} of {format_owners(devices[why])} left out: {why}"
        for why, frames in by_reason.most_common()
    ]


def format_owners(names: Iterable[str]) -> str:
    """Return whose something is, in a few words."""
    first, *rest = sorted(names)
    return f"{first} and {len(rest)} others" if rest[1:] else " and ".join([first, *rest])


def _format_unveiled_lines(out: Path, opening: UnveilingPass) -> list[str]:
    return [
        f"NOT PRIVATE: {out} holds the exact readings of {opening.frames} frames, "
        f"{opening.readings} in all.",
        *(f"{reason[0].upper()}{reason[1:]}." for reason in _describe_left_out(opening)),
        "Nothing is promised against whoever gets that file. Keep it apart from what the gateway "
        "stores, and remove it when it has served its purpose.",
    ]


# The owner's keys: what there is, single boots to hand out, and boots to forget: `heatveil keys`.
#
# No key is ever printed; what is printed are the public four bytes that name an enrolment.

Keys = Annotated[
    Path | None, typer.Option(help="The owner's keys; keyholder.json beside the config.")
]
Device = Annotated[list[str] | None, typer.Option("--device", help="Its name; may be repeated.")]

keys = flags.make_command_group("The owner's keys: list, hand out single boots, shred.")


@keys.command("list")
def list_keys(path: flags.Config, keys: Keys = None) -> None:
    """Show who is enrolled with which key, and what the file of keys opens. No key is shown."""
    keys_path = _hold(path, keys)
    shown = keys or keys_path.exists()
    deployment, devices = _load_site_devices(path)
    newest, place = read_newest_boots(deployment, devices) or {}, deployment.site.devices
    ring = KeyRing(devices.site, {})
    if shown:
        ring = keyring.read_key_ring(keys_path, devices.site, *keyring.KINDS)
    typer.echo(f"{place} says who may speak and signs what they are told; it opens no reading.")
    if shown:
        typer.echo(f"{keys_path} takes noise off, as the last column says.")
    typer.echo("boot: the newest that the gateway's database has heard of, where there is one.")
    typer.echo(f"{'device':20s} {'key':8s} {'boot':>7s} {'mode':10s} opens")
    for name, device in devices.by_name.items():
        held = ring.held.get(name)
        boot, opens = str(newest.get(name, "-")), _describe_held_keys(held, device.key_id)
        typer.echo(f"{name:20s} {device.key_id.hex()} {boot:>7s} {device.mode:10s} {opens}")
    for name in sorted(set(ring.held) - set(devices.by_name)):
        typer.echo(f"{name:20s} {ring.held[name].key_id.hex()} not enrolled any more")


@keys.command()
def grant(
    path: flags.Config,
    names: Annotated[list[str], typer.Option("--device", help="Its name; may be repeated.")],
    epochs: Annotated[str, typer.Option(help="Boots, such as 3-7 or 3,5.")],
    out: Annotated[Path, typer.Option(help="A new file for whoever is to open these boots.")],
    keys: Keys = None,
) -> None:
    """Write the keys of some boots of a device: they open those and no other."""
    keys_path = _hold(path, keys)
    wanted, (deployment, devices) = parse_boots(epochs), _load_site_devices(path)
    for name in names:
        _check_not_sealed(name, devices)  # whose keys are in no file that there is to be read
    chains = _read_owner_chains(keys_path, devices)
    given: dict[str, BootKeys] = {}
    for name in names:
        held = _choose(name, chains, devices, keys_path)
        by_epoch = {epoch: key for epoch in wanted if (key := held.find_boot_key(epoch))}
        if left := [epoch for epoch in wanted if epoch not in by_epoch]:
            raise OperatorFault(
                f"the key of boot {left[0]} of {name} cannot be granted; {keys_path} has those "
                f"of boots {held.first} to {held.first + FURTHEST} alone, for earlier ones were "
                "shredded. Name others with --epochs"
            )
        given[name] = BootKeys(held.key_id, by_epoch)
    newest = read_newest_boots(deployment, devices)
    keyring.write_granted_keys(out, devices.site, given)
    typer.echo(
        f"{out} opens every frame of boots {format_boots(wanted)} of {format_owners(names)}, sent "
        "or still to be sent, for whoever has it, and no other boot. It cannot be taken back: a "
        "copy is enough."
    )
    if ahead := describe_future_boots(wanted[-1], list(given), newest):
        typer.echo(ahead)


@keys.command()
def shred(
    path: flags.Config,
    before: Annotated[int, typer.Option(min=2, help="The first boot that can still be opened.")],
    names: Device = None,
    keys: Keys = None,
    future: Annotated[
        bool, typer.Option("--future", help="Forget boots too that no device has begun.")
    ] = False,
) -> None:
    """Forget the keys of earlier boots for ever, the root with them."""
    keys_path = _hold(path, keys)
    deployment, devices = _load_site_devices(path)
    newest = None if future else read_newest_boots(deployment, devices)
    chains = _read_owner_chains(keys_path, devices)
    chosen = names or list(chains)
    for name in chosen:
        chain = _choose(name, chains, devices, keys_path)
        key = chain.derive_chain_key(before)
        if key is None or before == chain.first:
            raise OperatorFault(
                f"the boots before {before} of {name} cannot be shredded; {keys_path} holds those "
                f"from {chain.first} to {chain.first + FURTHEST}, and keys only step on. Give "
                "--before a boot after the first of them"
            )
        if not future:
            check_boot_begun(before, name, newest)
        chains[name] = KeyChain(chain.key_id, before, key)
    keyring.replace_key_ring(keys_path, devices.site, chains)
    typer.echo(
        f"{keys_path} opens boots from {before} on of {format_owners(chosen)}; what it held "
        f"before is overwritten, and frames of boots before {before} stay blurred for ever."
    )
    typer.echo(
        "As long as a copy or a backup of the old file is anywhere, that is not so: destroy them. "
        "Flash memory and some file systems keep old bytes as well; where that matters, destroy "
        "the medium."
    )


def _hold(config: Path, keys: Path | None) -> Path:
    return keys or config.with_name("keyholder.json")


def _load_site_devices(path: Path) -> tuple[config.Deployment, Devices]:
    deployment = config.load_deployment(path)
    return deployment, load_devices(deployment.site.devices, deployment.site.name)


def _read_owner_chains(path: Path, devices: Devices) -> dict[str, KeyChain]:
    """Return the owner's keys by device; those of single boots step nowhere."""
    ring = keyring.read_key_ring(path, devices.site, keyring.OWNER)
    check_keys_match(ring, devices, path)
    return {name: held for name, held in ring.held.items() if isinstance(held, KeyChain)}


def _check_not_sealed(name: str, devices: Devices) -> None:
    device = devices.by_name.get(name)
    if device is not None and device.mode == "sealed":
        raise OperatorFault(
            f"--device {name} was enrolled as sealed; only the noise of a device enrolled as "
            "keyholder can be taken off. Name another device"
        )


def _choose(name: str, chains: Mapping[str, KeyChain], devices: Devices, path: Path) -> KeyChain:
    _check_not_sealed(name, devices)
    if name not in chains:
        raise OperatorFault(
            f"the key file {path} has no key of --device {name}, and there is no other copy; "
            f"{suggest_name(name, chains)}"
        )
    return chains[name]


def _describe_held_keys(held: KeyChain | BootKeys | None, key_id: bytes) -> str:
    """Return what is held of a device, for people."""
    if held is None:
        return "nothing"
    if held.key_id != key_id:
        return f"nothing: the file has key {held.key_id.hex()}, of another enrolment"
    if isinstance(held, BootKeys):
        return f"boots {format_boots(held.by_epoch)} alone"
    return "every boot" if held.root is not None else f"boots from {held.first} on"


# Tighter limits for devices that are out there: `heatveil tighten`. Privacy only goes up.
#
# The limits follow from the deployment file as it stands now, by the function that enrolled the
# fleet. They are signed for each device with its own key and retained by the broker, so that one
# that sleeps has them when it wakes. A device decides by itself, and says what it decided.

RESTART = (
    "Unless the gateway was started with this file, stop it and start it again: with the old "
    "noise, or pace, devices refuse its rounds."
)
START = "No gateway of this site runs here: start it with this file."


def tighten(
    path: flags.Config,
    names: Device = None,
    patience_s: Annotated[
        float,
        typer.Option(
            "--patience", min=0, max=3600, help="Seconds to wait for the devices' answers."
        ),
    ] = 10.0,
    yes: flags.Yes = False,
) -> None:
    """Send the devices the limits of the deployment file: more privacy, never less.

    Where as much is spent already as the file promises, this ends the deployment, or halts it
    until budget of its window is back: it asks first.
    """
    logs.log_to_stderr(logging.WARNING)
    deployment = config.load_deployment(path)
    with lock_devices(deployment.site.devices):
        devices = load_devices(deployment.site.devices, deployment.site.name)
        query = config.make_query(deployment)
        wished = make_first_limits(deployment, query)
        served = find_serving(deployment.rounds.mechanism)
        known = limitsfile.load_limits(deployment.site.devices, devices)
        # Before limits that cannot be taken back.
        check_windows(deployment, devices, known)
        check_readings(deployment, known)
        check_levels(deployment, known)
        chosen = _select_device_names(names or [], devices)
        sent = limitsfile.plan_next_limits(chosen, known, wished, served.tighter)
        over, hours = _check_ledger_takes(deployment, query, devices), deployment.privacy.window_h
        if over:
            what = f"asked until enough of that is {hours} h old" if hours else "asked any more"
            typer.echo(f"{over}: nothing is {what}, and devices never go back.")
            if not yes:
                ends = "Send it all the same?" if hours else "End this deployment, for good?"
                flags.ask(ends, "nothing was sent")

        def record(unsent: bool) -> None:
            after = {
                name: known[name]._replace(limits=one, unsent=unsent) for name, one in sent.items()
            }
            limitsfile.save_limits(deployment.site.devices, devices.site, {**known, **after})

        def begin() -> None:
            # On the disk first: a version that has been sent must never be given to other limits.
            record(unsent=True)
            typer.echo(_describe_sent_limits(sent, served.least_noise, served.whole_budget, hours))

        answers = send_limits(deployment.mqtt, devices, sent, patience_s, begin)
        record(unsent=False)
    for line in _answer_lines(sent, answers):
        typer.echo(line)
    typer.echo(RESTART if is_gateway_running(deployment) else START)
    if answers.refused:
        raise OperatorFault(
            f"{format_owners(answers.refused)} refused the new limits; they protect the room only "
            "when every device keeps them, for an attacker combines all answers. Correct the "
            "causes above and run this again, or enrol those devices again"
        )


def _check_ledger_takes(deployment: Deployment, query: Any, devices: Devices) -> str:
    """Check that rounds of these limits may be charged here, for devices never go back.

    Return what is spent, where that leaves no round of these limits; else nothing.

    Raises:
        OperatorFault: they are rounds of another promise, and the former has not been ended, or
            has been with these devices.
    """
    plan, readings = plan_first_round(deployment, query), deployment.privacy.readings
    guarantee = plan.guarantee
    try:
        with open_reader(deployment) as reader:
            reader.check_promise(guarantee, readings, devices.key_ids)
            standing = reader.read_ledger(compute_budget_rho(guarantee, readings))
    except UnmadeFault:  # nothing was charged yet, or not on this machine
        return ""
    except OperatorFault as wrong:
        raise OperatorFault(f"nothing was sent: {wrong}") from wrong
    if standing.left and standing.left >= compute_round_rho(guarantee):
        return ""
    spent = round_up(compute_spent_epsilon(standing, plan), 4)
    return f"epsilon {spent} is spent, and this file promises {format_ratio(guarantee.epsilon)}"


def _select_device_names(names: Sequence[str], devices: Devices) -> list[str]:
    for name in names:
        if name not in devices.by_name:
            raise OperatorFault(
                f"--device {name} is not enrolled; limits are signed with the device's own key, "
                f"which is not known here. {suggest_name(name, devices.by_name)}"
            )
    return list(dict.fromkeys(names or devices.by_name))


def _describe_sent_limits(
    sent: Mapping[str, Any], least: Callable[[Any], str], whole: Callable[[Any], str], hours: int
) -> str:
    one = max(sent.values(), key=lambda each: each.version)
    span = f"any {hours} h" if hours else "the life of the key"
    return (
        f"version {one.version} goes to {format_owners(sent)}: {least(one)}, {whole(one)} for "
        f"{span}, {one.pace_ms / 1000:g} s between answers at the least (half of every_s, for "
        "rounds are not on the second)."
    )


def _answer_lines(sent: Mapping[str, Any], answers: LimitAnswers) -> list[str]:
    silent = [name for name in sent if name not in answers.taken and name not in answers.refused]
    lines = [f"taken by {len(answers.taken)} of {len(sent)} devices"]
    lines += [f"refused by {name}: {why}" for name, why in answers.refused.items()]
    if silent:
        lines.append(
            f"silent: {format_owners(silent)}; the broker keeps the message and hands it over "
            "when they come back. Run this again to hear of it"
        )
    return lines
