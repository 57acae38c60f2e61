"""The files of a deployment: who may read them, and how long certificates are good."""

import stat
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from ..deployment import Deployment
from ..enrolment import tightened
from ..enrolment.exposed import exposed
from .checking_finding import Finding, fault, note, ok

SOON_DAYS = 30
SECRET_LEAST = 16  # characters of a page's token


def findings(deployment: Deployment, path: Path) -> Iterator[Finding]:
    """Yield what is found of keys, passwords and certificates.

    Args:
        path: the deployment file, beside which others lie.
    """
    yield from _secrets(deployment, path)
    yield from _keyholder(path)
    missing = _missing(deployment)
    if missing and deployment.site.devices.exists():  # else they come after the devices
        named = " and ".join(f"{key} {file}" for key, file in missing.items())
        yield fault(
            "mqtt",
            f"{named}: not there yet, and no broker is spoken to without. Next: heatveil broker "
            f"init --config {path}, or mend the paths under [mqtt]",
        )
    yield from _words(deployment, missing.values())
    yield from _certificates(deployment, missing.values())


def days_left(certificate: bytes) -> float:
    """Return for how many days more a PEM certificate is good; less than none when it is not.

    Raises:
        ValueError: it is none.
    """
    found = x509.load_pem_x509_certificate(certificate)
    return (found.not_valid_after_utc - datetime.now(UTC)).total_seconds() / 86_400


def judged(subject: str, whose: str, days: float) -> Finding:
    """Return what to say of a certificate that is good for so long."""
    if days < 0:
        return fault(
            subject,
            f"{whose} expired {-days:.0f} days ago; nobody trusts the broker with it. Move the "
            "old one away, run heatveil broker init, start the broker again",
        )
    if days < SOON_DAYS:
        return note(
            subject,
            f"{whose} is good for {days:.0f} more days. Move it away, run heatveil broker init, "
            "start the broker again",
        )
    return ok(subject, f"{whose} is good for {days:.0f} more days")


def _secrets(deployment: Deployment, path: Path) -> Iterable[Finding]:
    found = list(exposed(deployment))
    for one in (path.with_name("secrets.json"), path.with_name("keyholder.json")):
        if one.exists() and stat.S_IMODE(one.stat().st_mode) & 0o077:
            found.append(f"{one} may be read by others on this machine. Run: chmod 600 {one}")
    for sentence in found:
        yield note("files", sentence)
    if not found:
        yield ok("files", "nobody else on this machine can read the secrets")
    limits = tightened.beside(deployment.site.devices)
    if deployment.site.devices.exists() and not limits.exists():
        yield note(
            "files",
            f"{limits} is not there: what devices hold themselves to is not known here, and not "
            "held against the deployment. Bring it back from where it was enrolled",
        )


def _keyholder(path: Path) -> Iterable[Finding]:
    if (roots := path.with_name("keyholder.json")).exists():
        yield note(
            "files",
            f"{roots} lies beside the gateway's files; whoever has it can take the noise off. "
            "Move it to its owner",
        )


def _missing(deployment: Deployment) -> dict[str, Path]:
    """Return the files that `heatveil broker init` makes and that are not there, by their keys."""
    broker = deployment.mqtt
    named = {
        "password_file": broker.password_file,
        "ca_file": None if broker.insecure else broker.ca_file,
    }
    return {key: path for key, path in named.items() if path is not None and not path.exists()}


def _words(deployment: Deployment, missing: Collection[Path]) -> Iterable[Finding]:
    """Yield what is wrong with passwords and tokens, but for those that are told as missing."""
    named = [("mqtt", "password_file", deployment.mqtt.password_file)]
    named += [("page", "token_file", deployment.page.token_file)]
    named += [("store", "password_file", deployment.store.password_file)]
    for table, key, path in named:
        if path is None or (table == "mqtt" and path in missing):
            continue
        try:
            word = path.read_text("utf-8").strip()
        except (OSError, ValueError) as wrong:
            why = getattr(wrong, "strerror", None) or str(wrong)
            way = "Run heatveil broker init, or mend" if table == "mqtt" else "Mend"
            yield fault(table, f"{key} {path} cannot be read ({why}). {way} the path or the file")
            continue
        if not word or (table == "page" and len(word) < SECRET_LEAST):
            yield fault(
                table,
                f"{key} {path} holds {len(word)} characters; a page's token needs {SECRET_LEAST} "
                "or more, and any password one. Run: openssl rand -hex 32 > FILE",
            )


def _certificates(deployment: Deployment, missing: Collection[Path]) -> Iterable[Finding]:
    """Yield how long the authority and, where it lies beside it, the broker's own are good."""
    authority = deployment.mqtt.ca_file
    if deployment.mqtt.insecure or authority is None or authority in missing:
        return
    for whose, path in (
        ("the authority's certificate", authority),
        ("the broker's certificate", authority.with_name("server.pem")),
    ):
        if path != authority and not path.exists():
            continue
        try:
            yield judged("mqtt", f"{whose} {path}", days_left(path.read_bytes()))
        except (OSError, ValueError) as wrong:
            why = getattr(wrong, "strerror", None) or str(wrong)
            yield fault(
                "mqtt",
                f"{whose} {path} cannot be read ({why}); without it no broker is trusted. Run "
                "heatveil broker init, or mend ca_file under [mqtt]",
            )
