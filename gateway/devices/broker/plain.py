"""The files of passwords and access of a broker without the plugin, changed by one device."""

import secrets as chance
from pathlib import Path

from edge import wire

from . import mosquitto
from .known import stranger
from .written import replace, unreadable

SIGHUP = "mosquitto reads it when it starts, or now on SIGHUP (pkill -HUP mosquitto)"


class Plain:
    """The two files; mosquitto reads them again when it is told to."""

    def __init__(self, site: str, folder: Path) -> None:
        self._site, self._folder = site, folder

    def knows(self, name: str) -> bool:
        """Return whether a device of this name is let in.

        Raises:
            OperatorFault: somebody else is, whom the operator added.
        """
        if name not in mosquitto.names("".join(self._lines(self._folder / "passwords"))):
            return False
        says = f"topic write {wire.topic(self._site, name, 'data')}"
        if any(line.strip() == says for line in self._lines(self._folder / "acl")):
            return True
        raise stranger(name, f"mosquitto_passwd -D and out of {self._folder / 'acl'}")

    def add(self, name: str, password: str) -> str:
        """Let a device in; its access first, for a password without it may do nothing."""
        self.knows(name)
        self._access(name, mosquitto.access_of(self._site, name))
        salt = chance.token_bytes(mosquitto.SALT_BYTES)
        return self._password(name, mosquitto.passwords({name: password}, [salt]))

    rotate = add

    def remove(self, name: str) -> str:
        """Let a device in no more."""
        said = self._password(name, "")
        self._access(name, "")
        return said

    def disable(self, name: str) -> str:
        """Say that this broker shuts nobody out while it runs."""
        return "the broker, without dynamic security, goes on to let it in"

    enable = disable

    def _password(self, name: str, row: str) -> str:
        path = self._folder / "passwords"
        kept = [line for line in self._lines(path) if line.split(":", 1)[0] != name]
        ended = "".join(kept).rstrip("\n") + "\n" if kept else ""
        replace(path, ended + row)
        return f"{path} says so; {SIGHUP}"

    def _access(self, name: str, rules: str) -> None:
        path, kept, ours = self._folder / "acl", list[str](), False
        for line in self._lines(path):
            if line.startswith("user "):
                ours = line.split(maxsplit=1)[1].strip() == name
            if not ours:
                kept.append(line)
        replace(path, "".join(kept).rstrip("\n") + "\n" + rules)

    def _lines(self, path: Path) -> list[str]:
        try:
            return path.read_text("utf-8").splitlines(keepends=True)
        except (OSError, ValueError) as fault:
            raise unreadable(path, fault) from fault
