"""Layers `spoken`, `words` and `moments`: what a device gives away beside its answer."""

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from scipy.stats import binom

from edge import device as edge_device
from edge import thermal, tightening, veil, wire
from edge.ring import Ring
from edge.ticker import Ticker

from ..bench import Device, asked_of, listening, message, plans, replaced
from ..claim import Claim, Effort, at_most, true

TICK_MS = 100
ROUNDS = 40


def moments_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield when devices draw, read and send.

    The time at which a frame leaves tells nothing of its noise or its reading. How long a draw
    takes tells how large the noise is. So noise must be there before the reading is taken, and a
    frame must leave at a tick fixed when its Round came. On a clock of our own, draws here take as
    long as their noise is large, longer than a tick even. What it cannot see: what the time on a
    real board, its radio or its power line gives away.
    """
    round = plans(mechanism)[0].round._replace(number=1)
    root = effort.root("moments")
    for mode, asked in mechanism.subject.asked.modes(round):
        yield from _ordered(asked, root, mode)
        yield _on_the_tick(asked, root, mode)
        yield _said(asked, root, mode)


def _ordered(round: Any, root: bytes, mode: str) -> Iterator[Claim]:
    """Yield whether blocks of noise are drawn at any time between a Round and its frame."""
    device = Device(round, root, sensors=asked_of(round).SENSORS)
    late, unready = 0, 0
    with listening() as blocks:
        for number in range(1, ROUNDS + 1):
            _, signed = message(round, number)
            ready = number % 2 == 0
            if ready:
                device.node.prepare()
            before: list[int] = [blocks.count]

            def read(params: Any, before: list[int] = before) -> tuple[int, ...]:
                before.append(blocks.count)
                return device.seen(3)

            frame = device.node.answer(signed, read)
            late += frame is None or len(before) != 2 or blocks.count != before[1]
            unready += ready and before[1:] != before[:1]
    sentence = f"a {mode} device draws no noise once its sensor has been read"
    yield true(sentence, not late, samples=ROUNDS)
    sentence = f"a {mode} device has its noise before a Round comes"
    yield true(sentence, not unready, samples=ROUNDS // 2)


def _on_the_tick(round: Any, root: bytes, mode: str) -> Claim:
    """Return whether each frame leaves one tick after its Round, however slow its noise was.

    Every fourth Round asks for other noise than the one before, so that what was drawn ahead is
    of no use; then the tick, which is longer than that draw, must hide how long it took.
    """
    device, waits = Device(round, root), []
    now_ms, slowest, slowed = [0], [0], [0]
    ticker = Ticker(device.node, TICK_MS)
    asking = device.asked
    draw: Any = asking.DRAWS.draw

    def slow(*given: Any) -> Any:
        noise = draw(*given)
        now_ms[0] += 5 + min(int(TICK_MS * asking.size(round, noise)), slowest[0])
        slowed[0] += 1
        return noise

    with replaced(asking.DRAWS, "draw", slow):
        for number in range(1, ROUNDS + 1):
            for _ in range(3):  # nothing is due: time to draw ahead
                ticker.due(now_ms[0])
                now_ms[0] += 7
            came, frame = now_ms[0], None
            asked = asking.another(round, number // 4)
            # Nothing may lie ready for the first Round of a boot either: it brings the weights.
            slowest[0] = TICK_MS - 10 if number % 4 == 0 or number == 1 else 3 * TICK_MS
            ticker.came(message(asked, number)[1], lambda params: device.seen(5), now_ms[0])
            slowest[0] = 3 * TICK_MS
            while frame is None and now_ms[0] < came + 20 * TICK_MS:
                frame = ticker.due(now_ms[0])
                now_ms[0] += frame is None
            waits.append(now_ms[0] - came)
    return true(
        f"a {mode} device's frame leaves one tick after its Round, however large its noise",
        set(waits) == {TICK_MS} and slowed[0] > ROUNDS,
        samples=min(len(waits), slowed[0]),
        detail=f"after {min(waits)} to {max(waits)} ms, the tick is {TICK_MS}",
    )


class _Line:
    """A client that notes what it is given, and when: (ms, leaf, payload, whether retained)."""

    connected, reconnects = True, 0

    def __init__(self, clock: list[int]) -> None:
        self.clock = clock
        self.said: list[tuple[int, str, bytes, bool]] = []
        self.link = SimpleNamespace(busy=False, hush=lambda uptime, until_ms: None)

    async def publish(
        self, topic: str, payload: bytes, qos: int = 0, retain: bool = False
    ) -> bool:
        """Return True: a broker has everything at once."""
        self.said.append((self.clock[0], topic.rpartition("/")[2], payload, retain))
        return True


class _Spoken:
    """A whole `edge.device` on a clock of ours, one look at a time."""

    def __init__(self, device: Device, clock: list[int]) -> None:
        uptime = SimpleNamespace(EARLY_MS=0, now_ms=lambda: clock[0], stay=lambda due_ms: None)
        self.line, self.ring = _Line(clock), Ring(1 << 16)
        self._device = edge_device.Device(
            device.identity,
            device.budget,
            lambda params: device.seen(5),
            self.line,
            self.ring,
            tick_ms=TICK_MS,
            uptime=uptime,
            tables=device.tables,
            mechanism=device.round.mechanism,
        )
        self.node = self._device.node

    def hear(self, topic: str, payload: bytes) -> None:
        """Take a message, as its client gives it."""
        self._device._came(topic, payload)

    def look(self) -> None:
        """Let it do what it would do now, and say what it has to say."""
        self._device._look()
        with suppress(StopIteration):  # a client that never waits
            self._talk().send(None)

    async def _talk(self) -> None:
        while await self._device._talker._say():
            pass


def _said(round: Any, root: bytes, mode: str) -> Claim:
    """Return whether a device on the broker says anything between a Round and its tick.

    Limits come right behind each Round: what is said of them would show when the frame was made.
    """
    device, now_ms, slowed = Device(round, root), [0], [0]
    spoken = _Spoken(device, now_ms)
    said, asking, site = spoken.line.said, device.asked, device.identity.site
    draw: Any = asking.DRAWS.draw

    def slow(*given: Any) -> Any:
        noise = draw(*given)
        now_ms[0] += 1 + int(TICK_MS * asking.size(round, noise)) % (TICK_MS - 10)
        slowed[0] += 1
        return noise

    wrong = []
    with replaced(asking.DRAWS, "draw", slow):
        for number in range(1, ROUNDS + 1):
            spoken.look()
            now_ms[0] += TICK_MS  # what came before the tick after a draw counts as come at it
            came, said[:] = now_ms[0], []
            limits = spoken.node.budget.limits
            spoken.hear(wire.round_topic(site, round.mechanism), message(round, number)[1])
            order = device.order(limits._replace(version=limits.version + 1))
            spoken.hear(tightening.topic(site, device.identity.name), order)
            while now_ms[0] < came + 3 * TICK_MS:
                spoken.look()
                now_ms[0] += 1
            spoken.ring.free()  # as a receipt does
            first = [(at_ms - came, leaf) for at_ms, leaf, _, _ in said]
            if not first or first[0] != (TICK_MS, "data") or first.count(first[0]) != 1:
                wrong.append(f"{first[:2]}")
            wrong += [
                f"{leaf} is retained" for _, leaf, _, kept in said if kept and leaf == "data"
            ]
    return true(
        f"a {mode} device on the broker says nothing between a Round and its frame's tick",
        not wrong and slowed[0] >= ROUNDS,
        samples=min(ROUNDS, slowed[0]),
        detail="; ".join(wrong[:3]),
    )


TRIES = 600


def wagered(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room with more than one answer, how often devices answered near by.

    What is counted is whether an answer is one that the reading makes likelier than another
    reading does: how often that is so is a binomial, whose tails are exact. It sees a device that
    draws with other weights than the Round's by a tenth. Exact laws are the business of `weighed`;
    this is the whole way, from keys to frames.
    """
    subject, tries = mechanism.subject, effort.pick(TRIES, 20 * TRIES)
    for name, query in subject.rooms():
        round = mechanism.plan(query, ())
        inputs, stated = subject.inputs(round), subject.stated(round)
        here, there = stated(inputs[0]), stated(inputs[len(inputs) // 2])
        likelier = {answer for answer, weight in here.items() if weight > there[answer]}
        if not likelier:
            continue  # everybody is in the same place
        chance = sum(here[one] for one in likelier) / sum(here.values())
        root = effort.root("wagers", name)
        device = Device(round, root, held=subject.limits(round, tries))
        near = 0
        for number in range(1, tries + 1):
            frame = device.answer(message(round, number)[1], inputs[0].values)
            near += frame is not None and tuple(device.opened(frame).payload) in likelier
        # Both tails, so half of what may be for each.
        rare = min(binom.cdf(near, tries, chance), binom.sf(near - 1, tries, chance))
        yield Claim(
            f"{name}: devices answer near by as often as the Round's weights say",
            chance,
            near / tries,
            bool(rare > effort.alpha / 2),
            unit="chance",
            samples=tries,
            alpha=effort.alpha,
            detail=f"{near} of {tries}",
        )


ANSWERS = 6  # of a device's life
NO_PLACES: tuple[Any, ...] = (
    None,
    1.5,
    "21",
    (1.5, 0),
    (1.0, 0.0),
    (1e9, 0),
    (float("nan"), 0),
    (True, False),
)
NO_PLACES += ((1 << 127, 0), ("2", "1"), (None, 0), (), "7", (1, 2, 3))


def spoken_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices say in each room, and how often.

    A device that draws its answer says nothing beside it, and answers no more than it may. Real
    devices with budgets, which answer signed Rounds with signed frames. It sees lengths or words
    that follow what a device was told, an answer made anew when it is asked again, Rounds of too
    large an epsilon that are answered, and epsilons that add up to too much. It cannot see what
    somebody adds to a device beside `edge`.

    A sealed device mixes the system's own entropy in, so how often it answered near by differs
    from run to run.
    """
    subject = mechanism.subject
    root = effort.root("spoken")
    for name, query in subject.rooms():
        round = mechanism.plan(query, ())
        yield from _places_alike(name, subject, round, root)
        yield _places_silent(name, subject, round, root)
        yield from _priced(name, subject, query, round, root)
        yield _refused(name, subject, round, root)
    yield from wagered(mechanism, effort)


def _places_alike(name: str, subject: Any, round: Any, root: bytes) -> Iterator[Claim]:
    """Yield what differs between devices that are told different things: their answers alone."""
    readings = subject.inputs(round)
    told = (readings[0].values, readings[len(readings) // 2].values, readings[-1].values)
    limits = subject.limits(round, ANSWERS)
    devices = [Device(round, root, held=limits) for _ in told]
    lengths: list[set[int | None]] = []
    words: list[set[str]] = []
    again = []
    for number in range(1, 2 * ANSWERS + 1):
        _, signed = message(round, number)
        frames = [one.answer(signed, values) for one, values in zip(devices, told, strict=True)]
        lengths.append({None if frame is None else len(frame) for frame in frames})
        words.append({one.said() for one in devices})
        anew = [
            one.answer(signed, values) for one, values in zip(devices, told[::-1], strict=True)
        ]
        again.append(anew == frames)
    yield true(
        f"{name}: a frame is as long, and what is said beside it the same, wherever a device is",
        all(len(long) == len(said) == 1 for long, said in zip(lengths, words, strict=True)),
        samples=len(lengths),
    )
    yield true(
        f"{name}: a Round asked again gets the same bytes, even from somewhere else",
        all(again),
        samples=len(again),
    )
    yield true(
        f"{name}: a device whose budget is out stays silent, and says that it is exhausted",
        lengths[ANSWERS:] == [{None}] * ANSWERS
        and None not in lengths[ANSWERS - 1]
        and all(one.node.state() == "exhausted" for one in devices),
        samples=len(lengths),
    )


def _places_silent(name: str, subject: Any, round: Any, root: bytes) -> Claim:
    """Return whether what a broken sensor gives, a secret still, gets into any word of it."""
    _, signed = message(round, 1)
    limits = subject.limits(round, ANSWERS)
    devices = [Device(round, root, held=limits) for _ in NO_PLACES]
    said = {
        (one.answer(signed, rubbish), one.said())
        for one, rubbish in zip(devices, NO_PLACES, strict=True)
    }
    return true(
        f"{name}: what is no place makes no frame, and nothing of it is said",
        len(said) == 1 and next(iter(said))[0] is None,
        samples=len(NO_PLACES),
        detail="" if len(said) == 1 else f"{len(said)} different answers",
    )


def _priced(name: str, subject: Any, query: Any, round: Any, root: bytes) -> Iterator[Claim]:
    """Yield what a device answers in all its life, over a start, and what that adds up to."""
    times, one = subject.readings(query), subject.spent(round)
    device, answers = Device(round, root, held=subject.limits(round, times)), 0
    where = subject.inputs(round)[0].values
    for number in range(1, 2 * times + 3):
        if number == 2 * times + 2:  # a start costs what is left of a lease
            device.boot()
        answers += device.answer(message(round, number)[1], where) is not None
    yield at_most(
        f"{name}: what a device answers in the life of its key adds up to epsilon at the most",
        float(Fraction(*round.guarantee.epsilon)),
        float(answers * one),
        unit="epsilon",
        samples=2 * times + 2,
    )
    yield true(
        f"{name}: a device answers as often as was promised, and then never again",
        answers == times and device.node.state() == "exhausted",
        samples=2 * times + 2,
        detail=f"{answers} of {times}",
    )
    yield at_most(
        f"{name}: a device charges no less for an answer than it is worth",
        float(Fraction(device.budget.spent, times * 10**9)),
        float(one * one / 2),
        unit="rho",
        samples=times,
    )


def _refused(name: str, subject: Any, round: Any, root: bytes) -> Claim:
    """Return whether anything is answered that asks for more than was enrolled or promised."""
    num, den = round.guarantee.epsilon
    less = round.guarantee._replace(epsilon=(num, 1000 * den))
    asked = [(f"a promise of {num}/{1000 * den}", round._replace(guarantee=less), "sealed")]
    asked += [("a key that is held", round, "keyholder")]
    asked += [(words, bent, "sealed") for words, bent in subject.bent(round)]
    answered, limits = [], subject.limits(round, ANSWERS)
    for words, bent, mode in asked:
        device = Device(round, root, held=limits, mode=mode)
        frame = device.answer(message(bent, 1)[1], subject.inputs(round)[0].values)
        if frame is not None or device.budget.spent:
            answered.append(words)
    return at_most(
        f"{name}: no Round is answered or charged that asks for more than a device may give",
        0,
        len(answered),
        unit="Rounds",
        samples=len(asked),
        detail=", ".join(answered),
    )


INFINITE, NO_NUMBER = float("inf"), float("nan")
NO_READINGS: tuple[Any, ...] = (
    None,
    1.5,
    "21",
    (1, 2),
    (1.5,),
    (2.0,),
    (1e9,),
    (-1e9,),
    (INFINITE,),
    (NO_NUMBER,),
)
NO_READINGS += (("21",), (None,), (True,), (1 << 127,), (-(1 << 127),), (), "7")


def words_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices say that see different things, or rubbish, or draw huge noise.

    The length and the words of a device tell nothing of its noise or its reading. Devices of one
    key that see different things are held side by side: nothing may differ but the sums
    themselves. What it cannot see: what somebody adds to a device's firmware beside `edge`.
    """
    round = plans(mechanism)[0].round
    root = effort.root("words")
    for wide in (0, 1 << 20):  # frames of 16 bits a number, and of 32
        low, high = round.params[2] - wide, round.params[3] + wide
        # A keyholder's noise can be repeated, so devices can be held side by side.
        asked = round._replace(params=(*round.params[:2], low, high, *round.params[4:6], 1))
        yield from _readings_alike(asked, root, thermal.bits(asked))
    yield _readings_silent(asked, root)
    yield _fits(asked, root)


def _readings_alike(round: Any, root: bytes, bits: int) -> Iterator[Claim]:
    """Yield what differs between devices of one key that see different things: the sum alone."""
    low, high = round.params[2:4]
    still, odd = ((low, high), (0, 0), (high, low)), ((low, high), (1, low), (0, high))
    # Enough for some Rounds, and then it is exhausted: the words of that are compared as well.
    cost = -(-(10**9) * round.guarantee.rho[0] // round.guarantee.rho[1])
    budget = ROUNDS // 2 * cost + cost // 2
    devices = [Device(round, root, sensors=2, budget=budget) for _ in still]
    lengths, noises, words, silent = [], [], [], 0
    for number in range(1, ROUNDS + 1):
        _, signed = message(round, number)
        rooms = still if number % 2 else odd  # one sees the same always, the others do not
        frames = [device.answer(signed, room) for device, room in zip(devices, rooms, strict=True)]
        lengths.append({None if frame is None else len(frame) for frame in frames})
        words.append(
            {
                str((device.node.refusal, device.node.state(), device.node.meta()))
                for device in devices
            }
        )
        silent += frames[0] is None
        if None not in frames:
            reports = [device.opened(frame) for device, frame in zip(devices, frames, strict=True)]
            noises.append(
                {
                    tuple(y - x for y, x in zip(report.payload[1:], room, strict=True))
                    for report, room in zip(reports, rooms, strict=True)
                }
            )
    yield true(
        f"the noise of a frame of {bits}-bit numbers is the same whatever is read",
        bool(noises) and all(len(noise) == 1 for noise in noises),
        samples=len(noises),
    )
    yield true(
        f"the length of a frame of {bits}-bit numbers is the same whatever is read",
        all(len(length) == 1 for length in lengths),
        samples=len(lengths),
    )
    yield true(
        "what a device says of itself is the same whatever is read, and when its budget is out",
        all(len(said) == 1 for said in words),
        samples=len(words),
    )
    yield true(
        "a device whose budget is out stays silent, and says that it is exhausted",
        ROUNDS // 2 <= silent < ROUNDS
        and all(device.node.state() == "exhausted" for device in devices),
        samples=silent,
    )


def _readings_silent(round: Any, root: bytes) -> Claim:
    """Return whether what a broken sensor gives, a secret still, gets into any word of it."""
    refusals = set()
    _, signed = message(round, 1)
    for rubbish in NO_READINGS:
        device = Device(round, root)
        frame = device.node.answer(signed, lambda params, given=rubbish: given)
        spent = device.budget.spent, device.node.ahead.seq, device.node.faults
        refusals.add((frame, device.node.refusal, str(device.node.meta()), spent))
    return true(
        "a broken sensor makes no frame, and nothing that it gave is said",
        len(refusals) == 1,
        samples=len(NO_READINGS),
        detail="" if len(refusals) == 1 else f"{len(refusals)} different answers",
    )


def _fits(round: Any, root: bytes) -> Claim:
    """Return whether noise of any size makes a frame: one that is missing would tell of it."""
    low, high = round.params[2:4]
    lengths, drawn = set(), []
    for noise in (0, 1 << 15, 1 << 31, -(1 << 31), 1 << 45, -(1 << 45)):
        for value in (low, 0, high):

            def huge(variance: int, count: int, *_: Any, z: int = noise) -> list[int]:
                drawn.append(z)
                return [z] * count

            with replaced(veil, "draw", huge):
                device = Device(round, root)
                frame = device.answer(message(round, 1)[1], (value,))
            lengths.add(None if frame is None else len(frame))
    return true(
        "noise of any size makes a frame, and one of the same length",
        len(drawn) == 18 and len(lengths) == 1 and None not in lengths,
        samples=len(drawn),
    )
