"""What systemd is told: that the device is ready, that it lives, and how it is."""

import os
import socket


class Notify:
    """The service's socket, or nobody. It is the device's watchdog (`feed`) and light (`show`)."""

    def __init__(self):
        where = os.environ.get("NOTIFY_SOCKET", "")
        self._where = "\0" + where[1:] if where.startswith("@") else where
        self._told = None

    def feed(self):
        """Say that all is well."""
        self._say("WATCHDOG=1")

    def show(self, word):
        """Say how the device is, in a word; the first time also that it has started."""
        if word != self._told:
            self._say("STATUS=%s" % word if self._told else "READY=1\nSTATUS=%s" % word)
            self._told = word

    def _say(self, text):
        if not self._where:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                out.sendto(text.encode(), self._where)
        except OSError:  # nobody listens any more; that is no reason to stop
            pass
