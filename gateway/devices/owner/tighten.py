"""Sends tighter limits to devices over the broker, and hears what each of them decides."""

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from edge.core import tightening, wire
from edge.host import post

from ...faults import LinkFault
from ...service.mqtt.connection import Message
from ...service.mqtt.service import Link, open_link
from ...settings.deployment import Mqtt
from ..enrol.enrol import Devices

SENT_S = 5.0  # for the broker to have taken what was published


class LimitAnswers:
    """What devices say to the limits that they were sent; filled on the pump's thread."""

    def __init__(self, sent: Mapping[str, Any]) -> None:
        self._sent = sent
        self._changed = threading.Condition()
        self.taken: set[str] = set()
        self.refused: dict[str, str] = {}

    def take_message(self, link: Link, message: Message) -> None:
        """Take an answer; one to other limits, or from anybody else, is none."""
        link.acknowledge(message)
        name = message.topic.split("/")[-2]
        try:
            said = json.loads(message.payload)
            verb, version, taken, why = (said[key] for key in ("verb", "version", "taken", "why"))
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        if verb != "limits" or name not in self._sent:
            return
        with self._changed:
            if version == self._sent[name].version and taken is True:
                self.taken.add(name)
                self.refused.pop(name, None)
            elif version in (self._sent[name].version, None) and name not in self.taken:
                self.refused[name] = escape_text(str(why))
            self._changed.notify_all()

    def wait_for_all(self, patience_s: float) -> None:
        """Return when every device has answered, or patience is at its end."""
        with self._changed:
            self._changed.wait_for(
                lambda: len(self.taken) + len(self.refused) == len(self._sent), patience_s
            )


def send_limits(
    broker: Mqtt,
    devices: Devices,
    sent: Mapping[str, Any],
    patience_s: float,
    begin: Callable[[], object],
) -> LimitAnswers:
    """Publish limits, each signed for its device and retained, and return what came back.

    Args:
        begin: is called once the broker has us, and before anything goes out.

    Raises:
        LinkFault: the broker does not answer, will not have us, or did not take all of them.
    """
    site = devices.site
    answers = LimitAnswers(sent)
    heard = [wire.topic(site, "+", "ack")]
    opening = open_link(broker, f"heatveil-{site}-tighten", heard, answers.take_message)
    with ExitStack() as stack:
        try:
            link = stack.enter_context(opening)
        except LinkFault as fault:
            raise LinkFault(f"nothing was recorded or sent: {fault}") from fault
        begin()
        for name, one in sent.items():
            where = tightening.topic(site, name)
            message = post.pack_limits(one, devices.by_name[name].config_key, where)
            link.publish(where, message, retain=True)
        answers.wait_for_all(patience_s)
        accepted = link.wait_until_sent(SENT_S)
    if not accepted:
        raise LinkFault(
            f"the broker at {broker.host}:{broker.port} did not accept all limits within "
            f"{SENT_S:.0f} s; devices that are asleep get them from the broker, so some may "
            "keep the old ones. They are recorded, and cannot be taken back. Check the "
            "broker, and run this again: sending limits twice does no harm"
        )
    return answers


def escape_text(text: str) -> str:
    """Return what somebody on the broker wrote, safe for a terminal."""
    return "".join(one if one.isprintable() else " " for one in text)[:400]
