"""An array on a Raspberry Pi without its pins: set up for tables, asked, opened by its owner."""

import json
from pathlib import Path

import pytest

from edge.board.config import load
from edge.board.drivers import Held
from edge.core import entropy, wire
from edge.core.records import Grid, Guarantee, Round
from edge.host import post, rootkeys
from edge.mechanisms import bulk, thermal
from tests.edge.linux.test_run import ROOT, SITE_KEY, folder_of, live
from tests.edge.linux.test_run import host as host

PROMISE = Guarantee((4, 1), (1, 100000), (1, 8), "0.1 m", "local", "2 readings", "presence")
SENSORS = 16


class Pixels:
    """An array that always sees the same."""

    step = None

    def read(self, params: object) -> tuple[int, ...]:
        return tuple(range(SENSORS))


def a_round(number: int, more: tuple[int, ...]) -> Round:
    params = (50, 8, -8000, 8000, 16000, 1, 1, *more)
    return Round(number, "thermal", Grid((100, 1), 100), params, PROMISE)


@pytest.fixture(params=[True, False], ids=["set up", "not set up"])
def tables(request: pytest.FixtureRequest, device_file: Path) -> bool:
    """Return whether the device's file, which is of an array's, says that it may."""
    body = json.loads(device_file.read_text())
    body["devices"][0] |= {"sensors": SENSORS, "mode": "keyholder"}
    if request.param:
        body["devices"][0]["tables"] = True
    device_file.write_text(json.dumps(body))
    return bool(request.param)


def test_an_array_answers_with_tables_where_its_enrolment_says_so(
    device_file: Path, host, tables: bool
) -> None:
    """Over a real broker; where it may not, the first Round that it answers is one without."""
    home = folder_of(device_file, host)
    assert load(home + "/heatveil.json").tables is tables
    topic, rounds = wire.round_topic("lab", "thermal"), {1: (bulk.BITS,), 2: ()}
    asked = {number: a_round(number, more) for number, more in rounds.items()}

    def heard() -> bool:
        last = 1 if tables or b"ready" not in host.said("state") else 2
        host.say(topic, post.pack_round(asked[last], SITE_KEY, topic))
        return bool(host.said("data"))

    live(home, Held(Pixels, SENSORS, None), heard)
    frame = host.said("data")[0]
    report = post.unpack_report(
        frame, rootkeys.mac_key(ROOT), wire.topic("lab", "attic-3", "data"), "attic-3"
    )
    answered = asked[1 if tables else 2]
    rng = entropy.keyed(rootkeys.first_chain(ROOT), "attic-3", report.epoch, report.seq, 3)

    assert report.round == wire.name_of(answered)
    assert thermal.unveil(answered, report.payload, rng).values == tuple(range(SENSORS))
