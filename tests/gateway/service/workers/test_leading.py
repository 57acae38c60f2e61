"""The leader dies in mid-round and a standby goes on with it, as processes."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edge.host import post
from edge.mechanisms import thermal
from gateway.devices.broker.embedded import find_free_port
from gateway.faults import TakenFault
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.service.workers.leases import leading
from gateway.settings.deployment import Mqtt
from gateway.store.store import Store
from tests.waiting import eventually


@pytest.mark.long
def test_a_standby_goes_on_with_the_round_of_a_leader_that_died(
    site: Callable[[int], Any], store: Store
) -> None:
    """The same round, charged once, with the answers that workers took while nobody led."""
    home = site(60)
    leader = home.start("serve", "--rounds", "1")
    assert eventually(lambda: len(home.listening(leader)) == 6)
    round, frames = home.asked()
    elsewhere = f"import os; os.environ['HEATVEIL_PAGE__PORT'] = '{find_free_port()}'"
    heir = home.start("serve", "--rounds", "1", before=elsewhere)
    worker = home.start("work", "--name", "ada")
    assert eventually(lambda: "standby" in home.log(heir))
    assert eventually(lambda: len(home.listening(worker)) == 3)
    first, second, third = (
        {name: frames[name] for name in sorted(frames)[i::3]} for i in range(3)
    )
    home.say(first)
    assert eventually(lambda: first.keys() <= home.receipts.keys())
    os.kill(leader.pid, signal.SIGKILL)
    leader.wait()
    home.say(second)
    assert eventually(lambda: second.keys() <= home.receipts.keys())
    home.say(third)
    assert heir.wait(timeout=60) == 0, home.log(heir)

    assert dict(store.answers(round)) == frames
    assert len(store.charges()) == 1
    assert store.refused() == []
    release = thermal.release(home.plan, home.payloads(frames), None)
    assert store.release(round) == (release.values, len(frames))


# Kills its own process right before a step of the store, or right after it.
DIES = """
import os, signal
from gateway.store.store import Store
do = Store.{step}
def last(*args, **words):
    if {before}:
        os.kill(os.getpid(), signal.SIGKILL)
    do(*args, **words)
    os.kill(os.getpid(), signal.SIGKILL)
Store.{step} = last
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("step", "before"), [("close_round", True), ("close_round", False), ("keep_map", False)]
)
def test_a_leader_that_dies_between_the_last_answer_and_the_map_has_an_heir(
    site: Callable[[int], Any], store: Store, mosquitto: Mqtt, step: str, before: bool
) -> None:
    """Closed and not released, released and not drawn, drawn and not published: once each."""
    home = site(24)
    worker = home.start("work", "--name", "ada")
    leader = home.start("serve", before=DIES.format(step=step, before=before))
    assert eventually(lambda: len(home.listening(leader, worker)) == 6)
    elsewhere = f"import os; os.environ['HEATVEIL_PAGE__PORT'] = '{find_free_port()}'"
    heir = home.start("serve", before=elsewhere)
    assert eventually(lambda: "standby" in home.log(heir))
    round, frames = home.asked()
    maps: list[bytes] = []

    def came(link: Link, message: Message) -> None:
        maps.append(message.payload)
        link.ack(message)

    with Pump("ear") as pump:
        topic = post.map_topic(home.name, "thermal")
        ear = Link(mosquitto, "ear", pump, subscribe=[topic], on_message=came).wait()
        home.say(frames)
        assert leader.wait(timeout=60) == -signal.SIGKILL
        assert eventually(lambda: maps), home.log(heir)
        time.sleep(1)
        ear.close()

    release = thermal.release(home.plan, home.payloads(frames), None)
    assert store.release(round) == (release.values, len(frames))
    assert len(store.charges()) == 1
    assert store.refused() == []
    assert {payload.decode() for payload in maps} == {store.map_of(round)}
    assert worker.poll() is None


def test_a_file_has_no_standby_and_says_so(tmp_path: Path) -> None:
    """Two gateways on one SQLite file would be on one machine: the second is a mistake."""
    place = tmp_path / "heatveil.sqlite"
    with leading(place, print), pytest.raises(TakenFault), leading(place, print):
        pass
