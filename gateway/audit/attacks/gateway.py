"""Layer: a gateway counts each answer once, and keeps what it refuses.

Frames of real devices are delivered to the gateway's judge and its store on a disk: in order,
again, late, out of order, over a restart, and with other bytes under the same counters, signed
with the stolen key. What it cannot see: the broker, and two gateways on one store.
"""

import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from edge.core import wire
from edge.host import rootkeys
from edge.mechanisms import central, disk_limits

from ...devices.enrol import enrol
from ...faults import OperatorFault
from ...mechanisms import find_serving
from ...service.intake.door import Arrival, authenticate
from ...service.intake.judge import judge_reports
from ...service.intake.outcomes import AskedRound, DeadLetter
from ...service.ledger import Ledger, compute_round_rho
from ...service.mqtt.connection import Message
from ...service.rounds import OpenRound, Place
from ...service.sealing import open_sealed_report
from ...store.store import Store
from ..bench import SITE, SITE_KEY, Device, draw_sealing_key, list_plans, seal_round, sign_round_as
from ..claim import Claim, Effort, claim_at_most, claim_fact, claim_none, is_refused


class House:
    """A gateway's memory and judgement, with real devices before it.

    The store is a file on a disk; the broker between is left out, and what it could do with
    messages is done by hand.
    """

    def __init__(self, folder: Path, round: Any, devices: Sequence[Device]) -> None:
        self.folder, self.round, self.devices = folder, round, devices
        known = {
            one.identity.name: SimpleNamespace(
                mac_key=one.identity.mac_key,
                key_id=one.identity.key_id,
                place=Place(one.identity.sensor, 1),
            )
            for one in self.devices
        }
        self.known: Any = SimpleNamespace(site=SITE, site_key=SITE_KEY, by_name=known)
        self.open: OpenRound | None = None
        self.sent: list[Message] = []  # every genuine frame, in order
        self.store = Store(self.folder / "audit.sqlite", SITE)
        self.newest = self.store.read_newest_numbers()

    def restart(self) -> None:
        """Start the gateway: what was in its memory is gone."""
        self.store.close()
        self.store = Store(self.folder / "audit.sqlite", SITE)
        self.newest = self.store.read_newest_numbers()

    def ask(self, number: int) -> str:
        """Open a Round, and have every device answer it; return why it is not opened, or ""."""
        asked, signed = sign_round_as(self.round, number)
        if why := self.charge(asked, signed):
            return why
        for device in self.devices:
            frame = device.answer(signed, device.make_readings(5)) or b""
            self.sent.append(Message(topic_of(device), frame, (1, len(self.sent))))
        return ""

    def charge(self, asked: Any, signed: bytes) -> str:
        """Open a Round, which is charged; return why it is not opened, or ""."""
        name, rho = wire.name_of(asked), compute_round_rho(asked.guarantee)
        why = self.store.open_round(AskedRound(name, name, asked, signed, rho), 1000 * rho)
        if why:
            return why
        places = {one.identity.name: Place(one.identity.sensor, 1) for one in self.devices}
        self.open = OpenRound(
            asked, name, 1e9, places, wrong=find_serving(asked.mechanism).payload_fault(asked)
        )
        return ""

    def deliver(self, messages: Sequence[Message]) -> tuple[int, int, int]:
        """Return how many counted, were absorbed, and were refused and kept."""
        found = [authenticate(one, self.known) for one in messages]
        arrivals = [one for one in found if isinstance(one, Arrival)]
        letters = [one for one in found if isinstance(one, DeadLetter)]
        answers = [(one.report.round, one.report.sender) for one in arrivals]
        known = self.store.read_known([one.key for one in arrivals], answers)
        verdict = judge_reports(arrivals, self.open, self.newest, known, 0.0)
        letters += verdict.letters
        self.store.keep_batch(verdict.kept, letters, verdict.extra, verdict.heard, verdict.alarms)
        verdict.apply(self.newest)
        counted, refused = len(verdict.kept), len(letters)
        return counted, len(messages) - counted - refused, refused

    @property
    def spent(self) -> Fraction:
        """What the ledger on the disk says is spent."""
        return Ledger(Fraction(0), self.store.list_charges()).spent


def topic_of(device: Device) -> str:
    """Return the topic that a device's frames come on."""
    return wire.topic(SITE, device.identity.name, "data")


def sign_report(device: Device, report: Any) -> Message:
    """Return a report as it comes from somebody who has the device's keys."""
    frame = wire.pack_report(report, device.identity.mac_key, topic_of(device), 32)
    return Message(topic_of(device), frame, (1, 1))


def impossible_claims(house: House, number: int) -> Iterator[Claim]:
    """Yield whether they count in the Round of this number, and whether another's answer does.

    Somebody who has stolen a device's key can say anything in its name. What counts then is an
    answer that the device might have given, and one of them; for other sensors, for none, or
    beyond what can be drawn nothing counts. What it cannot see: an answer that was chosen, and not
    drawn.
    """
    honest, device = house.devices
    counted = 0
    payloads = device.asked.list_impossible(house.round, device.identity.sensor)
    house.ask(number)
    report = device.open_frame(house.sent[-1].payload)
    for seq, payload in enumerate(payloads, report.seq + 1):
        other = report._replace(seq=seq, payload=payload)
        counted += house.deliver([sign_report(device, other)])[0]
    yield claim_none(
        "no answer counts that no device gives: for others, for none, or beyond what can be drawn",
        counted,
        "answers",
        samples=len(payloads),
    )
    last = next(one for one in reversed(house.sent) if one.topic == topic_of(honest))
    yield claim_fact(
        "and those of others count beside them", house.deliver([last])[0] == 1, samples=1
    )


ROUNDS = 6
NAMES = ("one", "two")


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what becomes of messages that come twice, late or changed."""
    round = list_plans(mechanism)[:2][-1].round
    rho = compute_round_rho(round.guarantee)
    with tempfile.TemporaryDirectory() as folder:
        roots = [effort.root("kept", name) for name in NAMES]
        devices = [
            Device(round, root, name=name, first=place)
            for place, (name, root) in enumerate(zip(NAMES, roots, strict=True))
        ]
        house = House(Path(folder), round, devices)
        yield from _count_spent(house, rho)
        yield from _replay(house, effort)
        yield from _claim_reused_counters(house, rho)
        yield _claim_stale_counters(house)
        yield from impossible_claims(house, ROUNDS + 2)
        house.store.close()


def _count_spent(house: House, rho: Fraction) -> Iterator[Claim]:
    counted, late = 0, 0
    for number in range(1, ROUNDS + 1):
        house.ask(number)
        late += house.spent != number * rho  # nothing has come yet, and it must be paid for
        counted += house.deliver(house.sent[-len(NAMES) :])[0]
    yield claim_fact("a round is charged before a device can hear of it", not late, samples=ROUNDS)
    yield claim_fact("every answer counts", counted == ROUNDS * len(NAMES), samples=counted)
    asked, signed = sign_round_as(house.round, 999)
    another, budget = AskedRound(b"none", b"none", asked, signed, rho), ROUNDS * rho + rho / 2
    refused = bool(house.store.open_round(another, budget))
    yield claim_fact("a round that the budget has no room for is not opened", refused, samples=1)
    other = asked._replace(guarantee=asked.guarantee._replace(neighbours="another promise"))
    odd = AskedRound(b"odd", b"odd", other, signed, rho / 4)
    refused = is_refused(lambda: house.store.open_round(odd, budget), OperatorFault)
    yield claim_fact("prices of different promises are not added up", refused, samples=1)
    refused = is_refused(lambda: house.store.open_round(another, 1001 * rho), OperatorFault)
    yield claim_fact("a budget does not grow once something is charged to it", refused, samples=1)


def _replay(house: House, effort: Effort) -> Iterator[Claim]:
    """Yield what every frame gets that comes again: at once, late, shuffled, over a start."""
    spent, rng, counted, refused, tries = house.spent, effort.tape("replayed"), 0, 0, 0
    for start in range(2):
        if start:
            house.restart()
        for _ in range(4):
            shuffled = sorted(house.sent, key=lambda one: rng.below(1 << 30))
            for messages in (shuffled, [one for one in shuffled for _ in range(2)]):
                found = house.deliver(messages)
                counted += found[0]
                refused += found[2]
                tries += len(messages)
    sentence = "no frame counts twice, whenever and however often it comes, over a restart too"
    yield claim_none(sentence, counted, "answers", samples=tries)
    yield claim_fact(
        "a frame that comes again is absorbed and not charged", not refused, samples=tries
    )
    yield claim_fact("and it costs nothing", house.spent == spent, samples=tries)


def _claim_reused_counters(house: House, rho: Fraction) -> Iterator[Claim]:
    """Yield what becomes of other bytes under counters that were used, or that lie behind."""
    spent, device = house.spent, house.devices[0]
    report = device.open_frame(house.sent[-len(NAMES)].payload)
    forged, kept = [], len(house.store.list_refused(1000))
    for epoch, seq in ((report.epoch, report.seq), (report.epoch, 0), (0, 10**6)):
        other = report._replace(epoch=epoch, seq=seq, payload=[0, report.payload[1] + 1])
        forged.append(sign_report(device, other))
    counted = 0
    for start in range(2):
        if start:
            house.restart()
        for one in forged:
            counted += house.deliver([one])[0]
    sentence = "no other bytes count under counters that were used, or that lie behind the newest"
    yield claim_none(sentence, counted, "answers", samples=2 * len(forged))
    found = house.store.list_refused(1000)
    letters = found[: len(found) - kept]
    raised = house.store.list_alarms()
    yield claim_fact(
        "counters that go back, or come twice, are an alarm that is kept",
        len(raised) == 1 and all(times >= len(forged) for _, times in raised.values()),
        samples=len(forged),
    )
    yield claim_fact(
        "what is refused is kept as evidence, once and with a reason",
        len(letters) == len(forged)
        and all(letter.why for letter in letters)
        and {letter.frame for letter in letters} == {one.payload for one in forged},
        samples=len(letters),
    )
    yield claim_fact(
        "a second answer is charged to its device, once for each of its frames",
        house.spent == spent + rho * len(forged),
        samples=len(forged),
        detail=f"{(house.spent - spent) / rho} prices for {len(forged)} frames",
    )


def _claim_stale_counters(house: House) -> Claim:
    """A frame from before the last one must not count after a restart, whatever round it names."""
    device = house.devices[0]
    report = device.open_frame(house.sent[-len(NAMES)].payload)
    house.ask(ROUNDS + 1)  # and nobody's answer comes
    named = house.open.name if house.open is not None else b""
    counted = 0
    for seq in (5, 6, 7):  # of a boot before the first that came
        house.restart()
        other = report._replace(round=named, epoch=0, seq=seq, payload=[0, 1])
        counted += house.deliver([sign_report(device, other)])[0]
    sentence = "after a restart no frame counts whose counters lie behind, in a new round neither"
    return claim_none(sentence, counted, "answers", samples=3)


# Layer `sealed`: reports that are private, and who opens them.


def sealed_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield who opens what devices seal, and what its length tells.

    Real devices answer the Rounds of each room; their frames are opened, or not, by another
    implementation of curve and cipher. What it cannot see: whether the gateway has destroyed a key
    (the tests kill it at every step), and what a gateway that is not honest does with it.
    """
    root, rng, name = effort.root("sealed"), effort.tape("sealed"), mechanism.name
    key, stranger = (draw_sealing_key(rng) for _ in range(2))
    count = wrong = strangers = lengths = 0
    asked: list[Any] = []
    refusals = []
    for _, query in mechanism.subject.list_queries():
        plain = mechanism.plan(query, ())
        sealed = seal_round(plain, key)
        device, frames = _enrol_for(name, sealed, root), set()
        who = enrol.Device.from_identity(device.identity)
        thief = who._replace(seal_key=rootkeys.seal_key(effort.root("another")))
        for number, reading in enumerate([None, *mechanism.subject.list_readings(plain)], 1):
            round, signed = sign_round_as(sealed, number)
            values = reading.values if reading else ()
            frame = device.node.answer(signed, lambda _, values=values: values)
            report = device.open_frame(frame)
            frames.add(len(frame))
            told = list(mechanism.report(round, reading, None)) if reading else []
            wrong += open_sealed_report(key, round, report, who, SITE) != told
            for other in (
                (key, round, report, thief),
                (key, round, report, who._replace(name="another")),
                (key, round._replace(number=number + 1), report, who),
                (stranger, round, report, who),
            ):
                strangers += open_sealed_report(*other, SITE) is not None
            count += 1
        lengths = max(lengths, len(frames))
        for allowed in ("", "another"):
            node = _enrol_for(allowed, sealed, root).node
            none = node.answer(sign_round_as(sealed, 1)[1], asked.append) is None
            refusals.append(none and node.refusal.startswith("central-not-allowed"))
    yield claim_none("a sealed report opens for its round's key, as it was", wrong, samples=count)
    sentence = "a sealed report opens for no other key, device or Round"
    yield claim_none(sentence, strangers, "reports opened", samples=4 * count)
    sentence = "every frame of a round has one length, also where nothing was read"
    yield claim_at_most(sentence, 1, lengths, unit="lengths", samples=count)
    sentence = "a device that was not enrolled for it by name reads and answers nothing"
    yield claim_fact(sentence, all(refusals) and not asked, samples=len(refusals))


def _enrol_for(allowed: str, round: Any, root: bytes) -> Device:
    """Return a device that may answer sealed Rounds of this mechanism, and was given this one."""
    who = rootkeys.identity(SITE, "n", root, SITE_KEY, 0, central=allowed)
    num, den = central.module_of(round.mechanism).epsilon(round)
    return Device(round, root, held=disk_limits.make_limits(num, den, 1000), identity=who)
