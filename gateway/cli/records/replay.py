"""Recorded messages once more, to see what becomes of them: `heatveil replay`."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from math import inf
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from edge.core import wire
from edge.core.entropy import sealed
from edge.core.records import Release
from edge.mechanisms.secure_sum import ROUND_BYTES

from ...devices.enrol.enrol import Devices, load_devices
from ...faults import OperatorFault
from ...mechanisms import MECHANISMS, find_mechanism, find_serving
from ...service.intake.door import Door
from ...service.intake.judge import judge_reports
from ...service.intake.outcomes import Key, KnownFacts, Who, hash_frame
from ...service.ledger import compute_round_rho, is_distributed, is_paid_at_release
from ...service.mqtt.connection import Message
from ...service.rounds import OpenRound
from ...service.steps import fold_round
from ...settings import config as deployments
from ...settings.deployment import Deployment
from ...store.reader import Reader, open_reader
from .. import flags

# What a gateway would have made of recorded messages: real door, judge and mechanism, no I/O.
#
# A round is open from the message that asks it to the empty one that takes it back, as on the
# broker. So no clock is needed: what comes after that is late, whatever time it was. The guard,
# which goes by the clock, is not asked.


class Outcome(NamedTuple):
    """What became of a message: a word, why it was refused, and the round that it ended."""

    word: str  # opened, closed, taken, again, refused, other
    why: str = ""
    ended: OpenRound | None = None


OTHER = Outcome("other")  # what a gateway does not listen to, such as receipts


class Rehearsal:
    """A gateway without broker, store and clock; it remembers what a store would."""

    def __init__(self, devices: Devices) -> None:
        """Begin with no round open, and nothing heard of any device."""
        self._devices, self._door = devices, Door(devices)
        self._rounds = {wire.round_topic(devices.site, one.name) for one in MECHANISMS}
        self.open: OpenRound | None = None
        self._newest: dict[Who, tuple[int, int]] = {}
        self._seen: dict[Key, dict[bytes, bool]] = {}
        self._prices: dict[bytes, Fraction] = {}
        self._answered: set[tuple[bytes, str]] = set()

    def take_message(self, topic: str, payload: bytes) -> Outcome:
        """Return what becomes of the next message."""
        if topic in self._rounds:
            return self._take_round(topic, payload) if payload else self.close_round()
        parts = topic.split("/")
        if len(parts) < 2 or topic != wire.topic(self._devices.site, parts[-2], "data"):
            return OTHER
        return self._take_report(Message(topic, payload, (0, 0)))

    def close_round(self) -> Outcome:
        """End the round that is open, if there is one."""
        ended, self.open = self.open, None
        return Outcome("closed", "", ended)

    def _take_round(self, topic: str, payload: bytes) -> Outcome:
        try:
            plan = wire.unpack_round(payload, self._devices.site_key, topic, ROUND_BYTES)
            cost = compute_round_rho(plan.guarantee)
        except Exception as fault:  # as for reports: whatever bytes do to a decoder
            return Outcome("refused", f"it is no round that this site has asked: {fault}")
        name = wire.name_of(plan)
        if self.open is not None and self.open.name == name:
            return Outcome("again")  # asked once more, after a start
        if name in self._prices:
            return Outcome("refused", f"round {plan.number} is over; it is not asked twice")
        self._prices[name] = cost
        ended = self.close_round().ended
        places = {one.name: one.place for one in self._devices.by_name.values()}
        self.open = OpenRound(
            plan, name, inf, places, wrong=find_serving(plan.mechanism).payload_fault(plan)
        )
        return Outcome("opened", "", ended)

    def _take_report(self, message: Message) -> Outcome:
        sifted = self._door.sift_messages([message], 0.0)
        if sifted.letters:
            (letter,) = sifted.letters
            return Outcome("refused", f"{letter.kind}: {letter.why}")
        (arrival,) = sifted.arrivals
        answer = (arrival.report.round, arrival.report.sender)
        seen = {key: self._seen[key] for key in [arrival.key] if key in self._seen}
        known = KnownFacts(seen, self._prices, self._answered & {answer})
        verdict = judge_reports([arrival], self.open, self._newest, known, 0.0)
        verdict.apply(self._newest)
        if verdict.again:
            return Outcome("again")
        frames = self._seen.setdefault(arrival.key, {})
        frames[hash_frame(message.payload)] = bool(verdict.kept)
        self._answered.add(answer)
        if verdict.letters:
            (letter,) = verdict.letters
            return Outcome("refused", f"{letter.kind}: {letter.why}")
        return Outcome("taken")


def fold_answers(ended: OpenRound) -> Release | None:
    """Return the answers of a round that has ended, folded as the gateway does; or None.

    None where the fold draws the noise: two draws for one round would give away what it hides.
    """
    plan: Any = ended.plan
    if is_paid_at_release(plan.guarantee):
        return None
    return fold_round(find_mechanism(plan.mechanism), ended, sealed(os.urandom(32)))


# A line is an object with the topic and the payload in hex; what else is in it is left alone. So a
# recording is what `heatveil export --what messages` writes, or what comes of
#
#     mosquitto_sub -t 'heatveil/1/lab/#' -F '{"at_s": %U, "topic": "%t", "payload": "%x"}'
#
# Nothing is written and nothing is published: this is a dry run, and a store is only read.

LINE_BYTES = 4 << 20  # a message is 1 MiB at the most, and twice that in hex


def replay(
    file: Annotated[
        Path, typer.Argument(help="JSON lines, as `heatveil export --what messages` writes them.")
    ],
    config: flags.Config,
) -> None:
    """See what becomes of recorded messages, without writing or publishing anything."""
    deployment = deployments.load_deployment(config)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    rehearsal, total, same = Rehearsal(devices), Counter[str](), True
    with ExitStack() as stack:
        store = _store(deployment, stack)
        counted: Counter[str] = Counter()
        for number, topic, payload in read_recording(file):
            outcome = rehearsal.take_message(topic, payload)
            if outcome.ended is not None:
                same &= _tell_ended(outcome.ended, counted, store)
                counted.clear()
            if outcome.word == "refused":
                typer.echo(f"line {number} is refused: {outcome.why} ({topic})")
            total[outcome.word] += 1
            counted[outcome.word] += 1
        if (left := rehearsal.close_round().ended) is not None:
            typer.echo(f"the recording ends within round {left.plan.number}, which is closed here")
            same &= _tell_ended(left, counted, store)
    typer.echo(
        f"{total['taken']} reports taken, {total['again']} messages that came again, "
        f"{total['refused']} refused, {total['other']} not for a gateway"
    )
    if not same:
        raise typer.Exit(1)


def _tell_ended(ended: OpenRound, counted: Counter[str], store: Reader | None) -> bool:
    """Say what came of a round; return False where the store has something else."""
    number = ended.plan.number
    if is_distributed(ended.plan.guarantee):
        typer.echo(
            f"round {number}: a secure sum; what its devices sent can be opened by nobody again"
        )
        return True
    came = f"{len(ended.reports)} of {len(ended.places)} devices, {counted['refused']} refused"
    result = fold_answers(ended)
    if result is None:
        typer.echo(f"round {number}: {came}; its noise is the gateway's and is not drawn twice")
        return True
    verdict, same = _compare(ended, list(result.values), result.reports, store)
    typer.echo(f"round {number}: {came}; {verdict}")
    typer.echo(f"round {number} gives {json.dumps(list(result.values))}")
    return same


def _compare(
    ended: OpenRound, values: list[int | None], count: int, store: Reader | None
) -> tuple[str, bool]:
    if store is None:
        return "no store to hold it against", True
    row = store.find_round(ended.plan.number)
    if row is None or row.name_hex != ended.name.hex():
        return "the store does not know that round", True
    kept = store.read_release(row.number)
    if kept is None:
        return "in the store it is still open", True
    if (kept, row.reports) == (values, count):
        return "as in the store", True
    return f"NOT as in the store, which has {row.reports} devices and {json.dumps(kept)}", False


def read_recording(file: Path) -> Iterator[tuple[int, str, bytes]]:
    """Give line number, topic and payload of every message in a recording.

    Raises:
        OperatorFault: it cannot be read, or a line is no message.
    """
    try:
        with file.open("rb") as lines:
            pieces = iter(partial(lines.readline, LINE_BYTES), b"")
            for number, line in enumerate(pieces, 1):
                if line.strip():
                    yield number, *_parse_recorded_message(file, number, line)
    except OSError as fault:
        raise OperatorFault(
            f"{file} cannot be read ({fault.strerror}), so no messages can be replayed. Name a "
            "file that `heatveil export --what messages` wrote"
        ) from fault


def _parse_recorded_message(file: Path, number: int, line: bytes) -> tuple[str, bytes]:
    try:
        found: Any = json.loads(line)
        topic, payload = found["topic"], bytes.fromhex(found["payload"])
        if not isinstance(topic, str):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise OperatorFault(
            f"line {number} of {file} is no recorded message but must be an object such as "
            '{"topic": "heatveil/1/lab/node-0/data", "payload": "a600..."}, with the payload in '
            "hex. Nothing was replayed: without that line the round would have another result. "
            "Correct the line, or remove it if it is not a message"
        ) from fault
    return topic, payload


def _store(deployment: Deployment, stack: ExitStack) -> Reader | None:
    try:
        return stack.enter_context(open_reader(deployment))
    except OperatorFault as fault:
        typer.echo(f"no result is held against a store: {fault}")
        return None
