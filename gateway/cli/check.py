"""A whole deployment looked through before it runs: `heatveil check`.

Every finding is a line: `make_pass`, `make_note` for what may be meant, `FAULT` for what will not
work. One fault does not hide the next, unless the next cannot be seen without it.
"""

import json
import os
import shutil
import socket
import ssl
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path
from typing import Annotated, Any

import typer

from ..devices.enrol.check import check_devices_fit
from ..devices.enrol.enrol import Devices, load_devices
from ..devices.kit import siting
from ..faults import OlderFault, OperatorFault, TakenFault, UnmadeFault
from ..loopback import is_loopback
from ..mechanisms import (
    explain_idle_readings,
    find_for_deployment,
    find_serving,
    plan_first_round,
)
from ..output import format_days, format_duration
from ..service.ledger import (
    compute_budget_rho,
    compute_reading_rho,
    find_unit,
    is_distributed,
)
from ..service.mqtt import access
from ..service.sealing import check_key_folder
from ..settings import config, roomfile
from ..settings.config import load_deployment
from ..settings.deployment import Deployment, Mqtt
from ..store import sqlite
from ..store.opening import locate_lock, lock_store
from ..store.places import find_place
from . import check_files, flags
from .check_files import (
    Finding,
    count_days_left,
    judge_certificate,
    make_fault,
    make_note,
    make_pass,
)

# What a deployment talks to: the port of its page, and its broker.

PATIENCE_S = 5.0


def check_links(deployment: Deployment, connect: bool) -> Iterator[Finding]:
    """Yield what is found of page and broker; connect: come to the broker as the gateway does."""
    page = deployment.page
    yield from _judge_page_port(deployment, page.host, page.port, "port")
    if page.probed is not None:
        yield from _judge_page_port(deployment, *page.probed, "health_port")
    if connect:
        yield from _judge_broker_login(deployment.mqtt, deployment.site.name)
    elif is_loopback(deployment.mqtt.host):
        yield from _find_foreign_listener(deployment.mqtt)


def _find_foreign_listener(broker: Mqtt) -> Iterable[Finding]:
    """Yield a fault where another program than the broker has its port on this machine.

    In the clear it would have to be spoken to, and where nobody answers it may start later:
    neither is a finding without --connect.
    """
    try:
        if (context := access.make_tls_context(broker)) is not None:
            _read_certificate(broker, context)
    except OperatorFault:
        return  # what it lacks is told among the files
    except OSError as wrong:
        if why := access.explain_distrust(broker, wrong):
            yield make_fault(
                "broker",
                f"port {broker.port} at {broker.host} is another program's, or the broker runs "
                f"with other certificates: {why}. Or give [mqtt] another port",
            )


def _judge_page_port(deployment: Deployment, host: str, port: int, key: str) -> Iterable[Finding]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            state = "free"
        except OSError as wrong:
            broker = deployment.mqtt.host, deployment.mqtt.port
            brokers = broker in ((host, port), ("localhost", port))
            if brokers or not is_gateway_running(deployment):
                why = "the broker's" if brokers else "of no gateway of this site"
                yield make_fault(
                    "page",
                    f"port {port} at {host} cannot be had ({wrong.strerror}), and it is {why}; "
                    f"heatveil serve needs it. Give [page] another {key}",
                )
                return
            state = "taken, and a gateway of this site runs"
    yield make_pass("page", f"port {port} at {host} is {state}")


def is_gateway_running(deployment: Deployment) -> bool:
    """Return whether a gateway holds the store of this deployment."""
    place = find_place(deployment)
    if isinstance(place, Path) and not locate_lock(place).exists():
        return False  # and none is made by looking
    try:
        with lock_store(place):
            return False
    except TakenFault:
        return True
    except OperatorFault:  # the findings of the store say why
        return False


def _judge_broker_login(broker: Mqtt, site: str) -> Iterable[Finding]:
    """Yield whether the broker lets us in, and how long its certificate is good."""
    try:
        if (context := access.make_tls_context(broker)) is not None:
            yield from _check_shown(broker, context)
        # Here alone: few checks connect, and paho takes long.
        from ..service.mqtt.service import open_link

        with open_link(broker, f"heatveil-{site}-check"):
            pass  # a name of its own: the gateway's would throw a running one off
    except OperatorFault as wrong:
        yield make_fault("broker", wrong)
        return
    yield make_pass("broker", f"{broker.host}:{broker.port} lets us in")


def _check_shown(broker: Mqtt, context: ssl.SSLContext) -> Iterable[Finding]:
    """Yield how long the certificate is good that the broker really shows."""
    try:
        shown = _read_certificate(broker, context)
    except OSError:
        return  # the link says why, in words
    if shown:
        days = count_days_left(ssl.DER_cert_to_PEM_cert(shown).encode())
        yield judge_certificate("broker", "the certificate that it shows", days)


def _read_certificate(broker: Mqtt, context: ssl.SSLContext) -> bytes | None:
    with (
        socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname=broker.host) as link,
    ):
        return link.getpeercert(binary_form=True)


SPENT = "so nothing more is asked. A new promise is a new enrolment"

# The store of a deployment: can it be read, is it of this promise, is there room.


def check_store(deployment: Deployment, query: Any, devices: Devices | None) -> Iterator[Finding]:
    """Yield what is found of the store; a running gateway is not disturbed."""
    database, kept = deployment.site.database, make_pass("store", describe_retention(deployment))
    if deployment.store.postgresql is None:
        yield from _judge_store_folder(deployment, database)
        if not database.exists():
            yield kept
            if (saved := sqlite.find_rescued(database)) is not None:
                yield make_fault(
                    "store",
                    f"{database} is not there, and {saved} holds what a gateway saved when it was "
                    "taken away; heatveil serve does not begin anew beside it. Put it back: mv "
                    f"{saved} {database}",
                )
                return
            yield make_note(
                "store", f"{database} is not there; it is made when the gateway starts"
            )
            return
    try:
        yield from _check_spent(deployment, query, devices)
    except (OlderFault, UnmadeFault) as wrong:  # no fault: the gateway sees to it at its start
        yield make_note("store", str(wrong))
    except OperatorFault as wrong:
        yield make_fault("store", wrong)
    yield kept
    if copies := _describe_copies(deployment):
        yield make_note("store", copies)


def _check_spent(deployment: Deployment, query: Any, devices: Devices | None) -> Iterable[Finding]:
    """Yield whether what was charged may be added to, and what is left."""
    from ..store.reader import open_reader

    guarantee = plan_first_round(deployment, query).guarantee
    rho = compute_reading_rho(guarantee)
    budget = compute_budget_rho(guarantee, deployment.privacy.readings)
    with open_reader(deployment) as reader:
        if lacking := reader.find_unusable_fault():
            raise lacking
        keys = devices.key_ids if devices else {}
        reader.check_promise(guarantee, deployment.privacy.readings, keys)
        least, ledger = reader.read_promise()[1], reader.read_ledger(budget)
    unit = find_unit(guarantee)
    if least is not None and budget < least:
        over = "more than that is spent already; " * (ledger.spent > budget)
        yield make_note(
            "store",
            f"this file promises {unit.format_rho(budget, 6)} in all, and "
            f"{float(unit.convert(least)):.6g} was promised before: {over}"
            "once a gateway has started with it, no larger promise is taken on this database any "
            "more. For a trial make another folder, with keys of its own",
        )
    left, share = int(ledger.left / rho), float(ledger.spent / ledger.budget)
    told = f"{share:.1%} of it is spent"
    if hours := deployment.privacy.window_h:
        told += f" for now, of what comes back in {hours} h"
    elif is_distributed(guarantee) and ledger.left:
        told += ", and further rounds have the rest"
    elif left:
        told += f", and {left} of {deployment.privacy.readings} rounds can be paid for"
    else:
        yield make_note("store", f"{told}, {SPENT}")
        return
    yield make_pass("store", f"it is of this promise; {told}")


def describe_retention(deployment: Deployment) -> str:
    """Return what is kept and for how long, as the deployment has it: for who answers for it."""
    report, keep = (format_days(days) if days else "for ever" for days in deployment.kept_days)
    thermal = find_for_deployment(deployment).reads == "temperature"
    released = "releases" + ", with the same blurred readings," * thermal
    maps = f"{released} for ever; maps {keep}"
    if deployment.privacy.window_h:
        maps = f"{released} and maps {keep}"
    return (
        f"kept, unless heatveil delete ends it: blurred or sealed reports {report}; {maps}; "
        f"messages that were refused {format_days(deployment.store.refused_days)}. Kept as long "
        "as the database: rounds, what they cost, which devices there were and how often each "
        "answered. A reading in the clear is never kept. Backups, exports, reports of a day and "
        "logs are not among these: they stay where you put them"
    )


def _describe_copies(deployment: Deployment) -> str:
    """Return that there are copies beside the database, and which; "" where there are none."""
    database = deployment.site.database
    if deployment.store.postgresql is not None or not (copies := sqlite.find_copies(database)):
        return ""
    return (
        "copies beside the database keep all that they hold for as long as they are there: "
        f"{', '.join(copies)}. Remove those that you need no more"
    )


def _judge_store_folder(deployment: Deployment, database: Path) -> Iterable[Finding]:
    folder = database.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        yield make_fault(
            "store",
            f"{folder} is no folder that we may write to; nothing is acknowledged before it is "
            "stored there. Make it, or mend [site] database",
        )
        return
    if database.exists() and not os.access(database, os.W_OK):
        yield make_fault("store", f"{database} may not be written by us. Give it to this user")
    free_mb = shutil.disk_usage(folder).free / 1e6
    if free_mb < deployment.store.reserve_mb:
        yield make_fault(
            "store",
            f"{free_mb:.0f} MB are free in {folder}, less than [store] reserve_mb "
            f"{deployment.store.reserve_mb}: nothing would be taken. Make room",
        )
    elif free_mb < 10 * deployment.store.reserve_mb:
        yield make_note("store", f"only {free_mb:.0f} MB are free in {folder}")


def check(
    file: Annotated[Path | None, typer.Argument(help="The deployment file, TOML.")] = None,
    config: flags.File = None,
    connect: Annotated[bool, typer.Option("--connect", help="Sign in to the broker too.")] = False,
    kept: Annotated[
        bool, typer.Option("--kept", help="Say only what is kept, and for how long.")
    ] = False,
    as_json: flags.AsJson = False,
) -> None:
    """Look through a whole deployment and say what is, or may be, wrong with it.

    Nothing is changed, and a gateway that runs is not disturbed. Without --connect a broker with
    TLS on this machine is asked for its certificate, and no other broker anything. Exit status 1
    where there is a fault; notes are no faults.
    """
    path = flags.pick_deployment_file(file, config)
    if path is None:
        raise OperatorFault(
            "no deployment file was named, and there must be one to look through; write "
            "heatveil check gateway.toml"
        )
    if kept:
        deployment = load_deployment(path)
        told = (describe_retention(deployment), _describe_copies(deployment))
        said = "; ".join(filter(None, told))
        typer.echo(json.dumps({"kept": said}) if as_json else said)
        return
    found: list[Finding] = []
    for one in check_deployment(path, connect):
        found.append(one)
        if not as_json:
            typer.echo(f"{one.grade:5}  {one.subject}: {one.sentence}")
    faults, notes = (sum(one.grade == grade for one in found) for grade in ("FAULT", "note"))
    if as_json:
        typer.echo(json.dumps({"ok": not faults, "findings": [one._asdict() for one in found]}))
    else:
        end = "mend the faults first"
        if not faults:
            runs = is_gateway_running(load_deployment(path))
            end = "a gateway runs already" if runs else "heatveil serve can run"
            if any(one.sentence.endswith(SPENT) for one in found):
                end += ", and would ask nothing: the budget is spent"
        typer.echo(f"{_count(faults, 'fault')}, {_count(notes, 'note')}: {end}")
    if faults:
        raise typer.Exit(1)


def check_deployment(path: Path, connect: bool) -> Iterator[Finding]:
    """Yield everything that is found, in the order in which it is best mended."""
    try:
        deployment = config.load_deployment(path)
        query = config.make_query(deployment)
        yield make_pass(
            "config", f"{path} says what is to be done, for site {deployment.site.name}"
        )
        find_serving(deployment.rounds.mechanism)
    except OperatorFault as wrong:
        yield make_fault("config", wrong)
        return
    yield from _judge_settings(deployment, query)
    if deployment.room.plan:
        yield make_pass("room", roomfile.describe_model_difference(deployment.room.plan))
        if roomfile.has_moving_door(deployment.room.plan):
            yield make_note(
                "room",
                "a door of this room moves, but the promise holds for a day on which no door "
                "moves: the noise is enough for every position of the doors. By how much a moving "
                "door exceeds that is measured, not proved: heatveil audit --config FILE --layer "
                "paths",
            )
    devices: Devices | None = None
    if not deployment.site.devices.exists():
        command = f"heatveil enrol --config {path}"
        if (asked := find_for_deployment(deployment)).trust == "central":
            command += f" --central {asked.name}"
        yield make_fault(
            "devices", f"nobody is enrolled yet, so nobody may report. Next: {command}"
        )
    else:
        try:
            devices = load_devices(deployment.site.devices, deployment.site.name)
        except OperatorFault as wrong:
            yield make_fault("devices", wrong)
    if devices is not None:
        yield from _judge_enrolled_devices(deployment, devices)
        yield from check_files.check_keys(deployment, path, devices)
    if find_for_deployment(deployment).trust == "central":
        from ..mechanisms.usual import TRUSTED  # here alone: it brings what plays and scores

        yield make_note("rounds", TRUSTED)
        try:
            check_key_folder(deployment)
        except OperatorFault as wrong:
            yield make_fault("store", wrong)
    for caution in find_for_deployment(deployment).cautions(query):
        yield make_note("rounds", caution)
    yield from check_files.check_files(deployment, path)
    yield from check_store(deployment, query, devices)
    yield from check_links(deployment, connect)


def _judge_enrolled_devices(deployment: Deployment, devices: Devices) -> Iterable[Finding]:
    sensors = prod(find_for_deployment(deployment).sensors(deployment))
    try:
        check_devices_fit(deployment, devices)
    except OperatorFault as wrong:
        yield make_fault("devices", wrong)
        return
    except MemoryError as wrong:
        yield make_fault(
            "room",
            f"its noise needs more memory than this machine has ({wrong}); no promise can be "
            "made without. Set fewer cells or sensors",
        )
        return
    read = sum(device.place[1] for device in devices.by_name.values())
    # People carry such devices, one each.
    places = find_for_deployment(deployment).reads == "place"
    what = "that the file counts" if places else "sensors"
    yield make_pass(
        "devices", f"{len(devices.by_name)} are enrolled, for {read} of {sensors} {what}"
    )
    if read < sensors:
        yield make_note(
            "devices",
            f"{_count(sensors - read, 'device' if places else 'sensor')} "
            f"{'not enrolled' if places else 'without a device'}; the map is drawn with the "
            "others. Enrol more, or say in the file that there are fewer",
        )
    if places and deployment.rounds.quorum < 2 <= len(devices.by_name):
        yield make_fault(
            "rounds",
            "[rounds] quorum is 1, and devices are people here: what one person answered would be "
            "drawn as the map of all. Set it to what a map is worth having from, such as a "
            "twentieth of them",
        )
    if deployment.rounds.quorum > len(devices.by_name):
        yield make_fault(
            "rounds",
            f"[rounds] quorum is {deployment.rounds.quorum} and {len(devices.by_name)} devices "
            "are enrolled: no map would ever be drawn. Set it to what a map is worth having from",
        )


def _judge_settings(deployment: Deployment, query: Any) -> Iterable[Finding]:
    """Yield what is well formed and may still not be meant."""
    rounds, assistant = deployment.rounds, deployment.homeassistant
    asked_m = deployment.privacy.protect_distance_m
    hidden_m = getattr(query, "protect_distance_m", None)
    if asked_m is not None and hidden_m is not None and hidden_m > asked_m:
        yield make_note(
            "privacy",
            f"[privacy] protect_distance_m is {asked_m:g} and a cell {hidden_m:g} m: a move by a "
            f"whole cell is hidden, with the noise for that. Say {hidden_m:g}, or take more cells",
        )
    if rounds.every_s < rounds.gather_s:
        yield make_note(
            "rounds",
            f"[rounds] every_s {rounds.every_s:g} is less than gather_s {rounds.gather_s:g}: "
            "while a device is silent, rounds begin later than they say",
        )
    every, readings = format_duration(rounds.every_s), deployment.privacy.readings
    if hours := deployment.privacy.window_h:
        said = f"a promise for any {hours} h; one round every {every}, for ever"
    elif find_for_deployment(deployment).trust == "distributed":
        maps = _count(readings, "map")
        said = f"{maps} under the promise, from rounds that share epsilon; one round every {every}"
    else:
        lasts = format_duration(rounds.every_s * readings)
        said = (
            f"{_count(readings, 'round')} under the promise; one every {every}, they last {lasts}"
        )
    if rounds.hours:
        said += f", counted within {rounds.hours} alone"
    yield make_pass("privacy", said)
    for idle in explain_idle_readings(query, rounds.every_s, rounds.hours):
        yield make_note("privacy", idle)
    if assistant.enabled and assistant.expire_s and assistant.expire_s < rounds.every_s:
        yield make_note(
            "homeassistant",
            f"expire_s {assistant.expire_s:g} is less than [rounds] every_s {rounds.every_s:g}: "
            "between rounds every result will be unavailable",
        )
    try:
        siting.compute_plane(deployment)
    except OperatorFault as wrong:
        yield make_note("devices", f"no board with a receiver can be provisioned: {wrong}")
    if deployment.mqtt.insecure:
        yield make_note(
            "mqtt",
            "insecure = true: whoever is on the network can read, change and forge messages. "
            "heatveil broker init makes what TLS needs",
        )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
