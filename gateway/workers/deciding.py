"""The writer of one part: it looks up which round is open, for the leader may be elsewhere."""

import math
import time

import structlog

from edge import wire

from ..devices.enrol.enrol import Devices
from ..intake.door import Sifted
from ..intake.judge import Verdict
from ..intake.writer import Intake
from ..mechanisms import serving
from ..rounds import OpenRound
from ..storage.patience import Stopped
from .rounds import PartStore, RoundOver, Standing

log = structlog.get_logger()


class PartIntake(Intake):
    """An `Intake` whose round is the one in the database, looked up before every batch.

    A device may answer before anybody could have told us that it was asked, and the round may be
    closed while we judge: then the batch is judged again, and is late.
    """

    _store: PartStore

    def _decided(self, sifted: Sifted) -> Verdict:
        while True:
            if sifted.arrivals:
                self._follow(self._store.standing())
            try:
                return super()._decided(sifted)
            except RoundOver:
                continue

    def _follow(self, found: Standing | None) -> None:
        """Open or close the round as the database says."""
        ours = self._round
        if found is None:
            return
        closed = found.closed_s is not None
        if ours is None or ours.name != found.name:
            round = asked(found, self._devices)
            mine = self._devices.by_name
            answered = self._store.answered_by(found.name)
            round.reports.update(dict.fromkeys(name for name in answered if name in mine))
            self.open(round)
        elif not closed:
            ours.closes_s = math.inf  # if it was closed, its leader has opened it again
        if closed:
            self.close_round()


def asked(found: Standing, devices: Devices) -> OpenRound:
    """Return a round of the database, open until the database says that it is closed.

    Raises:
        OperatorFault: it is of a mechanism that is not known here.
        Stopped: it is not signed with the key that we have: then nothing must be decided here.
    """
    topic = wire.round_topic(devices.site, found.mechanism)
    places = {name: device.place for name, device in devices.by_name.items()}
    try:
        plan = wire.unpack_round(found.message, devices.site_key, topic)
    except ValueError as fault:
        log.error(
            "a round in the database is not signed with this worker's site key, so nothing is "
            "taken: give the worker the devices file that its gateway has",
            why=str(fault),
        )
        time.sleep(1)  # it is the same for the next batch
        raise Stopped from fault
    wrong = serving(plan.mechanism).payload_fault(plan)
    return OpenRound(plan, found.name, math.inf, places, wrong=wrong)
