"""The files of a deployment: who may read them, whether they agree, how long certificates last."""

import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cryptography import x509

from ..devices.broker import dynamic
from ..devices.broker.certificates import list_names, make_general_name
from ..devices.broker.doors import find_broker_folder
from ..devices.broker.dynamic import has_other_rights, has_role
from ..devices.broker.mosquitto import list_device_rights, listens_here_alone
from ..devices.enrol import enrol, limitsfile
from ..devices.enrol.check import describe_untold, find_exposed_secrets
from ..devices.enrol.enrol import UNFINISHED, Devices, Secrets
from ..faults import OperatorFault
from ..loopback import is_loopback
from ..output import format_days
from ..service.mqtt.access import find_missing_files
from ..settings.deployment import Deployment, Mqtt


class Finding(NamedTuple):
    """One thing that `heatveil check` looked at."""

    grade: str  # "ok", "note" or "FAULT"
    subject: str
    sentence: str


def make_pass(subject: str, sentence: str) -> Finding:
    """Return what is as it should be."""
    return Finding("ok", subject, sentence)


def make_note(subject: str, sentence: str) -> Finding:
    """Return what may be meant, or may not."""
    return Finding("note", subject, sentence)


def make_fault(subject: str, sentence: str | Exception) -> Finding:
    """Return what will not work."""
    return Finding("FAULT", subject, " ".join(str(sentence).split()))


# Whether the broker, the devices' half of the keys and the gateway's file say the same.
#
# A change of one device touches all of them, one after the other, so a kill in between leaves them
# apart; so does a file that was brought back alone. Every finding says which command mends it.


def check_keys(deployment: Deployment, path: Path, devices: Devices) -> Iterator[Finding]:
    """Yield what does not agree, and one line where everything does.

    Args:
        path: the deployment file, beside which others lie.
    """
    found = [*_begin(path), *_list_unsent(deployment, devices)]
    secrets = _load_device_secrets(path, deployment.site.name)
    if secrets is not None:
        found += _judge_virtual_devices(secrets, devices)
    file = find_broker_folder(deployment.mqtt, path) / dynamic.FILE
    here = deployment.mqtt.username is not None and file.exists()
    if here:
        found += _at_broker(file, deployment.site.name, devices, secrets)
    yield from found
    if not found:
        files = "the broker's files and " * here
        yield make_pass("devices", f"{files}the devices' keys here fit them")


def _begin(path: Path) -> Iterator[Finding]:
    for file in sorted(path.parent.glob(f"*.device.json{UNFINISHED}")):
        name = file.name.removesuffix(f".device.json{UNFINISHED}")
        yield make_fault(
            "devices",
            f"a change of {name} broke off: {file} is there. Run the same `heatveil device` "
            f"command again, or heatveil device remove {name}",
        )


def _list_unsent(deployment: Deployment, devices: Devices) -> Iterator[Finding]:
    try:
        known = limitsfile.load_limits(deployment.site.devices, devices)
    except OperatorFault:
        return  # which is told where they are held against the deployment
    if unsent := [name for name, given in known.items() if given.unsent]:
        yield make_fault(
            "devices",
            f"heatveil tighten broke off: the new limits of {len(unsent)} devices, such as "
            f"{unsent[0]}, are recorded, and the broker may not have them. Run it again, with the "
            "deployment file as it was then: they cannot be taken back",
        )
    elif untold := describe_untold(deployment, devices):
        yield make_note("devices", untold)


def _load_device_secrets(path: Path, site: str) -> Secrets | None:
    try:
        return enrol.load_secrets(path.with_name("secrets.json"), site)
    except OperatorFault:
        return None  # a site of boards alone, or one whose fleet runs elsewhere


def _judge_virtual_devices(secrets: Secrets, devices: Devices) -> Iterator[Finding]:
    for who, _ in secrets.devices:
        device = devices.by_name.get(who.name)
        if device is None:
            yield make_fault(
                "devices",
                f"secrets.json has keys of {who.name}, which is no device of ours: it was being "
                f"added or removed. Run heatveil device remove {who.name}",
            )
        elif device.key_id != who.key_id:
            yield make_fault(
                "devices",
                f"{who.name} has other keys in secrets.json than here, so nothing that it says "
                f"counts. Run heatveil device rotate {who.name} --keys",
            )


def _at_broker(
    file: Path, site: str, devices: Devices, secrets: Secrets | None
) -> Iterator[Finding]:
    """Yield what the broker's file lets in otherwise."""
    words = {who.name: key.hex() for who, key in secrets.devices} if secrets else {}
    try:
        yield from _compare_with_plugin(
            dynamic.parse_plugin_file(file.read_text("utf-8")), site, devices, words
        )
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        why = getattr(wrong, "strerror", None) or str(wrong)
        yield make_note("devices", f"whom the broker lets in cannot be seen ({file}: {why})")


def _compare_with_plugin(
    body: Mapping[str, list[dict[str, str]]],
    site: str,
    devices: Devices,
    words: Mapping[str, str],
) -> Iterator[Finding]:
    rows = {row["username"]: row for row in body["clients"]}
    roles = {row["rolename"]: row for row in body["roles"]}
    yield from _compare(
        {
            name: name not in words or dynamic.accepts_password(row, words[name])
            for name, row in rows.items()
            if has_role(row, name) or name in devices.by_name
        },
        devices,
    )
    for name in rows.keys() & devices.by_name.keys():
        wanted = dynamic.make_acls(list_device_rights(site, name))
        if has_other_rights(roles.get(dynamic.make_role_name(name)), wanted):
            yield make_fault(
                "devices",
                f"the broker has other rights for {name} than a device needs: it could not be "
                f"heard, or write what is not its own. Run heatveil device rotate {name}",
            )


def _compare(known: Mapping[str, bool], devices: Devices) -> Iterator[Finding]:
    """Yield devices that the broker knows and we do not, or we and not it, or by another word."""
    for name in sorted(known.keys() - devices.by_name.keys()):
        yield make_fault(
            "devices",
            f"the broker lets in {name}, which is no device of ours: it was being added or "
            f"removed. Run heatveil device remove {name}",
        )
    for name in sorted(devices.by_name.keys() - known.keys()):
        yield make_fault(
            "devices",
            f"the broker does not let in {name}: it was being removed, or an older file of the "
            f"broker's was brought back. Run heatveil device remove {name}, or rotate",
        )
    for name in sorted(name for name, fits in known.items() if not fits):
        if name in devices.by_name:
            yield make_fault(
                "devices",
                f"the broker has another password for {name} than secrets.json: a change of it "
                f"broke off. Run heatveil device rotate {name}, and start the fleet again",
            )


# The files of a deployment: who may read them, and how long certificates are good.

SOON_DAYS = 30
SECRET_LEAST = 16  # characters of a page's token


def check_files(deployment: Deployment, path: Path) -> Iterator[Finding]:
    """Yield what is found of keys, passwords and certificates; path: the deployment file."""
    yield from _judge_secret_files(deployment, path)
    missing = find_missing_files(deployment.mqtt)
    if missing and deployment.site.devices.exists():  # else they come after the devices
        named = " and ".join(f"{key} {file}" for key, file in missing.items())
        yield make_fault(
            "mqtt",
            f"{named}: not there yet, and no broker is spoken to without. Next: heatveil broker "
            f"init --config {path}, or mend the paths under [mqtt]",
        )
    yield from _judge_broker_site(deployment)
    yield from _judge_passwords_and_page(deployment, missing.values())
    yield from _judge_certificates(deployment, missing.values())
    yield from _judge_broker_host(deployment.mqtt, path)


def count_days_left(certificate: bytes) -> float:
    """Return for how many days more a PEM certificate is good; less than none when it is not.

    Raises:
        ValueError: it is none.
    """
    found = x509.load_pem_x509_certificate(certificate)
    return (found.not_valid_after_utc - datetime.now(UTC)).total_seconds() / 86_400


def judge_certificate(subject: str, whose: str, days: float) -> Finding:
    """Return what to say of a certificate that is good for so long."""
    if days < 0:
        return make_fault(
            subject,
            f"{whose} expired {format_days(round(-days))} ago; nobody trusts the broker with it. "
            "Move the old one away, run heatveil broker init, start the broker again",
        )
    if days < SOON_DAYS:
        return make_note(
            subject,
            f"{whose} is good for {format_days(round(days))} more. Move it away, run heatveil "
            "broker init, start the broker again",
        )
    return make_pass(subject, f"{whose} is good for {format_days(round(days))} more")


def _judge_secret_files(deployment: Deployment, path: Path) -> Iterable[Finding]:
    found = list(find_exposed_secrets(deployment))
    for one in (path.with_name("secrets.json"), path.with_name("keyholder.json")):
        if one.exists() and stat.S_IMODE(one.stat().st_mode) & 0o077:
            found.append(f"{one} may be read by others on this machine. Run: chmod 600 {one}")
    for sentence in found:
        yield make_note("files", sentence)
    if not found:
        yield make_pass("files", "nobody else on this machine can read the secrets")
    limits = limitsfile.locate_limits(deployment.site.devices)
    if deployment.site.devices.exists() and not limits.exists():
        yield make_note(
            "files",
            f"{limits} is not there: what devices hold themselves to is not known here, and not "
            "held against the deployment. Bring it back from where it was enrolled",
        )
    if (roots := path.with_name("keyholder.json")).exists():
        yield make_note(
            "files",
            f"{roots} lies beside the gateway's files; whoever has it can take the noise off. "
            "Move it to its owner",
        )


_SITES = re.compile(r'heatveil/1/([^/#"]+)/')  # those that rights name; `+` is any of them


def _judge_broker_site(deployment: Deployment) -> Iterable[Finding]:
    """Yield a fault where the broker's rights beside our password name other sites alone.

    A file that somebody wrote by hand may name all sites by a wildcard, or none.
    """
    word, site = deployment.mqtt.password_file, deployment.site.name
    rights = None if word is None else word.with_name(dynamic.FILE)
    try:
        named = set(_SITES.findall("" if rights is None else rights.read_text("utf-8")))
        if rights is not None and named and not named & {site, "+"}:
            yield make_fault(
                "mqtt",
                f"password_file {word} lies beside {rights.name} of a broker for another site: "
                f"nothing of {site} would pass it. Name this site's own, which heatveil broker "
                "init wrote beside the deployment file, and its port",
            )
    except (OSError, ValueError):
        return  # no broker of ours, or on another machine


def _judge_passwords_and_page(
    deployment: Deployment, missing: Collection[Path]
) -> Iterable[Finding]:
    """Yield what is wrong with passwords and tokens, but for those that are told as missing."""
    page = deployment.page
    named = (
        ("mqtt", "password_file", deployment.mqtt.password_file),
        ("page", "token_file", page.token_file),
        ("page", "viewer_token_file", page.viewer_token_file),
        ("store", "password_file", deployment.store.password_file),
    )
    tokens = []
    for table, key, path in named:
        if path is None or (table == "mqtt" and path in missing):
            continue
        try:
            word = path.read_text("utf-8").strip()
        except (OSError, ValueError) as wrong:
            why = getattr(wrong, "strerror", None) or str(wrong)
            way = "Run heatveil broker init, or mend" if table == "mqtt" else "Mend"
            yield make_fault(
                table, f"{key} {path} cannot be read ({why}). {way} the path or the file"
            )
            continue
        tokens += [word] * (table == "page")
        if not word or (table == "page" and len(word) < SECRET_LEAST):
            yield make_fault(
                table,
                f"{key} {path} holds {len(word)} characters; a page's token needs {SECRET_LEAST} "
                "or more, and any password one. Run: openssl rand -hex 32 > FILE",
            )
    if page.picture is None and not page.floor and len(tokens) < 2:
        return
    from ..web import access  # with all of the page
    from ..web.app import read_picture
    from ..web.floor import read_floor

    checks: list[Callable[[], object]] = [
        partial(read_picture, page.picture),
        partial(read_floor, deployment),
    ]
    if len(tokens) == 2:
        checks.append(partial(access.check_tokens_differ, *tokens))
    for check in checks:
        try:
            check()
        except OperatorFault as wrong:
            yield make_fault("page", str(wrong))


def _judge_certificates(deployment: Deployment, missing: Collection[Path]) -> Iterable[Finding]:
    """Yield how long the authority and, where it lies beside it, the broker's own are good."""
    authority = deployment.mqtt.ca_file
    if authority is None or authority in missing:
        return
    for whose, path in (
        ("the authority's certificate", authority),
        ("the broker's certificate", authority.with_name("server.pem")),
    ):
        if path != authority and not path.exists():
            continue
        try:
            yield judge_certificate("mqtt", f"{whose} {path}", count_days_left(path.read_bytes()))
        except (OSError, ValueError) as wrong:
            why = getattr(wrong, "strerror", None) or str(wrong)
            yield make_fault(
                "mqtt",
                f"{whose} {path} cannot be read ({why}); without it no broker is trusted. Run "
                "heatveil broker init, or mend ca_file under [mqtt]",
            )


def _judge_broker_host(broker: Mqtt, path: Path) -> Iterable[Finding]:
    """Yield a fault where the broker's files beside ours are for another host than `[mqtt]` names.

    The broker of a name may be another machine's; then its files are not here.
    """
    if broker.ca_file is None or broker.insecure:
        return
    again = f"Run heatveil broker init --config {path}, and start the broker again"
    with suppress(OSError, ValueError, OperatorFault, x509.ExtensionNotFound):  # told elsewhere
        shown = broker.ca_file.with_name("server.pem")
        names = list_names(x509.load_pem_x509_certificate(shown.read_bytes()))
        wildcard = f"*.{broker.host.partition('.')[2]}"
        if not {str(make_general_name(broker.host).value), wildcard} & {*names}:
            yield make_fault(
                "mqtt",
                f"host is {broker.host}, but the broker's certificate {shown} is for "
                f"{', '.join(names)}; whoever connects to that host would not trust it. {again}",
            )
    with suppress(OSError, ValueError):
        rules = broker.ca_file.with_name("mosquitto.conf")
        if listens_here_alone(rules.read_text("utf-8")) and not is_loopback(broker.host):
            yield make_fault(
                "mqtt",
                f"host is {broker.host}, but the broker of {rules} listens to this machine alone; "
                f"no board would reach it. {again}",
            )
