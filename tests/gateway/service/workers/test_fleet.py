"""A worker dies while sensors answer: what is released is the sum of what they sent."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.settings.operating import Mqtt
from gateway.store.places import Database
from tests.gateway.service.workers.town import Town, killed_in_mid_round, town
from tests.waiting import eventually

DEVICES = 240
ASKS = f"""
[room]
cells = 24
[heat]
spread_m2 = 0.05
[sensors]
count = {DEVICES}
[privacy]
epsilon = "1/1"
delta = "1/100000"
readings = 1
[rounds]
gather_s = %s
"""


def sums(one: Town) -> list[int]:
    """Return what each sensor says, of all frames together."""
    found = [0] * DEVICES
    for answers in one.witness.answers().values():
        for first, readings in answers:
            for sensor, value in enumerate(readings, first):
                found[sensor] += value
    return found


def released(one: Town) -> list[Any]:
    """Return (values, reports) of all rounds that are closed."""
    return [
        (json.loads(row[0]), row[1]) for row in one.ask('SELECT "values", reports FROM releases')
    ]


@pytest.mark.long
def test_a_release_is_the_sum_of_what_devices_sent_though_a_worker_was_killed(
    mosquitto: Mqtt, database: Database, tmp_path: Path
) -> None:
    """Bit for bit; every frame is in the store once, the round is charged once."""
    with town(tmp_path, mosquitto, database, ASKS % 60, lease_s=2.0) as one:
        killed_in_mid_round(one, DEVICES, "ada", "bob", "cy")
        assert eventually(lambda: "gone without a goodbye: ada-" in one.workers())
        assert "3 at work" in one.workers()
        assert eventually(lambda: released(one))
        frames = one.witness.frames
        assert len(frames) == DEVICES
        assert released(one) == [(sums(one), DEVICES)]
        rows = one.ask("SELECT device, frame FROM reports")
        assert len(rows) == DEVICES
        assert {name: [bytes(frame)] for name, frame in rows} == frames
        assert one.ask("SELECT count(*) FROM charges") == [(1,)]
        assert one.ask("SELECT count(*) FROM alarms") == [(0,)]
        assert eventually(lambda: all(part["ok"] for part in one.ready().values()))
        assert set(one.holders()) == {"bob", "cy", "leader"}


@pytest.mark.long
def test_without_a_take_over_the_release_lacks_what_the_dead_workers_devices_sent(
    mosquitto: Mqtt, database: Database, tmp_path: Path
) -> None:
    """The control: leases that do not run out, and the same witness sees the difference."""
    with town(tmp_path, mosquitto, database, ASKS % 15, lease_s=600.0) as one:
        killed_in_mid_round(one, DEVICES, "ada", "bob", "cy")
        assert eventually(lambda: released(one))
        ((values, reports),) = released(one)
        assert len(one.witness.frames) == DEVICES
        assert reports < DEVICES
        assert values != sums(one)
