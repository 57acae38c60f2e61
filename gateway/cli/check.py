"""A whole deployment looked through before it runs: `heatveil check`.

Every finding is a line: `report_pass`, `note` for what may be meant, `FAULT` for what will not
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

from ..devices.enrol.check import check_together
from ..devices.enrol.enrol import Devices, load_devices
from ..devices.kit import siting
from ..faults import DeletedFault, OperatorFault, TakenFault
from ..mechanisms import find_for_deployment, find_service, first_round
from ..output import say_time
from ..service.ledger import (
    budget_of,
    check_budget,
    check_terms,
    is_distributed,
    reading_price,
    terms,
    unit_of,
)
from ..service.mqtt import access
from ..service.sealing import check_folder
from ..settings import config, roomfile
from ..settings.config import load
from ..settings.deployment import Deployment, Mqtt
from ..store import sqlite
from ..store.opening import lock_of, lock_store
from ..store.places import place_of
from ..store.reader import MADE
from . import check_files, flags
from .check_files import Finding, days_left, fault, judge_certificate, note, report_pass

# What a deployment talks to: the port of its page, and its broker.

PATIENCE_S = 5.0


def link_findings(deployment: Deployment, connect: bool) -> Iterator[Finding]:
    """Yield what is found of page and broker; connect: go to the broker."""
    page = deployment.page
    yield from _page(deployment, page.host, page.port, "port")
    if page.probed is not None:
        yield from _page(deployment, *page.probed, "health_port")
    if connect:
        yield from _broker(deployment.mqtt, deployment.site.name)


def _page(deployment: Deployment, host: str, port: int, key: str) -> Iterable[Finding]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            state = "free"
        except OSError as wrong:
            broker = deployment.mqtt.host, deployment.mqtt.port
            brokers = broker in ((host, port), ("localhost", port))
            if brokers or not has_gateway(deployment):
                why = "the broker's" if brokers else "of no gateway of this site"
                yield fault(
                    "page",
                    f"port {port} at {host} cannot be had ({wrong.strerror}), and it is {why}; "
                    f"heatveil serve needs it. Give [page] another {key}",
                )
                return
            state = "taken, and a gateway of this site runs"
    yield report_pass("page", f"port {port} at {host} is {state}")


def has_gateway(deployment: Deployment) -> bool:
    """Return whether a gateway holds the store of this deployment."""
    place = place_of(deployment)
    if isinstance(place, Path) and not lock_of(place).exists():
        return False  # and none is made by looking
    try:
        with lock_store(place):
            return False
    except TakenFault:
        return True
    except OperatorFault:  # the findings of the store say why
        return False


def _broker(broker: Mqtt, site: str) -> Iterable[Finding]:
    """Yield whether the broker lets us in, and how long its certificate is good."""
    try:
        if (context := access.tls(broker)) is not None:
            yield from _check_shown(broker, context)
        # Here alone: few checks connect, and paho takes long.
        from ..service.mqtt.service import open_link

        with open_link(broker, f"heatveil-{site}-check"):
            pass  # a name of its own: the gateway's would throw a running one off
    except OperatorFault as wrong:
        yield fault("broker", wrong)
        return
    yield report_pass("broker", f"{broker.host}:{broker.port} lets us in")


def _check_shown(broker: Mqtt, context: ssl.SSLContext) -> Iterable[Finding]:
    """Yield how long the certificate is good that the broker really shows."""
    address = broker.host, broker.port
    try:
        with (
            socket.create_connection(address, timeout=PATIENCE_S) as plain,
            context.wrap_socket(plain, server_hostname=broker.host) as link,
        ):
            shown = link.getpeercert(binary_form=True)
    except OSError:
        return  # the link says why, in words
    if shown:
        days = days_left(ssl.DER_cert_to_PEM_cert(shown).encode())
        yield judge_certificate("broker", "the certificate that it shows", days)


SPENT = "so nothing more is asked. A new promise is a new enrolment"

# The store of a deployment: can it be read, is it of this promise, is there room.


def store_findings(deployment: Deployment, query: Any) -> Iterator[Finding]:
    """Yield what is found of the store; a running gateway is not disturbed."""
    database, kept = deployment.site.database, report_pass("store", describe_kept(deployment))
    if deployment.store.postgresql is None:
        yield from _room(deployment, database)
        if not database.exists():
            yield kept
            if (saved := sqlite.find_rescued(database)) is not None:
                yield fault(
                    "store",
                    f"{database} is not there, and {saved} holds what a gateway saved when it was "
                    "taken away; heatveil serve does not begin anew beside it. Put it back: mv "
                    f"{saved} {database}",
                )
                return
            yield note("store", f"{database} is not there; it is made when the gateway starts")
            return
    try:
        yield from _check_spent(deployment, query)
    except DeletedFault as wrong:  # nothing is kept that a line could tell for how long
        yield fault("store", wrong)
        return
    except OperatorFault as wrong:
        # A store that is older, or not made yet, is no fault: the gateway sees to it at its start.
        later = any(words in str(wrong) for words in ("brings it up to date", MADE))
        yield note("store", str(wrong)) if later else fault("store", wrong)
    yield kept
    if deployment.store.postgresql is None and (copies := sqlite.find_copies(database)):
        yield note(
            "store",
            f"copies beside the database keep all that they hold for as long as they are there: "
            f"{', '.join(copies)}. Remove those that you need no more",
        )


def _check_spent(deployment: Deployment, query: Any) -> Iterable[Finding]:
    """Yield whether what was charged may be added to, and what is left."""
    from ..store.reader import open_reader

    guarantee = first_round(deployment, query).guarantee
    rho = reading_price(guarantee)
    budget = budget_of(guarantee, deployment.privacy.readings)
    with open_reader(deployment) as reader:
        promised, least = reader.promise()
        ledger = reader.ledger(budget)
        if lacking := reader.find_forgotten():
            raise lacking
    check_terms(promised, terms(guarantee))
    unit = unit_of(guarantee)
    check_budget(least, budget, unit)
    if least is not None and budget < least:
        yield note(
            "store",
            f"this file promises {unit.format(budget, 6)} in all, and {float(unit.of(least)):.6g} "
            "was promised before: once a gateway has started with it, no larger promise is taken "
            "on this database any more. If it was meant as a trial, copy the folder first",
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
        yield note("store", f"{told}, {SPENT}")
        return
    yield report_pass("store", f"it is of this promise; {told}")


def describe_kept(deployment: Deployment) -> str:
    """Return what is kept and for how long, as the deployment has it: for who answers for it."""
    report, keep = (f"{days:g} days" if days else "for ever" for days in deployment.kept_days)
    maps = "releases and maps" if deployment.privacy.window_h else "maps"
    rest = "" if deployment.privacy.window_h else "releases, "
    return (
        f"kept: blurred or sealed reports {report}; {maps} {keep}; messages that were refused "
        f"{deployment.store.refused_days:g} days; {rest}rounds, what they cost, which devices "
        "there were and how often each answered for as long as the database; no reading in the "
        "clear, ever"
    )


def _room(deployment: Deployment, database: Path) -> Iterable[Finding]:
    folder = database.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        yield fault(
            "store",
            f"{folder} is no folder that we may write to; nothing is acknowledged before it is "
            "stored there. Make it, or mend [site] database",
        )
        return
    if database.exists() and not os.access(database, os.W_OK):
        yield fault("store", f"{database} may not be written by us. Give it to this user")
    free_mb = shutil.disk_usage(folder).free / 1e6
    if free_mb < deployment.store.reserve_mb:
        yield fault(
            "store",
            f"{free_mb:.0f} MB are free in {folder}, less than [store] reserve_mb "
            f"{deployment.store.reserve_mb}: nothing would be taken. Make room",
        )
    elif free_mb < 10 * deployment.store.reserve_mb:
        yield note("store", f"only {free_mb:.0f} MB are free in {folder}")


def check(
    file: Annotated[Path | None, typer.Argument(help="The deployment file, TOML.")] = None,
    config: flags.File = None,
    connect: Annotated[bool, typer.Option("--connect", help="Ask the broker too.")] = False,
    as_json: flags.AsJson = False,
) -> None:
    """Look through a whole deployment and say what is, or may be, wrong with it.

    Nothing is changed, and a gateway that runs is not disturbed. Exit status 1 where there is a
    fault; notes are no faults.
    """
    path = flags.pick_file(file, config)
    if path is None:
        raise OperatorFault(
            "no deployment file was named, and there must be one to look through; write "
            "heatveil check gateway.toml"
        )
    found: list[Finding] = []
    for one in list_findings(path, connect):
        found.append(one)
        if not as_json:
            typer.echo(f"{one.grade:5}  {one.subject}: {one.sentence}")
    faults, notes = (sum(one.grade == grade for one in found) for grade in ("FAULT", "note"))
    if as_json:
        typer.echo(json.dumps({"ok": not faults, "findings": [one._asdict() for one in found]}))
    else:
        end = "mend the faults first"
        if not faults:
            runs = has_gateway(load(path))
            end = "a gateway runs already" if runs else "heatveil serve can run"
            if any(one.sentence.endswith(SPENT) for one in found):
                end += ", and would ask nothing: the budget is spent"
        typer.echo(f"{_count(faults, 'fault')}, {_count(notes, 'note')}: {end}")
    if faults:
        raise typer.Exit(1)


def list_findings(path: Path, connect: bool) -> Iterator[Finding]:
    """Yield everything that is found, in the order in which it is best mended."""
    try:
        deployment = config.load(path)
        query = config.query(deployment)
        yield report_pass(
            "config", f"{path} says what is to be done, for site {deployment.site.name}"
        )
        find_service(deployment.rounds.mechanism)
    except OperatorFault as wrong:
        yield fault("config", wrong)
        return
    yield from _sense(deployment, query)
    if deployment.room.plan:
        yield report_pass("room", roomfile.find_difference(deployment.room.plan))
        if roomfile.doors_move(deployment.room.plan):
            yield note(
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
        yield fault("devices", f"nobody is enrolled yet, so nobody may report. Next: {command}")
    else:
        try:
            devices = load_devices(deployment.site.devices, deployment.site.name)
        except OperatorFault as wrong:
            yield fault("devices", wrong)
    if devices is not None:
        yield from _devices(deployment, devices)
        yield from check_files.key_findings(deployment, path, devices)
    if find_for_deployment(deployment).trust == "central":
        from ..mechanisms.usual import TRUSTED  # here alone: it brings what plays and scores

        yield note("rounds", TRUSTED)
        try:
            check_folder(deployment)
        except OperatorFault as wrong:
            yield fault("store", wrong)
    for caution in find_for_deployment(deployment).cautions(query):
        yield note("rounds", caution)
    yield from check_files.file_findings(deployment, path)
    yield from store_findings(deployment, query)
    yield from link_findings(deployment, connect)


def _devices(deployment: Deployment, devices: Devices) -> Iterable[Finding]:
    sensors = prod(find_for_deployment(deployment).sensors(deployment))
    try:
        check_together(deployment, devices)
    except OperatorFault as wrong:
        yield fault("devices", wrong)
        return
    except MemoryError as wrong:
        yield fault(
            "room",
            f"its noise needs more memory than this machine has ({wrong}); no promise can be "
            "made without. Set fewer cells or sensors",
        )
        return
    read = sum(device.place[1] for device in devices.by_name.values())
    places = (
        find_for_deployment(deployment).reads == "place"
    )  # of devices that people carry, one each
    what = "that the file counts" if places else "sensors"
    yield report_pass(
        "devices", f"{len(devices.by_name)} are enrolled, for {read} of {sensors} {what}"
    )
    if read < sensors:
        yield note(
            "devices",
            f"{_count(sensors - read, 'device' if places else 'sensor')} "
            f"{'not enrolled' if places else 'without a device'}; the map is drawn with the "
            "others. Enrol more, or say in the file that there are fewer",
        )
    if places and deployment.rounds.quorum < 2 <= len(devices.by_name):
        yield fault(
            "rounds",
            "[rounds] quorum is 1, and devices are people here: what one person answered would be "
            "drawn as the map of all. Set it to what a map is worth having from, such as a "
            "twentieth of them",
        )
    if deployment.rounds.quorum > len(devices.by_name):
        yield fault(
            "rounds",
            f"[rounds] quorum is {deployment.rounds.quorum} and {len(devices.by_name)} devices "
            "are enrolled: no map would ever be drawn. Set it to what a map is worth having from",
        )


def _sense(deployment: Deployment, query: Any) -> Iterable[Finding]:
    """Yield what is well formed and may still not be meant."""
    rounds, assistant = deployment.rounds, deployment.homeassistant
    asked_m = deployment.privacy.protect_distance_m
    hidden_m = getattr(query, "protect_distance_m", None)
    if asked_m is not None and hidden_m is not None and hidden_m > asked_m:
        yield note(
            "privacy",
            f"[privacy] protect_distance_m is {asked_m:g} and a cell {hidden_m:g} m: a move by a "
            f"whole cell is hidden, with the noise for that. Say {hidden_m:g}, or take more cells",
        )
    if rounds.every_s < rounds.gather_s:
        yield note(
            "rounds",
            f"[rounds] every_s {rounds.every_s:g} is less than gather_s {rounds.gather_s:g}: "
            "while a device is silent, rounds begin later than they say",
        )
    every, readings = say_time(rounds.every_s), deployment.privacy.readings
    if hours := deployment.privacy.window_h:
        said = f"a promise for any {hours} h; one round every {every}, for ever"
    elif find_for_deployment(deployment).trust == "distributed":
        maps = _count(readings, "map")
        said = f"{maps} under the promise, from rounds that share epsilon; one round every {every}"
    else:
        lasts = say_time(rounds.every_s * readings)
        said = (
            f"{_count(readings, 'round')} under the promise; one every {every}, they last {lasts}"
        )
    yield report_pass("privacy", said + " of open hours" * bool(rounds.hours))
    if assistant.enabled and assistant.expire_s and assistant.expire_s < rounds.every_s:
        yield note(
            "homeassistant",
            f"expire_s {assistant.expire_s:g} is less than [rounds] every_s {rounds.every_s:g}: "
            "between rounds every result will be unavailable",
        )
    try:
        siting.compute_plane(deployment)
    except OperatorFault as wrong:
        yield note("devices", f"no board with a receiver can be provisioned: {wrong}")
    if deployment.mqtt.insecure:
        yield note(
            "mqtt",
            "insecure = true: whoever is on the network can read, change and forge messages. "
            "heatveil broker init makes what TLS needs",
        )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
