"""Frames to readings without any file: arrays of sensors, lost readings, frames out of place."""

from collections.abc import Sequence
from typing import Any

import pytest

from edge.core import entropy, slots, wire
from edge.core.budget import Budget
from edge.core.limits import Limits
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Report, Round
from edge.host import rootkeys
from edge.host.enrol import provision
from edge.mechanisms import thermal
from gateway.devices.enrol.enrol import Device, Devices
from gateway.devices.owner import unveiling
from gateway.devices.owner.keyring import Chain, Ring
from gateway.devices.owner.unveiling import CUT, Opening, Row, Stored
from gateway.service.rounds import Place

SITE, NAME, ROOT, SITE_KEY = "lab", "array-1", bytes(range(32)), bytes(32)
PARAMS = thermal.Params(70, 8, -4000, 4000, 250_000, 1, 1)
PLAN = Round(
    1,
    "thermal",
    Grid((100, 1), 0),
    tuple(PARAMS),
    Guarantee((1, 1), (1, 100_000), (1, 2), "n", "local", "u", "p"),
)
ARRAY = Place(3, 64)


def devices(place: Place = ARRAY, mode: str = "keyholder") -> Devices:
    """Return the gateway's half of one array of sensors."""
    own = rootkeys.key_id(ROOT), rootkeys.mac_key(ROOT), rootkeys.config_key(ROOT)
    return Devices(SITE, SITE_KEY, {NAME: Device(NAME, place, mode, *own)})


def opened(frames: Sequence[bytes], known: Devices, plan: Any = PLAN) -> tuple[list[Row], Any]:
    """Return the readings of frames of boot 1, and what was left out."""
    name = wire.name_of(PLAN)
    own = rootkeys.key_id(ROOT)
    stored = [Stored(NAME, 1, seq, name, frame, own) for seq, frame in enumerate(frames, 1)]
    one = Opening(known, {name: plan}, Ring(SITE, {NAME: Chain.of(ROOT)}))
    return list(one.rows(stored)), one.left


def node() -> Node:
    """Return the array, booted for the first time."""
    who = rootkeys.identity(SITE, NAME, ROOT, SITE_KEY, ARRAY.sensor, "keyholder", ARRAY.sensors)
    held = slots.Ram()
    limits = Limits(1, 8, 1000, PARAMS.variance, 10**12, 0)
    provision(held, who.state_key, rootkeys.first_chain(ROOT), limits)
    budget = Budget(held, who.state_key)
    budget.boot()
    return Node(who, budget)


def packed(payload: list[int], seq: int = 1) -> bytes:
    """Return a frame that the device signed, whatever is in it."""
    report = Report(wire.name_of(PLAN), NAME, 1, seq, payload)
    topic = wire.topic(SITE, NAME, "data")
    return bytes(wire.pack_report(report, rootkeys.mac_key(ROOT), topic, thermal.bits(PLAN)))


def test_a_reading_that_the_frame_cut_is_lost_and_says_so() -> None:
    """Noise that far out comes once in the life of nobody; a number made up would be worse."""
    most = (1 << (thermal.bits(PLAN) - 1)) - 1
    noise = thermal.draw(PARAMS.variance, 64, entropy_of(1))
    payload = [3, *(z + 5 for z in noise)]
    payload[1], payload[64] = most, -most
    rows, _ = opened([packed(payload)], devices())

    assert [row.note for row in rows] == [CUT, *[""] * 62, CUT]
    assert (rows[0].grains, rows[0].kelvin, rows[1].grains) == (None, None, 5)


def entropy_of(seq: int) -> Any:
    return entropy.keyed(rootkeys.chain_at(ROOT, 1), NAME, 1, seq, ARRAY.sensor)


@pytest.mark.parametrize(
    ("payload", "known", "plan", "why"),
    [
        ([3, *[0] * 63], devices(), PLAN, unveiling.MISPLACED),
        ([4, *[0] * 64], devices(), PLAN, unveiling.MISPLACED),
        ([3, *[0] * 64], devices(mode="sealed"), PLAN, unveiling.SEALED),
        ([3, *[0] * 64], devices(), PLAN._replace(mechanism="disk"), unveiling.UNASKED),
        ([3, *[0] * 64], devices(), PLAN._replace(params=(1, 2)), unveiling.UNASKED),
        (
            [3, *[0] * 64],
            devices(),
            PLAN._replace(params=tuple(PARAMS._replace(high=1 << 40))),
            unveiling.UNASKED,
        ),
        (
            [3, *[0] * 64],
            devices(),
            PLAN._replace(params=tuple(PARAMS._replace(variance=0))),
            unveiling.UNASKED,
        ),
    ],
)
def test_what_is_out_of_place_is_left_out_with_its_reason(
    payload: list[int], known: Devices, plan: Any, why: str
) -> None:
    """Signed is not the same as right: a device, too, can be broken or in somebody's hands."""
    rows, left = opened([packed(payload)], known, plan)

    assert rows == []
    assert [(one.why, one.frames) for one in left] == [(why, 1)]


def test_one_reading_that_cannot_be_condemns_its_boot_alone() -> None:
    """In range by luck is not right; but another boot has another key."""
    right = [3, *(z + 5 for z in thermal.draw(PARAMS.variance, 64, entropy_of(1)))]
    wrong = [3, *[4000 + 30 * 500] * 64]
    rows, left = opened([packed(right), packed(wrong, 2)], devices())

    assert rows == []
    assert [(one.why, one.frames) for one in left] == [(unveiling.SPOILT, 2)]
    assert len(opened([packed(right)], devices())[0]) == 64
