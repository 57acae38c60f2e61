"""Speaks to mosquitto's dynamic security while the broker runs: who is let in, and who no longer.

A request is a list of commands on one topic; the plugin answers on another, for everybody who
may read it, so each command carries a mark of ours. `run_commands` waits for the answers and must
not be called on a pump's thread.
"""

import json
import secrets as chance
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...faults import LinkFault, OperatorFault
from ...service.mqtt.connection import Message
from ...service.mqtt.pump import Pump
from ...service.mqtt.service import Link
from ...settings.deployment import Mqtt
from .dynamic import Command
from .mosquitto import CONTROL

PATIENCE_S = 3.0
AGAIN = 5  # times that the list is begun anew before we give up
PAGE = 50  # clients in one answer: 25 KB of them where all names are as long as they may be
CHANGING = "the list of clients at the broker {} has changed {} times while it was read; try again"


class NoAnswerFault(LinkFault):
    """Nobody answered a request: the broker is away, or has no dynamic security for us."""


class CommandAnswer(NamedTuple):
    """What came of a command: error is empty when it was done."""

    command: str
    error: str
    data: Mapping[str, Any]


class BrokerControl:
    """A link to the plugin; `wait_connected` until it is up, or hear of it in `on_state`."""

    def __init__(self, broker: Mqtt, name: str, pump: Pump) -> None:
        """Begin to connect as [mqtt] says; name is the session's."""
        self.own, self._place = broker.username, f"{broker.host}:{broker.port}"
        self.on_state: Callable[[bool], None] = lambda _up: None  # on the pump's thread
        self.up = False
        self._changed = threading.Condition()
        self._waiting: dict[str, CommandAnswer | None] = {}
        self._link = Link(
            broker,
            name,
            pump,
            subscribe=[f"{CONTROL}/response"],
            on_message=self._take_answers,
            lasting=False,
            on_state=self._note_link,
        )

    def wait_connected(self, patience_s: float = PATIENCE_S) -> "BrokerControl":
        """Return this once it is connected.

        Raises:
            LinkFault: nobody answers, or will have us. It is closed then.
        """
        self._link.wait_connected(patience_s)
        self.up = True
        return self

    def close(self) -> None:
        """Say goodbye."""
        self._link.close()

    def run_commands(
        self, commands: Sequence[Command], patience_s: float = PATIENCE_S
    ) -> list[CommandAnswer]:
        """Return what came of each command, in their order.

        Raises:
            Silence: there is no answer. Commands may have been done all the same.
            OperatorFault: the gateway itself would be shut out.
        """
        if self.own is not None and any(one.get("username") == self.own for one in commands):
            raise OperatorFault(
                f"{self.own} is the gateway's own user name at the broker; changing or blocking "
                "it would cut the gateway off. It was left as it is. Name a device"
            )
        if not self.up:  # else it would wait, and be done when nobody wants it any more
            raise self._make_silence_fault("the link to it is down")
        marks = [chance.token_hex(8) for _ in commands]
        body = [
            {**one, "correlationData": mark} for one, mark in zip(commands, marks, strict=True)
        ]
        with self._changed:
            self._waiting.update(dict.fromkeys(marks))
        try:
            self._link.publish(CONTROL, json.dumps({"commands": body}).encode())
            with self._changed:
                self._changed.wait_for(
                    lambda: not self.up or all(self._waiting[mark] for mark in marks), patience_s
                )
                found = [self._waiting[mark] for mark in marks]
        finally:
            with self._changed:
                for mark in marks:
                    self._waiting.pop(mark, None)
        if None in found:
            raise self._make_silence_fault(f"no answer came within {patience_s:g} s")
        return [one for one in found if one is not None]

    def list_clients(self) -> dict[str, Mapping[str, Any]]:
        """Return what the broker knows of everybody who may come in, by name.

        A page at a time, for of a longer answer only the beginning is kept; pages overlap by a
        row, and where that is another one somebody came or went.

        Raises:
            Silence: see `run_commands`; or the pages never fit.
        """
        rows: list[Mapping[str, Any]] = []
        begun = 1
        while True:
            order = {"command": "listClients", "verbose": True, "count": PAGE}
            (answer,) = self.run_commands([{**order, "offset": max(len(rows) - 1, 0)}])
            page = answer.data.get("clients", [])
            if rows and page[:1] != rows[-1:]:
                if begun == AGAIN:
                    raise NoAnswerFault(CHANGING.format(self._place, AGAIN))
                rows, begun = [], begun + 1
                continue
            rows += page[1:] if rows else page
            if len(page) != PAGE:
                return {str(row["username"]): row for row in rows if "username" in row}

    def _note_link(self, up: bool, why: str) -> None:
        with self._changed:
            self.up = up
            self._changed.notify_all()
        self.on_state(up)

    def _take_answers(self, link: Link, message: Message) -> None:
        link.acknowledge(message)
        try:
            answers = json.loads(message.payload)["responses"]
            found = {
                str(one["correlationData"]): one for one in answers if "correlationData" in one
            }
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        with self._changed:
            for mark in found.keys() & self._waiting.keys():
                one = found[mark]
                error, data = str(one.get("error", "")), one.get("data") or {}
                self._waiting[mark] = CommandAnswer(str(one.get("command", "")), error, data)
            self._changed.notify_all()

    def _make_silence_fault(self, why: str) -> NoAnswerFault:
        return NoAnswerFault(
            f"the broker at {self._place} does not answer on {CONTROL} ({why}); it must have "
            "mosquitto's dynamic security, with a role that lets the gateway use it, or nobody "
            "can be let in or shut out while it runs. `heatveil broker init` writes both; without "
            "it, stop the broker first"
        )


def check_answers(answers: Sequence[CommandAnswer], *tolerated: str) -> None:
    """Raise OperatorFault when a command was not done; tolerated: errors that do not matter."""
    for command, error, _ in answers:
        if error and error not in tolerated:
            raise OperatorFault(
                f"the broker refused the command {command} ({error}); its users may now differ "
                "from devices.json, so that a device is locked out, or admitted that should not "
                "be. Correct the cause, with mosquitto_ctrl if need be, and run this again"
            )
