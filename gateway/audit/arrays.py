"""Arrays of the layer `tables`: what a device with many readings adds to them, and refuses."""

from collections.abc import Iterator
from typing import Any

from edge import bulk, entropy, thermal
from edge.host import rootkeys
from edge.sampler import WIDEST, Sampler

from . import tabling
from .bench import Device, message
from .claim import Claim, Effort, at_most, true
from .watch import listening

ANSWERS = 2**20  # of a key, with noise from tables
ROUNDS, SENSORS = 6, 16


def claims(round: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what an array that is asked this Round adds to its readings, and what it refuses."""
    yield from _answers(round, effort)
    yield _held_to(round, effort)


def _answers(round: Any, effort: Effort) -> Iterator[Claim]:
    root = effort.root("arrays")
    device = Device(round, root, sensors=SENSORS, tables=True)
    opened = other = late = 0
    with listening() as blocks:
        for number in range(1, ROUNDS + 1):
            if number == ROUNDS // 2:
                device.boot()
            made = round.params[4] * (1 + number % 2)  # more noise than the least, by turns
            params = (*round.params[:4], made, *round.params[5:])
            asked, signed = message(round._replace(params=params), number)
            seen, before = tuple(range(number, number + SENSORS)), [0]

            def read(_: Any, seen: Any = seen, before: Any = before) -> Any:
                before[0] = blocks.count
                return seen

            report = device.opened(device.node.answer(signed, read))
            late += before[0] != blocks.count
            key = rootkeys.chain_at(root, report.epoch), device.identity.name, report.epoch
            rng = entropy.keyed(*key, report.seq, 0)
            meant = tabling.drawn(Sampler(made, 1, bulk.BITS), SENSORS, rng)
            other += [y - z for y, z in zip(report.payload[1:], meant, strict=True)] != [*seen]
            rng = entropy.keyed(*key, report.seq, 0)
            opened += tuple(thermal.unveil(asked, report.payload, rng).values) == seen
    yield at_most(
        "what an array adds to its readings is what the tables of its Round's variance say",
        0,
        other,
        unit="frames",
        samples=ROUNDS,
    )
    yield true(
        "every frame of a keyholder's array opens with its root key, to the exact readings",
        opened == ROUNDS,
        samples=ROUNDS,
    )
    yield true("an array draws no noise once it has been read", not late, samples=ROUNDS)


def _held_to(round: Any, effort: Effort) -> Claim:
    """Return whether devices answer with tables only where they may, and where delta pays."""
    root, wrong = effort.root("held"), []
    for tables, params, number, answers in (
        (True, round.params, 1, True),
        (True, round.params, ANSWERS, True),
        (True, round.params, ANSWERS + 1, False),
        (False, round.params, 1, False),
        (False, round.params[:7], 1, True),
        (True, (*round.params[:7], 56), 1, False),
        (True, (*round.params[:7], 112), 1, False),
        (True, (*round.params, 84), 1, False),
        (True, (*round.params[:4], WIDEST + 1, *round.params[5:]), 1, False),
    ):
        device = Device(round, root, sensors=SENSORS, tables=tables)
        _, signed = message(round._replace(params=params), number)
        frame = device.answer(signed, [0] * SENSORS)
        if (frame is not None, device.budget.spent > 0) != (answers, answers):
            wrong.append(f"{params[4:]} under number {number}")
    return true(
        "an array draws from tables only if it was set up for them, of the width and as often as "
        "delta pays for",
        not wrong,
        samples=9,
        detail="; ".join(wrong),
    )
