"""Whom a broker with dynamic security lets in, read from its file or its answers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...faults import OperatorFault
from .dynamic import role_of


def has_role(row: Mapping[str, Any], name: str) -> bool:
    """Return whether a client has the role of the device of this name."""
    return any(one.get("rolename") == role_of(name) for one in row.get("roles", []))


def differ(role: Mapping[str, Any] | None, wanted: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a role lets its clients do something else than is wanted."""

    def said(held: Iterable[Mapping[str, Any]]) -> set[tuple[Any, ...]]:
        return {(one.get("acltype"), one.get("topic"), one.get("allow")) for one in held}

    return role is None or said(role.get("acls", [])) != said(wanted)


def is_device(row: Mapping[str, Any] | None, name: str) -> bool:
    """Return whether a client, if there is one, is a device that we have let in.

    Raises:
        OperatorFault: it is somebody else, whom the operator added.
    """
    if row is None:
        return False
    if has_role(row, name):
        return True
    raise stranger(name, "mosquitto_ctrl dynsec")


def stranger(name: str, off: str) -> OperatorFault:
    """Return the fault of a name that somebody else has; off: what takes it off."""
    return OperatorFault(
        f"the broker lets in somebody named {name} who is no device of ours; two of one name "
        f"could speak for each other. Choose another name, or take that one off with {off}"
    )
