"""A sensor device without its radio: a Round comes in, a signed frame of blur goes out.

Order matters here. The Round is verified and held against the device's own floor; then the
noise is drawn; only then is the sensor read. So a Round that would lower privacy never causes
a reading at all. How long the draw takes depends on the noise: who sends the frame must send
it at a fixed time after the Round came, not as soon as it is there.
"""

from . import entropy, thermal, wire
from .records import Reading, Report

MECHANISMS = {thermal.NAME: thermal}
EXPONENTS = 64  # grains between 2**-64 and 2**64 kelvin; more is an attack on the memory
# What a hostile Round can cause beside a Fault, on a board with little memory.
BROKEN = (ValueError, TypeError, MemoryError, OverflowError, RuntimeError)
VERSION = "0.1.0"


class Node:
    """One device: its keys, its counters and the last frame it made.

    site, name: where it stands on the wire. root: its 32-byte key, made on the host.
    site_key: the key that signs Rounds. sensor, sensors: the first sensor it reads, and how
    many. floor: the least variance of noise it will ever answer with, (num, den) in kelvin
    squared, set when it is enrolled; what comes over the air can only raise it.
    mode: "sealed" (nobody can repeat the noise) or "keyholder" (the holder of root can).
    epoch: the boot counter, raised and stored by the host of this object before it is made.
    """

    def __init__(
        self, site, name, root, site_key, sensor, floor, mode="sealed", epoch=1, sensors=1
    ):
        if mode not in ("sealed", "keyholder"):
            raise ValueError(
                "mode %r is not known; sealed (nobody can take the noise off) or keyholder "
                "(the holder of the root key can) decides whom readings are hidden from" % mode
            )
        if floor[0] < 1 or floor[1] < 1:
            raise ValueError(
                "a floor of %d/%d kelvin squared protects nothing; it must be above 0, for it "
                "is what a forged Round cannot lower" % (floor[0], floor[1])
            )
        self.site = site
        self.name = name
        self.mode = mode
        self.epoch = epoch
        self.sensor = sensor
        self.sensors = sensors
        self.refusal = ""  # why the last Round was not answered, in words for `state`
        self._root = root
        self._site_key = site_key
        self._mac_key = wire.mac_key(root)
        self._floor = floor
        self._seq = 0
        self._round = None
        self._frame = None
        # A sealed stream lives as long as the boot and is never repeated.
        self._sealed = entropy.sealed(root, epoch.to_bytes(8, "big")) if mode == "sealed" else None
        if mode == "keyholder":
            entropy.keyed(root, name, epoch, 0, sensor)  # refuses now what it would refuse later

    def answer(self, message, read, mechanism="thermal"):
        """Return the frame that answers a Round's message, or None and say why in `refusal`.

        read(params) must return one whole number a sensor, in grains (params as in
        `thermal.Params`). It is called once for each Round: asked again, the same bytes are
        returned, for fresh noise on the same reading could be averaged away.
        """
        self.refusal = ""
        try:
            round = wire.unpack_round(
                message, self._site_key, wire.round_topic(self.site, mechanism)
            )
            self.refusal = self._objection(round, mechanism)
        except wire.Fault as why:
            self.refusal = str(why)
        except BROKEN as why:
            self.refusal = "it cannot be read on this device (%s)" % type(why).__name__
        if self.refusal:
            return None
        if self._round is None or wire.name_of(round) != wire.name_of(self._round):
            try:
                self._frame = self._fresh(round, MECHANISMS[mechanism], read)
            except (ValueError, TypeError):  # never with the number in it
                self.refusal = "the sensor did not give %d whole numbers" % self.sensors
                return None
            self._round = round
        return self._frame

    def _objection(self, round, mechanism):
        if mechanism not in MECHANISMS or round.mechanism != mechanism:
            return "it asks for %s, which this device does not have" % round.mechanism
        if len(round.params) != thermal.PARAMS:
            return "it has %d params instead of %d" % (len(round.params), thermal.PARAMS)
        params = thermal.Params(*round.params)
        if not -EXPONENTS <= params.exponent <= EXPONENTS:
            return "its grains of 2**%d kelvin are none that a sensor has" % -params.exponent
        if self._round is not None:
            number = self._round.number
            again = wire.name_of(round) == wire.name_of(self._round)
            if round.number <= number and not again:
                return "it is round %d, and round %d is already answered" % (round.number, number)
        if not 0 <= self.sensor <= self.sensor + self.sensors - 1 < params.sensors:
            return "sensor %d is not in round %d, which has sensors 0 to %d" % (
                self.sensor + self.sensors - 1,
                round.number,
                params.sensors - 1,
            )
        if params.keyholder != (1 if self.mode == "keyholder" else 0):
            return "its guarantee is not that of a %s device" % self.mode
        thermal.bits(round)
        num, den = self._floor  # variance * grain**2 >= num / den, in whole numbers
        up = 1 << (2 * max(params.exponent, 0))
        down = 1 << (2 * max(-params.exponent, 0))
        if params.variance < 1 or params.variance * down * den < num * up:
            return "it asks for less noise than this device's floor of %d/%d kelvin squared" % (
                num,
                den,
            )
        return ""

    def _fresh(self, round, mechanism, read):
        self._seq += 1
        noise = mechanism.draw(round, self.sensors, self._stream())
        values = tuple(read(thermal.Params(*round.params)))
        payload = mechanism.veil(round, Reading(self.sensor, values), noise)
        report = Report(wire.name_of(round), self.name, self.epoch, self._seq, payload)
        where = wire.topic(self.site, self.name, "data")
        return wire.pack_report(report, self._mac_key, where, mechanism.bits(round))

    def _stream(self):
        if self._sealed is not None:
            return self._sealed
        return entropy.keyed(self._root, self.name, self.epoch, self._seq, self.sensor)

    def meta(self):
        """Return what the device says of itself, for its retained `meta` topic: nothing it saw."""
        said = {
            "schema": wire.VERSION,
            "firmware": VERSION,
            "mode": self.mode,
            "sensor": self.sensor,
            "sensors": self.sensors,
            "unit": "K",
            "boot": self.epoch,
            "floor": list(self._floor),
        }
        if self._round is not None:
            params = thermal.Params(*self._round.params)
            said["exponent"] = params.exponent
            said["variance"] = params.variance
            said["calibration"] = "".join(["%02x" % b for b in wire.name_of(self._round)])
        return said
