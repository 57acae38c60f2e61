"""A worker dies while people answer: every answer counts once, and the map is of all of them."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from edge import wire
from edge.records import Release
from gateway.devices.enrol.enrol import load_devices
from gateway.settings import config
from gateway.settings.operating import Mqtt
from gateway.store.places import Database
from recovery.disk import NAME, recover
from recovery.maps.heatmap import Heatmap
from tests.gateway.service.workers.town import Town, killed_in_mid_round, town
from tests.waiting import eventually

PEOPLE, COLUMNS, ROWS, REACH, READINGS = 300, 7, 5, 1, 2
ASKS = f"""
[room]
cells = [{COLUMNS}, {ROWS}]
[disk]
devices = {PEOPLE}
scheme = "dam-ns"
radius = {REACH}
[privacy]
epsilon = "6/1"
readings = {READINGS}
[rounds]
mechanism = "disk"
gather_s = 60
every_s = 0
"""


def counted(one: Town) -> dict[bytes, list[int]]:
    """Return how often each place was answered, by the round's name, off the wire."""
    found = {}
    for name, answers in one.witness.answers().items():
        assert len({person for person, _ in answers}) == len(answers)  # nobody twice
        places = Counter(place for _, (place,) in answers)
        found[name] = [places[i] for i in range((COLUMNS + 2 * REACH) * (ROWS + 2 * REACH))]
        assert sum(found[name]) == len(answers)  # and nowhere else
    return found


def released(one: Town) -> dict[bytes, tuple[list[int], int]]:
    """Return (values, reports) of the rounds that are closed, by their names."""
    rows = one.ask('SELECT round, "values", reports FROM releases')
    return {bytes(row[0]): (json.loads(row[1]), row[2]) for row in rows}


@pytest.mark.long
def test_every_answer_counts_once_and_is_in_the_map_though_a_worker_was_killed(
    mosquitto: Mqtt, database: Database, tmp_path: Path
) -> None:
    """Two rounds of a leader and two workers, one of which dies in the first."""
    with town(tmp_path, mosquitto, database, ASKS, lease_s=1.0) as one:
        killed_in_mid_round(one, PEOPLE, "ada", "bob")
        assert eventually(lambda: len(one.ask("SELECT round FROM maps")) == READINGS)
        seen, frames = counted(one), one.witness.frames

        assert [len(sent) for sent in frames.values()] == [READINGS] * PEOPLE
        assert released(one) == {name: (counts, PEOPLE) for name, counts in seen.items()}
        rows = one.ask("SELECT device, frame FROM reports")
        assert len(rows) == PEOPLE * READINGS
        assert {(name, bytes(frame)) for name, frame in rows} == {
            (name, frame) for name, sent in frames.items() for frame in sent
        }
        assert one.ask("SELECT device, count(*) FROM charges GROUP BY device") == [("", READINGS)]
        for nothing in ("alarms", "refused", "heard"):
            assert one.ask(f"SELECT count(*) FROM {nothing}") == [(0,)]
        assert set(one.holders()) == {"bob", "leader"}
        _drawn(one, seen)


def _drawn(one: Town, seen: dict[bytes, list[int]]) -> None:
    """Hold the last map against the one of what the witness counted, drawn in this process."""
    deployment = config.load(one.config)
    site = deployment.site
    key, topic = load_devices(site.devices, site.name).site_key, wire.round_topic(site.name, NAME)
    messages = one.ask("SELECT name, message FROM rounds ORDER BY number")
    asked = {bytes(row[0]): wire.unpack_round(bytes(row[1]), key, topic) for row in messages}
    assert asked.keys() == seen.keys()
    counts = [Release(plan, seen[name], PEOPLE) for name, plan in asked.items()]
    due = recover(config.query(deployment), counts)
    assert isinstance(due, Heatmap)

    bodies = {bytes(row[0]): row[1] for row in one.ask("SELECT round, body FROM maps")}
    found = json.loads(bodies[list(asked)[-1]])
    assert found["status"] == "solved"
    assert found["total"] == sum(map(sum, seen.values()))
    assert np.shape(found["mass"]) == (ROWS, COLUMNS)
    assert found["mass"] == pytest.approx(due.mass, abs=1e-9)
