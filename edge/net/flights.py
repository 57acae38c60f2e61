"""Messages at QoS 1 that have no PUBACK yet: few, and the same bytes each time but for DUP.

Source: MQTT 3.1.1, sections 2.3.1 (numbers), 3.3.1.1 (DUP) and 4.4 (sent again).
"""

import asyncio

from . import packets
from .pause import within


class Window:
    """At most `size` flights over a `link.Link`, oldest first, and the numbers of packets."""

    def __init__(self, size, link):
        self.flights = []
        self.event = asyncio.Event  # makes what is waited for until a flight lands
        self.room = asyncio.Event()  # set whenever one lands
        self._size = size
        self._link = link
        self._mid = 0

    async def deliver(self, topic, payload, retain):
        """Return True when the broker has the message, False when that takes too long.

        What has a flight is sent again at the next connection, whoever waits for it or not.
        """
        link = self._link
        flight = self.take(topic, payload, retain)
        while flight is None:
            if not await within(link.wait_ms, self.room):
                for flight in self.flights[:1]:  # whoever gave it up, it is in the way
                    self._overdue(flight)
                return False
            flight = self.take(topic, payload, retain)
        if link.up and not flight.sent:
            await link.send(flight.out())
        if await within(link.wait_ms, flight.landed):
            return True
        self._overdue(flight)
        return False

    def take(self, topic, payload, retain):
        """Return the flight of this message, a new one where it has none; None without room."""
        what = (topic, payload, retain)
        for flight in self.flights:
            if flight.what == what:
                return flight
        if len(self.flights) == self._size:
            self.room.clear()
            return None
        mid = self.number()
        packet = packets.publish(topic, payload, 1, retain, mid, False)
        flight = Flight(mid, what, packet, self.event())
        self.flights.append(flight)
        return flight

    def _overdue(self, flight):
        link = self._link
        if link.up:
            if flight.late:
                link.end("no PUBACK came in %d ms" % link.wait_ms)
            flight.late = True  # once is no proof: it may have left a moment ago, again

    def number(self):
        """Return a packet identifier that is not in use."""
        while True:
            self._mid = self._mid % 65535 + 1
            if self._mid not in [flight.mid for flight in self.flights]:
                return self._mid

    def landed(self, mid):
        """Let the flight of this number be over; one that was never sent cannot be."""
        for flight in self.flights:
            if flight.mid == mid and flight.sent:
                self.flights.remove(flight)
                flight.landed.set()
                self.room.set()
                return


class Flight:
    """A message on its way."""

    def __init__(self, mid, what, packet, landed):
        self.mid = mid
        self.what = what  # (topic, payload, retain)
        self.packet = packet
        self.landed = landed
        self.sent = self.late = False

    def out(self):
        """Return the packet for the wire, with DUP where it was there before."""
        if self.sent:
            self.packet[0] |= 8
        self.sent, self.late = True, False
        return self.packet
