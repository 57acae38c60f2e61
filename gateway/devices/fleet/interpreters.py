"""What each device of `heatveil fleet --vm` is told by the process that starts it."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from ...faults import OperatorFault
from ...mqtt import access
from ...operating import Mqtt
from .handover import FLASH_BYTES, spill_of, to_spill
from .machine import Asked


class Asking(NamedTuple):
    """What the devices of one fleet are told alike; follower is (num, den, answers) or None."""

    broker: Mqtt
    folder: Path
    passwords: dict[str, str]
    follower: tuple[int, int, int] | None


def asked(fleet: Any, asking: Asking) -> dict[str, Asked]:
    """Return what each device is told, by its name; frames that were left are theirs by then.

    Raises:
        OperatorFault: TLS is wanted and no authority is named.
    """
    broker = asking.broker
    authority = _authority(broker)
    found = {}
    for name in fleet.names:
        member = fleet.member(name)
        who = member.identity
        to_spill(asking.folder, name, who.key_id)
        own = access.as_device(broker, name, asking.passwords[name])
        told = {
            "who": [word.hex() if isinstance(word, bytes) else word for word in who],
            "folder": str(asking.folder),
            "frames": spill_of(asking.folder, name, who.key_id),
            "room": FLASH_BYTES,
            "host": broker.host,
            "port": broker.port,
            "ca": authority,
            "client_id": access.client_id(own, f"heatveil-{who.site}-{name}"),
            "user": own.username,
            "password": access.password(own),
            "step": member.step,
            "tables": member.tables,
            "mechanism": getattr(member, "mechanism", "thermal"),
            "follower": asking.follower,
        }
        found[name] = Asked(json.dumps(told).encode(), _reader(fleet, name))
    return found


def _reader(fleet: Any, name: str) -> Callable[[int], Any]:
    return lambda exponent: fleet.read(name, SimpleNamespace(exponent=exponent))


def _authority(broker: Mqtt) -> str:
    if broker.insecure:
        return ""
    if broker.ca_file is None:
        raise OperatorFault(
            "--vm with TLS but [mqtt] names no ca_file; an interpreter knows no authorities of "
            "this machine, and a broker must be verified. Name the file"
        )
    try:
        return broker.ca_file.read_text("utf-8")
    except (OSError, ValueError) as fault:
        raise OperatorFault(
            f"ca_file {broker.ca_file} under [mqtt] cannot be read ({fault}); without it no "
            "broker is trusted. Mend the path or the file"
        ) from fault
