"""What a board that takes releases over the air does beside its device.

A release on trial is confirmed when the gateway counts an answer of it, or when it has been at its
broker for a while, no Round waited for an answer, the sensor did not fail and all that came was
believed. A board without an update key loads none of this, and what fetches a release (`update`)
is in memory only while there is one to fetch.
"""

from ..core import wire
from ..core.compat import Uptime, forget
from ..net.link import wait_until
from . import assemble, firmware

CALM_MS = 600000  # with the broker there, nothing waiting and no fault: a release is good
WRONG = 10  # blocks or writes that failed, in one boot: then no release is fetched any more
EARLY_S = 90  # before the base's timer goes back this does, which keeps the frames that wait


class Updates:
    """Releases over the air; what fetches one is in memory only while there is one to fetch."""

    def __init__(self, identity, key, least):
        self.topic = wire.topic(identity.site, identity.name, "cmd/update")
        self.number, self.trial = least, False
        self._who, self._key, self._least, self._wrong = identity, key, least, 0
        self._open, self._why, self._last_s = None, "", 0
        if firmware.has_releases():
            from . import release

            held = release.read()
            self.number, self.trial = held.number or least, release.is_on_trial(held)
            self._last_s = release.TRIAL_MS // 1000 - EARLY_S
            forget("edge.board.release")

    @property
    def ready(self):
        """Say whether the board is to start again, with another release."""
        return self._open is not None and self._open.ready

    @property
    def busy(self):
        """Say whether a release is on its way."""
        return self._open is not None and (self._open.busy or self._open.ready)

    def take(self, topic, payload):
        """Take a message; return what is to be said of it, or None."""
        if topic != self.topic and (self._open is None or self._wrong >= WRONG):
            return None
        if self._wrong >= WRONG:  # whoever sends it learns why, and nothing is loaded for it
            why = "too much that came was wrong; it takes none until it starts again"
            return self._say({"verb": "update", "version": 0, "taken": False, "why": why})
        try:
            if self._open is None:
                from .update import Update

                self._open = Update(self._who, self._key, self._least, self._wrong)
            ack = self._open.take(topic, payload)
        except (MemoryError, ImportError):  # the latter of what is loaded in part
            why = "there is no memory to fetch it"
            ack = {"verb": "update", "version": 0, "taken": False, "why": why}
        return self._say(ack)

    def poll(self, now_ms):
        """Return what to ask for, to let go of and to say, as `update.Update.poll`."""
        wanted = self._open and self._open.poll(now_ms)
        if wanted:
            self._say(wanted[2])
        return wanted

    def describe(self):
        """Return what `meta` says of it."""
        return {"release": self.number, "trial": self.trial, "update": self._why}

    async def watch(self, parts):
        """Start the board again once another release is in force; see the trial of this one end.

        parts: of the board that runs (`start.Parts`).
        """
        calm_ms, clock = 0, Uptime()
        for second in range(1, 1 << 30):
            # When it looks must not tell how long a draw took, nor fall into a tick each time,
            # as it would with a gateway that asks every second.
            await wait_until(clock, 1009 * second)
            if parts.device is not None and parts.device.waits:
                continue  # a device that hangs so is the base's timer's
            if self.trial and second >= self._last_s:
                parts.ring.save()
                firmware.give_up()
            if parts.device is None:
                continue
            if self.ready:
                parts.ring.save()
                await assemble.say_goodbye(parts.client, self._who, b"disconnected")
                parts.ring.save()  # a Round may have come, and been answered, meanwhile
                parts.machine.reset()
            calm_ms = calm_ms + 1000 if parts.client.connected and not len(parts.ring) else 0
            self.judge(parts, calm_ms >= CALM_MS)

    def judge(self, parts, calm):
        """End the trial of what runs if it does what it must.

        The gateway counts an answer of it, or it was `calm`: with its broker for a while, and
        nothing was asked that it refused, but for a Round that was answered before. Never while a
        frame waits for its tick, which the write would delay. In the quiet time after a draw it
        may be: a board that sleeps is asked once, and often then.
        """
        if not self.trial or parts.device is None or parts.device.holds:
            return
        node = parts.device.node
        calm = calm and not (node.faults or node.forged or node.alert)
        if node.refusal and not node.budget.exhausted and "already" not in node.refusal:
            calm = False
        if parts.device.receipts or calm:
            from . import release

            release.write(release.replace(release.read(), tries=0))
            self.trial = False
            parts.device.announce()
            forget("edge.board.release")

    def _say(self, ack):
        """Note what is said, and have what fetches in memory only as long as it is needed."""
        if ack is not None:
            self._why = ack["why"]
        if self._open is not None:
            self._least, self._wrong = self._open.least, self._open.wrong
        if self._open is None or self._open.done:
            self._open = None
            forget("edge.board.update")
            forget("edge.board.release")
        return ack
