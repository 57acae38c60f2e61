"""Recorded messages once more, to see what becomes of them: `heatveil replay`.

A line is an object with the topic and the payload in hex; what else is in it is left alone. So a
recording is what `heatveil export --what messages` writes, or what comes of

    mosquitto_sub -t 'heatveil/1/lab/#' -F '{"at_s": %U, "topic": "%t", "payload": "%x"}'

Nothing is written and nothing is published: this is a dry run, and a store is only read.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .. import config as deployments
from ..deployment import Deployment
from ..enrolment.enrol import load_devices
from ..faults import OperatorFault
from ..rounds import OpenRound
from ..storage.reader import Reader
from .rehearsed import Rehearsal, released
from .stored import reading

LINE_BYTES = 4 << 20  # a message is 1 MiB at the most, and twice that in hex


def replay(file: Path, config: Path, say: Callable[[str], None]) -> bool:
    """Say what becomes of every message; return whether every result is as the store has it.

    Raises:
        OperatorFault: the deployment, its devices or a line of the file is at fault.
    """
    deployment = deployments.load(config)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    rehearsal, total, same = Rehearsal(devices), Counter[str](), True
    with ExitStack() as stack:
        store = _store(deployment, stack, say)
        counted: Counter[str] = Counter()
        for number, topic, payload in recorded(file):
            outcome = rehearsal.hear(topic, payload)
            if outcome.ended is not None:
                same &= _ended(outcome.ended, counted, store, say)
                counted.clear()
            if outcome.word == "refused":
                say(f"line {number} is refused: {outcome.why} ({topic})")
            total[outcome.word] += 1
            counted[outcome.word] += 1
        if (left := rehearsal.close().ended) is not None:
            say(f"the recording ends within round {left.plan.number}, which is closed here")
            same &= _ended(left, counted, store, say)
    say(
        f"{total['taken']} reports taken, {total['again']} messages that came again, "
        f"{total['refused']} refused, {total['other']} not for a gateway"
    )
    return same


def _ended(
    ended: OpenRound, counted: Counter[str], store: Reader | None, say: Callable[[str], None]
) -> bool:
    """Say what came of a round; return False where the store has something else."""
    number = ended.plan.number
    came = f"{len(ended.reports)} of {len(ended.places)} devices, {counted['refused']} refused"
    result = released(ended)
    if result is None:
        say(f"round {number}: {came}; its noise is the gateway's and is not drawn twice")
        return True
    verdict, same = _compared(ended, list(result.values), result.reports, store)
    say(f"round {number}: {came}; {verdict}")
    say(f"round {number} gives {json.dumps(list(result.values))}")
    return same


def _compared(
    ended: OpenRound, values: list[int | None], count: int, store: Reader | None
) -> tuple[str, bool]:
    if store is None:
        return "no store to hold it against", True
    row = store.round(ended.plan.number)
    if row is None or row.name_hex != ended.name.hex():
        return "the store does not know that round", True
    kept = store.release(row.number)
    if kept is None:
        return "in the store it is still open", True
    if (kept, row.reports) == (values, count):
        return "as in the store", True
    return f"NOT as in the store, which has {row.reports} devices and {json.dumps(kept)}", False


def recorded(file: Path) -> Iterator[tuple[int, str, bytes]]:
    """Give line number, topic and payload of every message in a recording.

    Raises:
        OperatorFault: it cannot be read, or a line is no message.
    """
    try:
        with file.open("rb") as lines:
            number = 0
            while line := lines.readline(LINE_BYTES):
                number += 1
                if line.strip():
                    yield number, *_message(file, number, line)
    except OSError as fault:
        raise OperatorFault(
            f"{file} cannot be read ({fault.strerror}), and what is in it is what would be "
            "replayed. Name a file that `heatveil export --what messages` wrote"
        ) from fault


def _message(file: Path, number: int, line: bytes) -> tuple[str, bytes]:
    try:
        found: Any = json.loads(line)
        topic, payload = found["topic"], bytes.fromhex(found["payload"])
        if not isinstance(topic, str):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise OperatorFault(
            f"line {number} of {file} is no recorded message but must be an object such as "
            '{"topic": "heatveil/1/lab/node-0/data", "payload": "a600..."}, with the payload in '
            "hex: with a line left out the round would come out otherwise. Mend or remove it"
        ) from fault
    return topic, payload


def _store(deployment: Deployment, stack: ExitStack, say: Callable[[str], None]) -> Reader | None:
    try:
        return stack.enter_context(reading(deployment))
    except OperatorFault as fault:
        say(f"no result is held against a store: {fault}")
        return None
