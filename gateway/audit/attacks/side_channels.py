"""Layers `words` and `moments`: what a device gives away beside its answer."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from edge.core import tightening, wire
from edge.mechanisms import thermal_half
from edge.net import device as edge_device
from edge.net.ring import Ring
from edge.net.ticker import Ticker

from ..bench import Device, list_plans, record_blocks, replace_attribute, sign_round_as, subject_of
from ..claim import Claim, Effort, claim_at_most, claim_fact, claim_none

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
    round = list_plans(mechanism)[0].round._replace(number=1)
    root = effort.root("moments")
    for mode, asked in mechanism.subject.asked.list_modes(round):
        yield from _claim_order(asked, root, mode)
        yield _on_the_tick(asked, root, mode)
        yield _claim_quiet_until_tick(asked, root, mode)


def _claim_order(round: Any, root: bytes, mode: str) -> Iterator[Claim]:
    """Yield whether blocks of noise are drawn at any time between a Round and its frame."""
    device = Device(round, root, sensors=subject_of(round).SENSORS)
    late, unready = 0, 0
    with record_blocks() as blocks:
        for number in range(1, ROUNDS + 1):
            _, signed = sign_round_as(round, number)
            ready = number % 2 == 0
            if ready:
                device.node.prepare()
            before: list[int] = [blocks.count]

            def read(params: Any, before: list[int] = before) -> tuple[int, ...]:
                before.append(blocks.count)
                return device.make_readings(3)

            frame = device.node.answer(signed, read)
            late += frame is None or len(before) != 2 or blocks.count != before[1]
            unready += ready and before[1:] != before[:1]
    sentence = f"a {mode} device draws no noise once its sensor has been read"
    yield claim_fact(sentence, not late, samples=ROUNDS)
    sentence = f"a {mode} device has its noise before a Round comes"
    yield claim_fact(sentence, not unready, samples=ROUNDS // 2)


@contextmanager
def _delay_draws(
    asking: Any, round: Any, now_ms: list[int], takes_ms: Callable[[int], int]
) -> Iterator[list[int]]:
    """Let the clock go on at each draw, by what is made of its noise's size; give their count."""
    draw, slowed = asking.DRAWS.draw, [0]

    def slow(*given: Any) -> Any:
        noise = draw(*given)
        now_ms[0] += takes_ms(int(TICK_MS * asking.measure_draw(round, noise)))
        slowed[0] += 1
        return noise

    with replace_attribute(asking.DRAWS, "draw", slow):
        yield slowed


def _on_the_tick(round: Any, root: bytes, mode: str) -> Claim:
    """Return whether each frame leaves one tick after its Round, however slow its noise was.

    Every fourth Round asks for other noise than the one before, so that what was drawn ahead is
    of no use; then the tick, which is longer than that draw, must hide how long it took.
    """
    device, waits, now_ms, slowest = Device(round, root), [], [0], [0]
    ticker, asking = Ticker(device.node, TICK_MS), device.asked
    with _delay_draws(asking, round, now_ms, lambda ms: 5 + min(ms, slowest[0])) as slowed:
        for number in range(1, ROUNDS + 1):
            for _ in range(3):  # nothing is due: time to draw ahead
                ticker.poll(now_ms[0])
                now_ms[0] += 7
            came, frame = now_ms[0], None
            asked = asking.vary_round(round, number // 4)
            # Nothing may lie ready for the first Round of a boot either: it brings the weights.
            slowest[0] = TICK_MS - 10 if number % 4 == 0 or number == 1 else 3 * TICK_MS
            ticker.take(
                sign_round_as(asked, number)[1], lambda params: device.make_readings(5), now_ms[0]
            )
            slowest[0] = 3 * TICK_MS
            while frame is None and now_ms[0] < came + 20 * TICK_MS:
                frame = ticker.poll(now_ms[0])
                now_ms[0] += frame is None
            waits.append(now_ms[0] - came)
    return claim_fact(
        f"a {mode} device's frame leaves one tick after its Round, however large its noise",
        set(waits) == {TICK_MS} and slowed[0] > ROUNDS,
        samples=min(len(waits), slowed[0]),
        detail=f"after {min(waits)} to {max(waits)} ms, the tick is {TICK_MS}",
    )


class _Line:
    """A client that notes what it is given, and when: (ms, leaf, whether retained)."""

    connected, reconnects = True, 0

    def __init__(self, clock: list[int]) -> None:
        self.clock = clock
        self.said: list[tuple[int, str, bool]] = []
        self.link = SimpleNamespace(busy=False, hush=lambda uptime, until_ms: None)

    async def publish(
        self, topic: str, payload: bytes, qos: int = 0, retain: bool = False
    ) -> bool:
        """Return True: a broker has everything at once."""
        self.said.append((self.clock[0], topic.rpartition("/")[2], retain))
        return True


class _Spoken:
    """A whole `edge.net.device` on a clock of ours, one look at a time."""

    def __init__(self, device: Device, clock: list[int]) -> None:
        uptime = SimpleNamespace(
            EARLY_MS=0, now_ms=lambda: clock[0], block_until=lambda due_ms: None
        )
        self.line, self.ring = _Line(clock), Ring(1 << 16)
        self._device = edge_device.Device(
            device.identity,
            device.budget,
            lambda params: device.make_readings(5),
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


def _claim_quiet_until_tick(round: Any, root: bytes, mode: str) -> Claim:
    """Return whether a device on the broker says anything between a Round and its tick.

    Limits come right behind each Round: what is said of them would show when the frame was made.
    """
    device, now_ms = Device(round, root), [0]
    spoken = _Spoken(device, now_ms)
    said, site = spoken.line.said, device.identity.site
    wrong: list[str] = []
    with _delay_draws(device.asked, round, now_ms, lambda ms: 1 + ms % (TICK_MS - 10)) as slowed:
        for number in range(1, ROUNDS + 1):
            spoken.look()
            now_ms[0] += TICK_MS  # what came before the tick after a draw counts as come at it
            came, said[:] = now_ms[0], []
            limits = spoken.node.budget.limits
            spoken.hear(wire.round_topic(site, round.mechanism), sign_round_as(round, number)[1])
            order = device.sign_limits(limits._replace(version=limits.version + 1))
            spoken.hear(tightening.topic(site, device.identity.name), order)
            while now_ms[0] < came + 3 * TICK_MS:
                spoken.look()
                now_ms[0] += 1
            spoken.ring.drop_oldest()  # as a receipt does
            first = [(at_ms - came, leaf) for at_ms, leaf, _ in said]
            if not first or first[0] != (TICK_MS, "data") or first.count(first[0]) != 1:
                wrong.append(f"{first[:2]}")
            wrong += ["data is retained" for _, leaf, kept in said if kept and leaf == "data"]
    return claim_fact(
        f"a {mode} device on the broker says nothing between a Round and its frame's tick",
        not wrong and slowed[0] >= ROUNDS,
        samples=min(ROUNDS, slowed[0]),
        detail="; ".join(wrong[:3]),
    )


ANSWERS = 6  # of a device's life
NO_NUMBERS: tuple[Any, ...] = (1.5, 2.0, 1e9, -1e9, float("inf"), float("nan"))
NO_NUMBERS += ("21", None, True, 1 << 127, -(1 << 127))


def words_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices say that see different things, or rubbish, and how often.

    The length and the words of a device tell nothing of its noise or its reading. Devices of one
    key that see different things are held side by side: nothing may differ but the numbers that
    are sent. It sees lengths or words that follow what a device was told, an answer made anew when
    it is asked again, noise that makes no frame, Rounds of too large an epsilon that are answered,
    and epsilons that add up to too much. It cannot see what somebody adds to a device's firmware
    beside `edge`, nor the law of an answer, which `finite` enumerates.
    """
    subject, root = mechanism.subject, effort.root("words")
    if subject.KIND == "finite":
        yield from _claim_places_hidden(mechanism, root)
    else:
        yield from _claim_readings_hidden(mechanism, root)


def _claim_readings_hidden(mechanism: Any, root: bytes) -> Iterator[Claim]:
    round = list_plans(mechanism)[0].round
    for wide in (0, 1 << 20):  # frames of 16 bits a number, and of 32
        low, high = round.params[2] - wide, round.params[3] + wide
        # A keyholder's noise can be repeated, so devices can be held side by side.
        asked = round._replace(params=(*round.params[:2], low, high, *round.params[4:6], 1))
        still, odd = ((low, high), (0, 0), (high, low)), ((low, high), (1, low), (0, high))
        # Enough for some Rounds, and then it is exhausted: the words of that are compared as well.
        cost = -(-(10**9) * round.guarantee.rho[0] // round.guarantee.rho[1])
        budget = ROUNDS // 2 * cost + cost // 2
        devices = [Device(asked, root, sensors=2, budget=budget) for _ in still]
        # One sees the same always, the others do not.
        told = [odd if number % 2 else still for number in range(ROUNDS)]
        yield from _compare(f"frames of {mechanism.bits(asked)}-bit numbers", devices, told)
        yield _claim_same_noise(asked, root, (still, odd))
    yield _claim_broken_sensor(
        "a reading",
        asked,
        [Device(asked, root) for _ in _make_invalid_readings(1)],
        _make_invalid_readings(1),
    )
    yield _claim_huge_noise_fits(asked, root)


def _limit(asked: Any, round: Any, answers: int) -> Any:
    """Return the limits of a device that may give so many answers to such a Round."""
    price = math.ceil(asked.compute_cost(round, asked.make_limits(round, 0)))
    return asked.make_limits(round, answers * price)


def _claim_places_hidden(mechanism: Any, root: bytes) -> Iterator[Claim]:
    subject = mechanism.subject
    for name, query in subject.list_queries():
        round = mechanism.plan(query, ())
        limits, readings = _limit(subject.asked, round, ANSWERS), subject.list_readings(round)
        told = tuple(readings[at].values for at in (0, len(readings) // 2, -1))
        devices = [Device(round, root, held=limits) for _ in told]
        yield from _compare(name, devices, [told] * (2 * ANSWERS))
        rubbish = _make_invalid_readings(2)
        devices = [Device(round, root, held=limits) for _ in rubbish]
        yield _claim_broken_sensor(name, round, devices, rubbish)
        yield from _claim_price(name, subject, query, round, root)
        yield _claim_excess_refused(name, subject, round, root)


def _make_invalid_readings(width: int) -> tuple[Any, ...]:
    """Return what is no reading of so many numbers."""
    several = [(one, *(0,) * (width - 1)) for one in NO_NUMBERS]
    return (None, 1.5, "21", "7", (), (0,) * (width + 1), *several)


def _compare(name: str, devices: list[Device], told: Sequence[tuple[Any, ...]]) -> Iterator[Claim]:
    """Yield what differs between devices that are told different things: their answers alone.

    Args:
        told: what each device is told, Round after Round; half of them are answered.
    """
    lengths: list[set[int | None]] = []
    words: list[set[str]] = []
    again = []
    for number, values in enumerate(told, 1):
        frames = [one.ask(number, own) for one, own in zip(devices, values, strict=True)]
        lengths.append({None if frame is None else len(frame) for frame in frames})
        words.append({one.describe() for one in devices})
        anew = [one.ask(number, own) for one, own in zip(devices, values[::-1], strict=True)]
        again.append(anew == frames)
    yield claim_fact(
        f"{name}: a frame is as long, and what is said beside it the same, whatever is read",
        all(len(long) == len(said) == 1 for long, said in zip(lengths, words, strict=True)),
        samples=len(lengths),
    )
    yield claim_fact(
        f"{name}: a Round asked again gets the same bytes, even where something else is read",
        all(again),
        samples=len(again),
    )
    half = len(told) // 2
    yield claim_fact(
        f"{name}: a device whose budget is out stays silent, and says that it is exhausted",
        lengths[half:] == [{None}] * half
        and None not in lengths[0]
        and all(one.node.state() == "exhausted" for one in devices),
        samples=len(lengths),
    )


def _claim_same_noise(
    round: Any, root: bytes, turns: Sequence[Sequence[tuple[int, ...]]]
) -> Claim:
    """Return whether devices of one key draw the same noise, whatever they read."""
    devices = [Device(round, root, sensors=2) for _ in turns[0]]
    alike = 0
    for number in range(1, ROUNDS // 2 + 1):
        noises = set()
        for device, room in zip(devices, turns[number % len(turns)], strict=True):
            payload = device.open_frame(device.ask(number, room)).payload
            noises.add(tuple(y - x for y, x in zip(payload[1:], room, strict=True)))
        alike += len(noises) == 1
    sentence = f"the noise within {round.params[2:4]} is the same whatever is read"
    return claim_fact(sentence, alike == ROUNDS // 2, samples=ROUNDS // 2)


def _claim_broken_sensor(
    name: str, round: Any, devices: list[Device], rubbish: Sequence[Any]
) -> Claim:
    """Return whether what a broken sensor gives, a secret still, gets into any word of it."""
    _, signed = sign_round_as(round, 1)
    said = set()
    for one, given in zip(devices, rubbish, strict=True):
        frame = one.node.answer(signed, lambda params, given=given: given)
        said.add((frame, one.describe(), one.budget.spent, one.node.ahead.seq, one.node.faults))
    return claim_fact(
        f"{name}: a broken sensor makes no frame, and nothing that it gave is said",
        len(said) == 1 and next(iter(said))[0] is None,
        samples=len(rubbish),
        detail="" if len(said) == 1 else f"{len(said)} different answers",
    )


def _claim_price(name: str, subject: Any, query: Any, round: Any, root: bytes) -> Iterator[Claim]:
    """Yield what a device answers in all its life, over a start, and what that adds up to."""
    times, one = query.readings, subject.price_answer(round)
    device, answers = Device(round, root, held=_limit(subject.asked, round, times)), 0
    where = subject.list_readings(round)[0].values
    for number in range(1, 2 * times + 3):
        if number == 2 * times + 2:  # a start costs what is left of a lease
            device.boot()
        answers += device.ask(number, where) is not None
    yield claim_at_most(
        f"{name}: what a device answers in the life of its key adds up to epsilon at the most",
        Fraction(*round.guarantee.epsilon),
        answers * one,
        unit="epsilon",
        samples=2 * times + 2,
    )
    yield claim_fact(
        f"{name}: a device answers as often as was promised, and then never again",
        answers == times and device.node.state() == "exhausted",
        samples=2 * times + 2,
        detail=f"{answers} of {times}",
    )
    yield claim_at_most(
        f"{name}: a device charges no less for an answer than it is worth",
        Fraction(device.budget.spent, times * 10**9),
        one * one / 2,
        unit="rho",
        samples=times,
    )


def _claim_excess_refused(name: str, subject: Any, round: Any, root: bytes) -> Claim:
    """Return whether anything is answered that asks for more than was enrolled or promised."""
    num, den = round.guarantee.epsilon
    less = round.guarantee._replace(epsilon=(num, 1000 * den))
    asked = [(f"a promise of {num}/{1000 * den}", round._replace(guarantee=less), "sealed")]
    asked += [("a key that is held", round, "keyholder")]
    asked += [(words, bent, "sealed") for words, bent in subject.list_bad_rounds(round)]
    answered, limits = [], _limit(subject.asked, round, ANSWERS)
    for words, bent, mode in asked:
        device = Device(round, root, held=limits, mode=mode)
        frame = device.ask(1, subject.list_readings(round)[0].values, bent)
        if frame is not None or device.budget.spent:
            answered.append(words)
    sentence = f"{name}: no Round is answered or charged that asks for more than a device may give"
    return claim_none(sentence, answered, "Rounds", samples=len(asked))


def _claim_huge_noise_fits(round: Any, root: bytes) -> Claim:
    """Return whether noise of any size makes a frame: one that is missing would tell of it."""
    low, high = round.params[2:4]
    lengths, drawn = set(), []
    for noise in (0, 1 << 15, 1 << 31, -(1 << 31), 1 << 45, -(1 << 45)):
        for value in (low, 0, high):

            def huge(variance: int, count: int, *_: Any, z: int = noise) -> list[int]:
                drawn.append(z)
                return [z] * count

            with replace_attribute(thermal_half, "draw", huge):
                device = Device(round, root)
                frame = device.ask(1, (value,))
            lengths.add(None if frame is None else len(frame))
    return claim_fact(
        "noise of any size makes a frame, and one of the same length",
        len(drawn) == 18 and len(lengths) == 1 and None not in lengths,
        samples=len(drawn),
    )
