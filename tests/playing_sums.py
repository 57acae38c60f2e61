"""A whole secure sum in process: every device and the gateway, every message, no broker."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from edge.mechanisms.secure_sum import Terms
from edge.mechanisms.sum_member import Member, Refused
from gateway.service.secure_sum.collecting import ABANDONED, RELEASED, Collecting

STAGES = ("join", "shares", "masked", "confirm", "reveal")
Numbers = Callable[[int], Sequence[int]]


@dataclass
class Play:
    """What became of a sum: how it ended, who refused what, and what it took."""

    total: list[int] | None
    state: int
    refused: dict[int, str] = field(default_factory=dict)
    up: dict[int, int] = field(default_factory=dict)  # bytes of each device
    down: dict[int, int] = field(default_factory=dict)
    members_s: float = 0.0
    gateway_s: float = 0.0


def played(
    members: Mapping[int, Member],
    collecting: Collecting,
    terms: Terms,
    body: bytes,
    numbers: Callable[[int], Numbers],
    rng: Callable[[int], Any],
    vanish: Mapping[int, str] | None = None,
) -> Play:
    """Return what becomes of a round in which some devices vanish before they send a step.

    numbers: of each place, what its device calls for its numbers; vanish: a place's stage.
    """
    gone = vanish or {}
    play = Play(None, collecting.state)
    began = time.process_time()
    waiting: list[tuple[int, list[bytes]]] = []
    for place, member in members.items():
        ask = partial(member.begin, body, terms, numbers(place), rng(place))
        waiting.append((place, _answered(play, place, ask)))
    play.members_s += time.process_time() - began
    for stage in STAGES:
        began = time.process_time()
        for place, frames in waiting:
            if place not in gone or STAGES.index(gone[place]) > STAGES.index(stage):
                for frame in frames:
                    play.up[place] = play.up.get(place, 0) + len(frame)
                    collecting.take(place, frame)
        sent = collecting.due()
        play.gateway_s += time.process_time() - began
        began, waiting = time.process_time(), []
        for to, message in sent:
            for place in members if to is None else (to,):
                play.down[place] = play.down.get(place, 0) + len(message)
                ask = partial(members[place].heard, message, to is None)
                waiting.append((place, _answered(play, place, ask)))
        play.members_s += time.process_time() - began
        if collecting.state in (ABANDONED, RELEASED):
            break
    play.state = collecting.state
    if collecting.total is not None:
        play.total = collecting.total.tolist()
    return play


def _answered(play: Play, place: int, ask: Callable[[], list[bytes]]) -> list[bytes]:
    try:
        return ask()
    except Refused as why:
        play.refused[place] = str(why)
        return []
