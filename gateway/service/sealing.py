"""The key of a round of central trust: made when the round opens, destroyed when it is released.

It lies in a file of its own, for its owner alone, and never in the store or beside it: so neither
the database nor a copy of it opens a report, and once the file is gone nothing does. In /run, the
usual place, it outlives a kill of the gateway; a power cut takes it, and the round is given up. On
a disk it outlives both, and what it held may be found on the medium for a while.

    make     a new key pair; the public key goes into the Round
    unseal   what devices reported, in memory alone
    destroy  after the release is stored, and before anything of it is published

The gateway is trusted with what it unseals here. Its payloads go to the mechanism's `release` and
nowhere else: no log, no row, no solver.
"""

import hashlib
import os
import resource
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from edge.core import wire
from edge.mechanisms import central

from ..devices.enrol.enrol import Device, Devices
from ..faults import OperatorFault
from ..settings.deployment import Deployment
from ..store.places import Database, find_place
from .intake.outcomes import DeadLetter
from .rounds import OpenRound

KEY_BYTES = wire.KEY_BYTES
PRIVATE = 0o600


def check_key_folder(deployment: Deployment) -> None:
    """Check that the key of a round can be kept where the deployment says; nothing is made.

    Raises:
        OperatorFault: it cannot be written there, or would lie with the store.
    """
    folder, place = deployment.store.round_keys, find_place(deployment)
    if isinstance(place, Path) and _is_nested(folder, place.parent):
        raise OperatorFault(
            f"round_keys under [store] is {folder} and the database is {place}, one inside the "
            "other's folder; a backup of that folder would hold both the sealed reports and the "
            "key that opens them. Set round_keys to a folder under /run"
        )
    there = next(one for one in (folder, *folder.absolute().parents) if os.path.exists(one))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise OperatorFault(
            f"round_keys under [store] is {folder}, which is not writable; the key that opens "
            "the reports of an open round is kept there. Make the folder, for this user alone, "
            "or name another, best one under /run, which a power cut erases"
        )


class RoundKey:
    """The private key of the one round of a site that is open, in a file of its own.

    Where two gateways of one host take each other for gone, neither touches the other's key.
    """

    def __init__(self, deployment: Deployment) -> None:
        """Find the file, and let no crash from now on write a core file of what is unsealed.

        A program that core dumps are piped to gets the memory all the same.

        Raises:
            OperatorFault: it cannot be kept there, or would lie with the store.
        """
        check_key_folder(deployment)
        # A watchdog ends a gateway that hangs with a signal that dumps its memory.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        deployment.store.round_keys.mkdir(0o700, parents=True, exist_ok=True)
        self._site, self._deployment = deployment.site.name, deployment

    def make_key_pair(self) -> bytes:
        """Return the public key of a new pair, whose private key is on the disk."""
        private = X25519PrivateKey.generate()
        public = private.public_key().public_bytes_raw()
        path = self._deployment.store.round_keys / _name(self._deployment, f".{public.hex()[:16]}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(os.open(path, flags, PRIVATE), "wb") as file:
            file.write(private.private_bytes_raw())
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(path)
        return public

    def has_key_of(self, round: Any) -> bool:
        """Return whether the key of a Round is here."""
        return self._find(round) is not None

    def find_key_file(self, round: Any) -> Path | None:
        """Return the file of a Round's key, or None where it is not here."""
        found = self._find(round)
        return found[0] if found else None

    def destroy_key(self, round: Any) -> None:
        """Overwrite the key of a Round and remove it."""
        if path := self.find_key_file(round):
            destroy_key_file(path)

    def unseal_reports(
        self, closed: OpenRound, devices: Devices
    ) -> tuple[OpenRound, list[DeadLetter]]:
        """Return a closed round with what its reports hold, and those that do not open."""
        held, found, letters = self._find(closed.plan), {}, []
        for sender, report in closed.reports.items():
            device = devices.by_name.get(sender)
            payload = None
            if held is not None and device is not None:
                payload = open_sealed_report(held[1], closed.plan, report, device, self._site)
            own = closed.places[sender].sensor
            if payload is None or (payload and (payload[0] != own or closed.wrong(payload))):
                why = (
                    f"what {sender} reported to round {closed.plan.number} does not open with the "
                    "round's key and the device's, or is another device's: it is left out"
                )
                topic = wire.topic(self._site, sender, "data")
                letters.append(DeadLetter(topic, why, report.payload, "sealed"))
            else:
                found[sender] = report._replace(payload=payload)
        return replace(closed, reports=found), letters

    def _find(self, round: Any) -> tuple[Path, X25519PrivateKey] | None:
        """Return the file of a Round's key, and the key."""
        for path in list_key_files(self._deployment):
            try:
                with path.open("rb") as file:
                    mode, held = os.fstat(file.fileno()).st_mode, file.read()
            except FileNotFoundError:
                continue
            if mode & 0o077:
                raise OperatorFault(
                    f"other users can read the round key {path}, and open with it what devices "
                    "reported to the open round. Remove the file: that round is then abandoned, "
                    "and another is asked"
                )
            if len(held) == KEY_BYTES:
                private = X25519PrivateKey.from_private_bytes(held)
                if private.public_key().public_bytes_raw() == round.key:
                    return path, private
        return None


def list_key_files(deployment: Deployment) -> list[Path]:
    """Return the files of keys of a site's rounds: no other store's gateway has any there."""
    return sorted(deployment.store.round_keys.glob(_name(deployment, "*")))


def _name(deployment: Deployment, own: str) -> str:
    """Return what the file of a key is called, with what tells it from others of the store."""
    place = find_place(deployment)
    words = place.words if isinstance(place, Database) else str(place.absolute())
    mark = hashlib.sha256(words.encode()).hexdigest()[:16]
    return f"{deployment.site.name}.{mark}{own}.roundkey"


def destroy_key_file(path: Path) -> None:
    """Overwrite a key and remove it, where there is one."""
    with suppress(FileNotFoundError, NotADirectoryError):
        with path.open("r+b") as file:
            file.write(bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
        _sync_folder(path)


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def open_sealed_report(
    private: X25519PrivateKey, plan: Any, report: Any, device: Device, site: str
) -> list[int] | None:
    """Return the payload in a sealed report, [] where its device had nothing to report, or None.

    Source: RFC 9180, Section 5.1; the key schedule is the device's own, `edge.mechanisms.central`.
    """
    sealed: bytes = report.payload
    info, aad = central.bind_report(plan, site, device.name, report.epoch, report.seq)
    enc = sealed[: central.ENC]
    try:
        shared = private.exchange(X25519PublicKey.from_public_bytes(enc))
        secrets = device.seal_key, device.key_id, info
        key, nonce = central.derive_key_nonce(shared, enc, plan.key, *secrets)
        plain = ChaCha20Poly1305(key).decrypt(nonce, sealed[central.ENC :], aad)
    except (InvalidTag, ValueError):  # ValueError: a public key of low order, or none
        return None
    return central.unpack(plain)


def count_sealed_bytes(plan: Any) -> int:
    """Return how long a sealed report to a Round is; 0 where it has no key, and they are open."""
    if not hasattr(plan, "key"):
        return 0
    return int(central.count_sealed_bytes(central.module_of(plan.mechanism).count_numbers(plan)))


def _is_nested(folder: Path, other: Path) -> bool:
    one, two = folder.resolve(), other.resolve()
    return one.is_relative_to(two) or two.is_relative_to(one)
