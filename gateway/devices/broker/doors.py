"""Lets devices in at a broker of one's own, and no longer: while it runs, or in its files.

While mosquitto runs with dynamic security, it is asked and writes its file itself; while nothing
listens there, the file is ours to write. Never both. Files of passwords and access are written
at any time, and read by mosquitto when it starts or gets SIGHUP.
"""

import os
import secrets as chance
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from edge import wire

from ...faults import LinkFault
from ...mqtt import access
from ...mqtt.pump import Pump
from ...mqtt.service import Link
from ...operating import Mqtt
from . import control, dynamic
from .control import Control, Silence
from .known import is_device
from .plain import Plain
from .resting import Resting

CLEARED_S = 3.0  # for the broker to have taken what clears
GONE = ("Client not found", "Role not found")


class Doors(Protocol):
    """Somewhere devices are let in; each answers with what was done, in a sentence."""

    def knows(self, name: str) -> bool: ...

    def add(self, name: str, password: str) -> str: ...

    def remove(self, name: str) -> str: ...

    def rotate(self, name: str, password: str) -> str: ...

    def disable(self, name: str) -> str: ...

    def enable(self, name: str) -> str: ...


class Running:
    """A broker that is asked."""

    def __init__(self, broker: Mqtt, site: str, asked: Control, pump: Pump) -> None:
        self._broker, self._site, self.asked, self._pump = broker, site, asked, pump

    def knows(self, name: str) -> bool:
        """Return whether a device of this name is let in.

        Raises:
            OperatorFault: somebody else is, whom we have not let in.
        """
        return is_device(self.asked.clients().get(name), name)

    def add(self, name: str, password: str) -> str:
        again = control.delete(name)[:1] if self.knows(name) else []
        answers = self.asked.ask(again + control.create(self._site, name, password))
        control.expect(answers, *GONE)
        return "the broker lets it in"

    def remove(self, name: str) -> str:
        """Cut a device off, and clear what the broker has retained of it.

        Nobody but the device may write there. So it gets a password that we alone know, and with
        that we come as the device.
        """
        secret = chance.token_hex(32)
        answers = self.asked.ask(control.password(self._site, name, secret) + control.enable(name))
        control.expect(answers, *GONE)
        said = "the broker has cut it off"
        if not answers[0].error:
            own = self._broker.model_copy(update={"username": name, "password_file": None})
            own._password, own._context = secret, access.tls(self._broker)
            link = Link(own, f"heatveil-{self._site}-{name}", self._pump, lasting=False)
            try:
                link.wait()
                for leaf in ("meta", "state"):
                    link.publish(wire.topic(self._site, name, leaf), b"", retain=True)
                if link.sent(CLEARED_S):
                    said += ", and what it retained is cleared"
            except LinkFault:
                said += "; what it retained is still there"
            finally:
                link.close()
        control.expect(self.asked.ask(control.delete(name)), *GONE)
        return said

    def rotate(self, name: str, password: str) -> str:
        changed = control.password(self._site, name, password)
        answers = self.asked.ask([*control.role(self._site, name), *changed])
        if any(one.error in GONE for one in answers):
            return self.add(name, password)
        control.expect(answers)
        return "the broker has cut it off until it comes with the new password"

    def disable(self, name: str) -> str:
        control.expect(self.asked.ask(control.disable(name)))
        return "the broker has cut it off"

    def enable(self, name: str) -> str:
        control.expect(self.asked.ask(control.enable(name)))
        return "the broker lets it in"


def listens(broker: Mqtt) -> bool:
    """Return whether anybody answers at the broker's address."""
    try:
        socket.create_connection((broker.host, broker.port), timeout=3).close()
    except OSError:
        return False
    return True


@contextmanager
def doors(broker: Mqtt, site: str, folder: Path) -> Iterator[Doors | None]:
    """Yield where devices of this broker are let in; None where it is not known here.

    Args:
        folder: where `heatveil broker init` wrote.

    Raises:
        OperatorFault: the broker runs with the plugin and does not listen to us.
    """
    file = folder / dynamic.FILE
    if not listens(broker):
        plain = (folder / "acl").exists()
        yield Resting(site, file) if file.exists() else Plain(site, folder) if plain else None
        return
    if not file.exists() and (folder / "acl").exists():
        yield Plain(site, folder)
        return
    with Pump("doors") as pump:
        asked = Control(broker, f"heatveil-{site}-doors-{os.getpid()}", pump)
        try:
            asked.wait()
            try:
                asked.clients()
            except Silence:
                if file.exists():
                    raise
                yield None
                return
            yield Running(broker, site, asked, pump)
        finally:
            asked.close()
