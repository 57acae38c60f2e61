"""Releases over the air: signed with a key that the owner alone has, and brought to the broker.

The owner's file holds the root of all update keys, which device was given one, and the number of
the newest release. It is made when the first board is provisioned with it. Who has it can put a
program on the boards, one without noise too: so no service reads it, and what it signs can be
carried to the broker by somebody who does not have it.

A number is on the disk before anything is signed with it, so that it never names two releases.
"""

import base64
import json
import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from edge.board.update import topic
from edge.core import wire
from edge.host.updates import address_blocks, cut_blocks, pack_manifest, update_key

from ...faults import LinkFault, OperatorFault, suggest_name
from ...output import make_json_writer, write_all
from ...service.mqtt.connection import Message
from ...service.mqtt.pump import Pump
from ...service.mqtt.service import Link
from ...settings.deployment import Mqtt
from ..enrol import keyfile
from .tighten import SENT_S, escape_text

HOLDS = "owner's key of releases"
RELEASE = "a signed release"
AGAIN = "Sign one: heatveil update --config FILE --updates FILE --out FILE"


class OwnerFile(NamedTuple):
    """What the owner's file holds. devices: the key id of each that takes releases, by name."""

    site: str
    root: bytes
    newest: int
    devices: Mapping[str, bytes]


class SignedRelease(NamedTuple):
    """A release as it goes to the broker: nothing in it is secret."""

    site: str
    number: int
    blocks: Sequence[bytes]
    manifests: Mapping[str, bytes]  # by the names of devices


def load_owner_file(path: Path, site: str) -> OwnerFile:
    """Return what an owner's file holds.

    Raises:
        OperatorFault: it cannot be read, or is another site's.
    """
    if not path.exists():
        raise OperatorFault(
            f"the owner's file {path} is not there, and boards believe what it signs alone. Name "
            f"the right one; heatveil provision NAME --config FILE --updates {path} makes it, by "
            "cable, and brings its key to each board that is to take releases"
        )
    mend = (
        "boards believe what their owner signs alone. Name the owner's file, or a backup of it; "
        "under a new one every board needs the cable again"
    )
    body, rows = keyfile.read_key_file(path, HOLDS, site, _read_row, mend)
    newest = int.from_bytes(keyfile.parse_key(body, "newest", 4), "big")
    return OwnerFile(site, keyfile.parse_key(body, "root"), newest, dict(rows))


def _read_row(_: keyfile.Row, row: keyfile.Row) -> tuple[str, bytes]:
    return str(row["name"]), keyfile.parse_key(row, "key_id", 4)


def _save(path: Path, owner: OwnerFile) -> None:
    rows = [{"name": name, "key_id": key_id} for name, key_id in owner.devices.items()]
    newest = owner.newest.to_bytes(4, "big")
    keyfile.write_key_file(path, HOLDS, owner.site, rows, root=owner.root, newest=newest)


def admit_board(
    path: Path, who: Any, there: Mapping[str, Any], fresh: Callable[[int], bytes] = os.urandom
) -> dict[str, str | int]:
    """Return what a board is told so that it takes its owner's releases; the file is made.

    A file that was put back from a copy goes on behind the newest release that the board had.

    Args:
        who: the device's Identity.
        there: what the board was told before, by `read_update_settings`; {} for nothing.

    Raises:
        OperatorFault: the file cannot be read or written.
    """
    new = OwnerFile(who.site, b"", 0, {})
    owner = load_owner_file(path, who.site) if path.exists() else new
    owner = owner._replace(
        root=owner.root or fresh(keyfile.KEY_BYTES),
        devices={**owner.devices, who.name: who.key_id},
    )
    key = update_key(owner.root, who.site, who.name, who.key_id)
    if there.get("update_key") == key.hex():
        owner = owner._replace(newest=max(owner.newest, int(there["release"])))
    _save(path, owner)
    return {"update_key": key.hex(), "release": owner.newest}


def sign_release(
    path: Path, site: str, files: Mapping[str, bytes], mpy: int, names: Iterable[str] = ()
) -> SignedRelease:
    """Return a release of these files for devices of the owner's, all of them where none is named.

    Args:
        mpy: the version of .mpy among the files, 0 where they are sources.

    Raises:
        OperatorFault: a device was given no key by this owner.
    """
    owner = load_owner_file(path, site)
    for name in names:
        if name not in owner.devices:
            raise OperatorFault(
                f"{name} was not provisioned with {path}, and believes nobody's releases; "
                f"{suggest_name(name, owner.devices)}, or bring it the key by cable: heatveil "
                f"provision {name} --updates {path}"
            )
    chosen = list(dict.fromkeys(names)) or list(owner.devices)
    if not chosen:
        raise OperatorFault(
            f"{path} was given to no board yet, so none would take a release. Provision one with "
            "it: heatveil provision NAME --updates"
        )
    owner = owner._replace(newest=owner.newest + 1)
    _save(path, owner)
    manifests = {}
    for name in chosen:
        key = update_key(owner.root, site, name, owner.devices[name])
        manifests[name] = bytes(pack_manifest(owner.newest, files, mpy, key, site, name))
    return SignedRelease(site, owner.newest, cut_blocks(files), manifests)


def save_release(path: Path, signed: SignedRelease) -> None:
    """Write a signed release, for whoever brings it to the broker."""

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    manifests = {name: text(manifest) for name, manifest in signed.manifests.items()}
    body = {"holds": RELEASE, "site": signed.site, "number": signed.number}
    body |= {"blocks": [text(block) for block in signed.blocks], "manifests": manifests}
    write_all({path: make_json_writer({**body, "check": _compute_digest(body)})})


def _compute_digest(body: Mapping[str, Any]) -> str:
    """Return what shows that a file of a release was damaged; the boards trust the MACs alone."""
    rest = {name: item for name, item in body.items() if name != "check"}
    return sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def load_release(path: Path, site: str, devices: Collection[str]) -> SignedRelease:
    """Return a signed release. Nothing of the file is believed that could name a topic.

    Args:
        devices: names of those that are enrolled.

    Raises:
        OperatorFault: it is none, damaged, another site's, or for somebody who is no device.
    """
    try:
        body = json.loads(path.read_text("utf-8"))
        if body["holds"] != RELEASE:
            raise OperatorFault(
                f"{path} holds {body['holds']!r} and must hold {RELEASE!r}; the owner's file "
                f"stays with its owner, and what it signed is sent. {AGAIN}"
            )
        if body["check"] != _compute_digest(body):
            raise OperatorFault(
                f"{path} was damaged on its way; devices would refuse it, and it would take the "
                "place of a good one at the broker. Nothing was sent. Carry it here again"
            )
        blocks = [base64.b64decode(block) for block in body["blocks"]]
        manifests = {str(name): base64.b64decode(data) for name, data in body["manifests"].items()}
        found = SignedRelease(body["site"], int(body["number"]), blocks, manifests)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        lost = isinstance(fault, FileNotFoundError)
        why = "is not there" if lost else f"is no signed release ({type(fault).__name__})"
        raise OperatorFault(
            f"{path} {why}; devices accept only what the owner signed, so nothing was sent. "
            f"{AGAIN}"
        ) from fault
    if found.site != site:
        raise OperatorFault(
            f"{path} is a release of site {found.site} and the deployment is {site}; its devices "
            "would refuse it. Name the other file"
        )
    if others := sorted(set(found.manifests) - set(devices)):
        raise OperatorFault(
            f"{path} is for {others[0]!r} too, which is no device of this deployment; nothing is "
            "sent to anybody else. Sign it again, for those that are: heatveil update --config "
            "FILE --updates FILE --out FILE, with --device"
        )
    return found


def select_devices(signed: SignedRelease, names: Collection[str]) -> SignedRelease:
    """Return a release for these of its devices alone; for all of them where none is named.

    Raises:
        OperatorFault: it was not signed for one of them.
    """
    for name in names:
        if name not in signed.manifests:
            raise OperatorFault(
                f"release {signed.number} was not signed for {name}, which would refuse it. Sign "
                f"one with --device {name}, or name another: "
                f"{suggest_name(name, signed.manifests)}"
            )
    chosen = names or signed.manifests
    return signed._replace(manifests={name: signed.manifests[name] for name in chosen})


class ReleaseProgress:
    """What devices say of a release; filled on the pump's thread. Nothing of it is proved."""

    def __init__(self, signed: SignedRelease) -> None:
        self._signed = signed
        self._changed = threading.Condition()
        self.coming: set[str] = set()  # they took the manifest
        self.running: set[str] = set()  # it is confirmed there
        self.refused: dict[str, str] = {}
        self.last_words: dict[
            str, str
        ] = {}  # of each: what became of the last one that came to it
        self.beyond: dict[str, int] = {}  # releases that are newer than this one, where they run
        self._trying: set[str] = set()  # another release first, and refuse this one meanwhile

    def take_message(self, link: Link, message: Message) -> None:
        """Take what a device says of the release that was sent."""
        link.acknowledge(message)
        _, name, leaf = message.topic.rsplit("/", 2)
        if name not in self._signed.manifests:
            return
        try:
            said = json.loads(message.payload)
            with self._changed:
                self._take_ack(name, said) if leaf == "ack" else self._take_meta(name, said)
                self._changed.notify_all()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return

    def _take_ack(self, name: str, said: Any) -> None:
        if said["verb"] != "update" or said["version"] != self._signed.number:
            return
        if said["taken"] is True:
            self.coming.add(name)
            self.refused.pop(name, None)
        else:
            self.refused[name] = escape_text(str(said["why"]))

    def _take_meta(self, name: str, said: Any) -> None:
        (self._trying.add if said["trial"] is True else self._trying.discard)(name)
        self.last_words[name] = escape_text(str(said.get("update") or ""))
        if said["release"] > self._signed.number:
            self.beyond[name] = said["release"]
        if said["release"] == self._signed.number and said["trial"] is False:
            self.running.add(name)
            self.refused.pop(name, None)

    def wait_for_all(self, patience_s: float) -> bool:
        """Say whether every device runs the release or refused it, before patience ended."""

        def ended() -> bool:
            gone = self.running | (set(self.refused) - self._trying)
            return len(gone) == len(self._signed.manifests)

        with self._changed:
            return self._changed.wait_for(ended, patience_s)


def send_release(broker: Mqtt, signed: SignedRelease, patience_s: float) -> ReleaseProgress:
    """Retain a release at the broker, its blocks first; return what became of it meanwhile.

    What a device confirmed is taken back from the broker, or it would be refused at each start.

    Raises:
        LinkFault: the broker does not answer, will not have us, or did not take all of it.
        OperatorFault: a device says that it runs a newer one; none is told of this one then.
    """
    seen = ReleaseProgress(signed)
    with Pump("update") as pump:
        link = Link(
            broker,
            f"heatveil-{signed.site}-update",
            pump,
            subscribe=[wire.topic(signed.site, "+", leaf) for leaf in ("ack", "meta")],
            on_message=seen.take_message,
            lasting=False,
        ).wait_connected()
        try:
            blocks = address_blocks(signed.site, signed.blocks)
            _retain(broker, link, blocks)
            for name, number in sorted(seen.beyond.items()):
                raise OperatorFault(
                    f"{name} says that it runs release {number} and this one is {signed.number}; "
                    "signed from an old copy of the owner's file it would be a second release of "
                    "its number. Take the newest copy, or provision that board with it by cable; "
                    "where the device is not to be believed, name the others with --device"
                )
            manifests = {topic(signed.site, name): one for name, one in signed.manifests.items()}
            _retain(broker, link, manifests)
            seen.wait_for_all(patience_s)
            for name in sorted(seen.running):
                link.publish(topic(signed.site, name), b"", retain=True)
            link.wait_until_sent(SENT_S)
        finally:
            link.close()
    return seen


def _retain(broker: Mqtt, link: Link, messages: Mapping[str, bytes]) -> None:
    """Retain messages at the broker, by their topics.

    Raises:
        LinkFault: it did not take them all.
    """
    taken: list[str] = []
    for where, message in messages.items():
        link.publish(where, message, retain=True, on_sent=partial(taken.append, where))
    link.wait_until_sent(SENT_S + len(messages) / 10)
    if len(taken) < len(messages):
        raise LinkFault(
            f"the broker at {broker.host}:{broker.port} took {len(taken)} of {len(messages)} "
            "messages of the release; a device that has a part waits for the rest. See that it "
            "runs, and that its rights let this user publish them (heatveil broker init), and "
            "send it again"
        )
