"""Round after round without a broker: what is written before what is said, on a bad disk too.

Devices answer at once, in this process. Every entry of the diary says what a stranger could see
at that moment, and what was on the disk by then.
"""

import itertools
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import Mock

import pytest
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError
from structlog.testing import capture_logs

from edge.core import wire
from edge.core.node import Node
from gateway.devices.enrol import budgets, enrol
from gateway.faults import OperatorFault
from gateway.mechanisms import find_mechanism
from gateway.mechanisms.thermal.granting import make_first_limits
from gateway.service import campaign, drawing, steps, telling
from gateway.service.campaign import Campaign, Pause
from gateway.service.intake.writer import Intake
from gateway.service.mqtt.connection import Message
from gateway.service.outbox import Outbox
from gateway.settings import config
from gateway.settings.deployment import Deployment
from gateway.store import places
from gateway.store.store import Store
from tests.waiting import eventually

SITE, SENSORS = "stage", 6
DRAWN: dict[str, Any] = {}


class Entry(NamedTuple):
    """What happened, and what the store held by then."""

    kind: str  # "publish", or the kind of an event
    what: Any
    retain: bool
    at_s: float
    charges: int
    released: int
    drawn: str | None


class Stage:
    """A campaign whose devices answer at once, unless they are told not to."""

    def __init__(self, folder: Path, readings: int = 2, **rounds: Any) -> None:
        self.deployment = Deployment(
            site={"name": SITE, "database": folder / "heatveil.sqlite"},
            room={"cells": 12},
            heat={"spread_m2": 0.05},
            sensors={"count": SENSORS},
            privacy={"epsilon": "10/1", "delta": "1/100000", "readings": readings},
            rounds={"gather_s": 60, "every_s": 0, **rounds},
        )
        query = config.make_query(self.deployment)
        made, place = enrol.enrol_fleet(SITE, SENSORS), budgets.keep_slots_in_memory()
        budgets.write_first_budgets(made, make_first_limits(query, 0), place)
        self.devices = enrol.derive_gateway_half(made.secrets)
        started = budgets.boot_devices(made.secrets, place).devices
        self.nodes = {who.name: Node(who, budget) for who, budget in started}
        self.diary: list[Entry] = []
        self.answering, self.settled = True, 0
        self.turns = False  # with a release devices begin to answer, or end
        self.drawn_of: list[list[int]] = []  # how many had answered each round of a map
        self.draws, self.stopped = threading.Event(), False
        self.draws.set()
        self.store = Store(self.deployment.site.database, SITE)
        self.intake = Intake(self.store, self.devices, lambda *_: None, lambda _: None)
        self.outbox = Outbox(self.store, self.publish, open=True)
        self.parts: dict[str, tuple[bool, str]] = {}
        self.hindrance = ""
        self.campaign = self.again()

    def again(self, deployment: Deployment | None = None) -> Campaign:
        """Return a campaign as another start would begin it."""
        needs: list[Any] = [self.store, self.intake, self, self.outbox, self.tell, self.say]
        return Campaign(
            deployment or self.deployment, self.devices, *needs, lambda: self.hindrance
        )

    def say(self, part: str, ok: bool, why: str) -> None:
        """Note how a part is."""
        self.parts[part] = ok, why

    def recover(self, mechanism: str, query: Any, releases: Any) -> Any:
        """Show one map ever after, the first that was drawn: maps are not what is tested."""
        self.drawn_of.append([release.reports for release in releases])
        self.draws.wait(120)
        if self.stopped:
            return None
        if mechanism not in DRAWN:
            DRAWN[mechanism] = find_mechanism(mechanism).recover(query, releases)
        return DRAWN[mechanism]

    def stop(self) -> None:
        """Give up what is being drawn."""
        self.stopped = True
        self.draws.set()

    def acknowledge_batch(self, receipts: Any, messages: Any) -> None:
        """The devices hear of it and the broker may forget it: what brings messages."""
        self.settled += len(messages)

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        on_sent: Callable[[], None] | None = None,
    ) -> None:
        """Note what goes out, and let the devices hear it; it is out when they have answered."""
        if topic.endswith("/receipt"):
            return
        self.note("publish", (topic, payload), retain)
        if self.answering and payload and topic == wire.round_topic(SITE, "thermal"):
            wanted = self.settled + len(self.nodes)
            for name, node in self.nodes.items():
                frame = node.answer(payload, lambda _: [100])
                assert frame, node.refusal
                message = Message(wire.topic(SITE, name, "data"), bytes(frame), (1, 1))
                self.intake.take_message(self, message)
            assert eventually(lambda: self.settled >= wanted)
        if on_sent is not None:
            on_sent()

    def tell(self, event: telling.Event) -> None:
        """Note what is told."""
        self.note(event["kind"], event, False)
        if event["kind"] == "release" and self.turns:
            self.answering = not self.answering

    def note(self, kind: str, what: Any, retain: bool) -> None:
        connection = sqlite3.connect(self.deployment.site.database)
        (charges,) = connection.execute("SELECT count(*) FROM charges").fetchone()
        (released,) = connection.execute("SELECT count(*) FROM releases").fetchone()
        drawn = connection.execute("SELECT body FROM maps ORDER BY at_s DESC").fetchone()
        connection.close()
        last = None if drawn is None else str(drawn[0])
        at_s = time.monotonic()
        self.diary.append(Entry(kind, what, retain, at_s, charges, released, last))

    def of(self, kind: str, part: str = "") -> list[Entry]:
        """Return the entries of a kind; of what was published, on topics with this part."""
        return [
            entry
            for entry in self.diary
            if entry.kind == kind
            and (
                kind != "publish"
                or (part in entry.what[0] and (not entry.what[0].endswith("/last")))
            )
        ]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    """Return the maker of a stage, cleared away afterwards."""
    made: list[Stage] = []

    def make(**rounds: Any) -> Stage:
        made.append(Stage(tmp_path, **rounds))
        return made[-1]

    yield make
    for one in made:
        one.outbox.close()
        one.intake.stop()
        one.store.close()


def test_a_map_is_of_no_round_with_other_noise(stage: Callable[..., Stage]) -> None:
    """Two rounds at epsilon 10, two at 8: the maps of these are of one and of two."""
    on = stage(readings=8)
    on.campaign.run_rounds(2)
    tighter = on.deployment.privacy.model_copy(update={"epsilon": (8, 1)})
    on.drawn_of.clear()
    on.again(on.deployment.model_copy(update={"privacy": tighter})).run_rounds(2)

    assert [entry.what["number"] for entry in on.of("release")] == [1, 2, 3, 4]
    assert on.drawn_of == [[6], [6, 6]]
    assert on.of("map")[-1].what["first"] == 3


def test_everything_is_written_before_it_is_said(stage: Callable[..., Stage]) -> None:
    """A charge before its round, a release before anybody sees it, a map before its topic.

    In any other order a kill between the two would give one thing away that the disk knows
    nothing of, and the next start another.
    """
    on = stage()
    assert "all 2 rounds" in on.campaign.run_rounds(None)
    rounds = [entry for entry in on.of("publish", "/round/") if entry.what[1]]

    assert [entry.charges for entry in rounds] == [1, 2]
    assert [entry.released for entry in on.of("release")] == [1, 2]
    for entry in [*on.of("publish", "/map/"), *on.of("map")]:
        if entry.kind == "publish":
            body = entry.what[1]
        else:  # when its round ended is told with it, and not published
            body = json.dumps({k: v for k, v in entry.what.items() if k != "closed_s"}).encode()
        assert entry.drawn.encode() == body
    assert len(on.of("map")) == 2


def test_a_round_is_retained_while_it_is_open_and_taken_back_after(
    stage: Callable[..., Stage],
) -> None:
    """A device that wakes late must find what is asked, and nothing that is not."""
    on = stage()
    on.campaign.run_rounds(1)
    rounds = on.of("publish", "/round/")

    assert all(entry.retain for entry in rounds)
    assert [bool(entry.what[1]) for entry in rounds] == [False, True, False]
    assert all(entry.retain for entry in on.of("publish", "/map/"))
    last = [
        one.what for one in on.diary if one.kind == "publish" and one.what[0].endswith("/last")
    ]
    assert last == [(steps.make_last_round_topic(SITE, "thermal"), rounds[1].what[1])]


@pytest.mark.parametrize(
    ("every_s", "held", "then"),
    [(0, "", "open_round"), (0.001, "", "open_round"), (3600, "", "wake"), (0, "no disk", "wake")],
)
def test_a_round_that_follows_at_once_takes_the_place_of_what_takes_the_last_one_back(
    stage: Callable[..., Stage],
    monkeypatch: pytest.MonkeyPatch,
    every_s: float,
    held: str,
    then: str,
) -> None:
    """Each message is one more to wake for; but no device finds a round that is over."""
    on, done = stage(every_s=every_s), list[str]()
    on.draws.clear()  # a map that is drawn meanwhile goes out, and what waits goes with it

    def note(whose: Any, name: str) -> None:
        real = getattr(whose, name)

        def noted(*given: Any) -> Any:
            done.append(name)
            if name == "close_round":
                on.hindrance = held
            if done.count("close_round") == 1 + (then == "open_round") and name == "wake":
                on.campaign.stop()
            return real(*given)

        monkeypatch.setattr(whose, name, noted)

    for whose, name in (on.intake, "open_round"), (on.intake, "close_round"), (on.outbox, "wake"):
        note(whose, name)
    note(on.campaign.steps, "wait_maps_drawn")
    on.campaign.run_rounds(2)

    assert done[done.index("close_round") + 1] == then
    if then == "open_round":
        assert done[-2:] == ["wake", "wait_maps_drawn"]  # of the last round nothing waits


def test_a_round_is_open_before_anybody_is_asked(
    stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who answers at once, while our disk takes its time, must not be told that no round is open.

    The answer would be paid for, and never come again.
    """
    on = stage()
    real = on.store.list_answers

    def slow(name: bytes) -> Any:
        time.sleep(0.3)
        return real(name)

    monkeypatch.setattr(on.store, "list_answers", slow)
    on.campaign.run_rounds(None)

    assert [entry.what["reports"] for entry in on.of("release")] == [SENSORS, SENSORS]
    assert on.store.list_refused() == []


WRITES = ("open_round", "close_round", "keep_map", "add_letters", "mark_posted")
READS = (
    "read_release",
    "find_opened_s",
    "find_number",
    "list_answers",
    "list_charges",
    "read_map",
    "list_letters",
)


def locked() -> OperationalError:
    return OperationalError("INSERT", {}, sqlite3.OperationalError("database is locked"))


def malformed() -> DatabaseError:
    return DatabaseError("SELECT", {}, sqlite3.DatabaseError("disk image is malformed"))


@pytest.mark.parametrize(
    ("method", "fault"),
    [*((method, locked) for method in WRITES + READS), ("keep_map", malformed)],
)
def test_a_disk_that_will_not_is_asked_again(
    stage: Callable[..., Stage],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    fault: Callable[[], Exception],
) -> None:
    """A backup holds the file, or it is full: wait, and go on as if nothing had been."""
    monkeypatch.setattr(places, "AGAIN_S", 0.005)
    on, left = stage(), [3]
    real = getattr(on.store, method)

    def failing(*args: Any, **words: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise fault()
        return real(*args, **words)

    monkeypatch.setattr(on.store, method, failing)

    assert "all 2 rounds" in on.campaign.run_rounds(None)
    assert left == [0]
    assert len(real.__self__.list_charges()) == 2
    assert len(on.of("map")) == 2


@pytest.mark.parametrize("method", WRITES)
def test_who_waits_for_the_disk_can_be_stopped(
    stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """SIGTERM during a backup ends the gateway politely, and what is not written is not said."""
    on = stage()

    asked = threading.Semaphore(0)

    def failing(*_: Any, **__: Any) -> Any:
        asked.release()
        raise locked()

    monkeypatch.setattr(on.store, method, failing)
    ended: list[str] = []
    runner = threading.Thread(
        target=lambda: ended.append(on.campaign.run_rounds(None)), daemon=True
    )
    runner.start()
    assert all(asked.acquire(timeout=30) for _ in range(2))  # it was asked, and asked again
    on.campaign.stop()
    runner.join(30)

    assert ended == [campaign.STOPPED]
    told = {"close_round": "release", "keep_map": "map"}.get(method, "round")
    assert on.of(told) == []


def test_a_round_that_nobody_answers_is_no_news(stage: Callable[..., Stage]) -> None:
    """A map drawn again from the same answers, under a new number, would look like news."""
    on = stage(gather_s=0.2)
    on.answering = False
    on.campaign.run_rounds(1)
    assert on.of("release")[-1].what["reports"] == 0
    assert on.of("map") == on.of("publish", "/map/") == []
    on.answering = True
    on.campaign.run_rounds(1)

    assert [entry.what["number"] for entry in on.of("map")] == [2]
    assert on.of("map")[-1].drawn is not None
    assert len(on.store.list_charges()) == 2
    assert on.drawn_of == [[0, SENSORS]]  # it counts where the first rounds are of an empty room


def test_a_round_that_nobody_answered_is_asked_again_and_paid_for_once(
    stage: Callable[..., Stage],
) -> None:
    """With the same bytes: whoever has answered it says the same, and everybody else for once."""
    on = stage(gather_s=0.1)
    on.answering = False
    thread = threading.Thread(target=on.campaign.run_rounds, args=(None,))
    thread.start()
    assert eventually(lambda: len(on.of("round")) >= 2)
    assert len(on.store.list_charges()) == 1
    ok, said = on.parts["rounds"]
    assert (ok, getattr(said, "code", said)) == (True, "rounds.silent"), "no watcher hears of it"
    on.answering = True
    thread.join(30)
    assert on.parts["rounds"] == (True, "")
    asked = {entry.what[1] for entry in on.of("publish", "/round/") if entry.what[1]}

    assert [entry.what["reports"] for entry in on.of("release")] == [SENSORS, SENSORS]
    assert len(asked) == len(on.store.list_charges()) == 2


def test_what_is_answered_while_a_silent_round_waits_its_turn_counts(
    stage: Callable[..., Stage],
) -> None:
    """It stays open all the while: an answer that was late would be heard, and lost for ever."""
    on = stage(gather_s=0.1, every_s=60)
    on.answering = False
    thread = threading.Thread(target=on.campaign.run_rounds, args=(None,))
    thread.start()
    assert eventually(lambda: len(on.of("round")) == 1)
    (asked,) = [entry.what for entry in on.of("publish", "/round/") if entry.what[1]]
    time.sleep(0.2)  # it has been given up for now
    on.answering = True
    on.publish(*asked, retain=True)  # as a device wakes that was asleep

    assert eventually(lambda: len(on.of("release")) == 1)
    assert on.of("release")[0].what["reports"] == SENSORS
    on.campaign.stop()
    thread.join(30)
    assert len(on.store.list_charges()) == 1


def test_a_round_that_no_device_answers_any_more_is_given_up(stage: Callable[..., Stage]) -> None:
    """Devices that paid for it and lost their answer with the power refuse it for ever."""
    on = stage(gather_s=0.05)
    on.answering, on.turns = False, True
    on.campaign.run_rounds(None)

    assert len(on.of("round")) == campaign.AGAIN + 2
    assert [entry.what["reports"] for entry in on.of("release")] == [0, SENSORS]


def test_the_only_round_is_given_up_for_no_other(
    stage: Callable[..., Stage], capfd: pytest.CaptureFixture[str]
) -> None:
    """Whoever starts the devices too late is not told that readings were taken."""
    on = stage(gather_s=0.05, readings=1)
    on.answering = False
    ended = on.campaign.run_rounds(None)
    warned = "it is given up, and it is the last that the budget is for"

    assert [entry.what["reports"] for entry in on.of("release")] == [0]
    assert ended == "the 1 round that the budget is for has been asked"
    assert capfd.readouterr().out.count(warned) == campaign.AGAIN


def test_no_round_waits_for_a_map_and_the_last_one_has_one(stage: Callable[..., Stage]) -> None:
    """A large site's map takes longer than its round, and what is in no map is in the next."""
    on = stage(readings=4)
    on.draws.clear()
    ended: list[str] = []
    thread = threading.Thread(target=lambda: ended.append(on.campaign.run_rounds(None)))
    thread.start()
    released = eventually(lambda: len(on.of("release")) == 4)
    before = ended + on.of("map")
    on.draws.set()
    thread.join(30)

    assert released
    assert before == []
    assert "all 4 rounds" in ended[0]
    assert [entry.what["number"] for entry in on.of("map")] == [1, 4]
    assert on.drawn_of == [[SENSORS], [SENSORS] * 4]


def test_a_stop_while_a_map_is_drawn_leaves_it_to_the_next_start(
    stage: Callable[..., Stage],
) -> None:
    """It ends at once, and neither round nor map is lost."""
    on = stage(every_s=60)
    on.draws.clear()
    thread = threading.Thread(target=on.campaign.run_rounds, args=(None,))
    thread.start()
    assert eventually(lambda: on.drawn_of)
    on.campaign.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert on.of("map") == []
    on.stopped = False
    on.again().run_rounds(0)

    assert [entry.what["number"] for entry in on.of("map")] == [1]
    assert len(on.store.list_charges()) == 1


def test_a_map_that_waited_is_told_with_the_turnout_of_its_own_round(
    stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By then another round has closed, which had another."""
    on = stage(readings=3, gather_s=0.2)
    publish, close_round, nodes = on.publish, on.intake.close_round, list(on.nodes.items())
    answer = {1: SENSORS, 2: SENSORS - 1, 3: 0}

    def answered(topic: str, payload: bytes, **how: Any) -> None:
        if payload and topic == wire.round_topic(SITE, "thermal"):
            on.nodes = dict(nodes[: answer[len(on.of("release")) + 1]])
        publish(topic, payload, **how)

    def closed() -> Any:
        round = close_round()
        round.late = round.plan.number
        return round

    monkeypatch.setattr(on.outbox, "_publish", answered)
    monkeypatch.setattr(on.intake, "close_round", closed)
    on.draws.clear()
    thread = threading.Thread(target=on.campaign.run_rounds, args=(3,))
    thread.start()
    assert eventually(lambda: len(on.of("release")) == 3)
    on.draws.set()
    thread.join(30)

    told = [entry.what for entry in on.of("map")]
    seen = [(one["first"], one["number"], one["sensors_used"], one["late"]) for one in told]
    assert seen == [(1, 1, SENSORS, 1), (1, 2, SENSORS - 1, 2)]


def no_map(on: Stage) -> Callable[..., None]:
    """Return a recovery that fails as soon as it may, so that the round is still open."""

    def fail(*_: Any) -> None:
        on.draws.wait(30)
        raise RuntimeError("there is no map")

    return fail


def draw_beside_a_round(on: Stage) -> Future[str]:
    """Run two rounds; while the second waits for answers, the map of the first is drawn."""
    on.draws.clear()
    on.turns = True
    thread = ThreadPoolExecutor(1)
    ran = thread.submit(on.campaign.run_rounds, 2)
    thread.shutdown(wait=False)
    assert eventually(lambda: len(on.of("round")) == 2)
    on.draws.set()
    return ran


def test_a_round_is_not_held_open_for_a_map_that_cannot_be_kept(
    stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It closes all the same, and the map is kept when the disk lets it be; that is told once."""
    on, keep_map = stage(gather_s=3600), Store.keep_map
    refused, said = threading.Event(), Mock()
    monkeypatch.setattr(steps, "log", said)
    monkeypatch.setattr(steps, "AGAIN_S", 3600.0)
    monkeypatch.setattr(drawing, "log", Mock())

    def refusing(*_: Any, **__: Any) -> None:
        refused.set()
        raise locked()

    monkeypatch.setattr(places, "AGAIN_S", 0.005)
    monkeypatch.setattr(Store, "keep_map", refusing)
    monkeypatch.setattr(on, "recover", no_map(on))
    ran = draw_beside_a_round(on)
    assert refused.wait(60)
    on.answering = True
    asked = [entry.what for entry in on.of("publish", "/round/") if entry.what[1]][-1]
    on.publish(*asked, retain=True)
    closed = eventually(lambda: len(on.of("release")) == 2)
    monkeypatch.setattr(Store, "keep_map", keep_map)
    ran.result(30)

    assert closed
    said.warning.assert_called_once_with(steps.MAP_WAITS, why="database is locked")
    assert [entry.what["number"] for entry in on.of("map")] == [1, 2]


def test_a_fault_that_is_not_the_disk_s_is_not_waited_out_while_a_round_is_open(
    stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a mistake of ours: called the disk's, it would be looked for there."""
    on, said = stage(gather_s=5), Mock()
    fault = IntegrityError("INSERT", {}, sqlite3.IntegrityError("UNIQUE"))
    monkeypatch.setattr(steps, "log", said)
    monkeypatch.setattr(drawing, "log", Mock())
    monkeypatch.setattr(on, "recover", no_map(on))
    monkeypatch.setattr(Store, "keep_map", Mock(side_effect=fault))

    assert draw_beside_a_round(on).exception(30) is fault
    said.warning.assert_not_called()
    assert len(on.of("release")) == 1


def test_what_hangs_is_the_drawing_and_not_who_waits_for_the_disk_with_a_map(
    stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service manager kills a gateway that hangs; a full disk is no better for that."""
    monkeypatch.setattr(places, "AGAIN_S", 0.005)
    on = stage(solve_s=0.01)
    monkeypatch.setattr(on.store, "keep_map", Mock(side_effect=locked()))
    on.draws.clear()
    thread = threading.Thread(target=on.campaign.run_rounds, args=(1,))
    thread.start()

    assert eventually(lambda: on.drawn_of)
    assert on.campaign.moving
    monkeypatch.setattr(campaign, "STILL_S", 0.0)
    steps = on.campaign.steps
    assert eventually(lambda: steps.moved_s > steps.shown_s + 0.1, 20)  # it waits for the map
    assert not on.campaign.moving
    on.draws.set()
    moves = set[float]()
    assert eventually(lambda: moves.add(on.campaign.steps.shown_s) or len(moves) > 20)
    assert eventually(lambda: on.campaign.moving)
    on.campaign.stop()
    thread.join(30)


def test_a_fault_in_a_map_is_the_reason_that_there_is_none_and_ends_no_round(
    stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another round is open when it is found."""
    on = stage()
    monkeypatch.setattr(on, "recover", lambda *_: "no map at all")

    assert "all 2 rounds" in on.campaign.run_rounds(None)
    told = [entry.what for entry in on.of("map")]
    assert [(one["status"], one["code"]) for one in told] == [("unresolved", "solver.failed")] * 2


def test_after_a_start_no_round_waits_for_the_map_that_is_owed(
    stage: Callable[..., Stage],
) -> None:
    """That of a large site takes its minutes, and its devices would be asked nothing meanwhile."""
    on = stage()
    on.stopped = True  # no map comes of it
    on.campaign.run_rounds(1)
    on.stopped = False
    on.draws.clear()
    thread = threading.Thread(target=on.again().run_rounds, args=(None,))
    thread.start()
    released = eventually(lambda: len(on.of("release")) == 2)
    before = on.of("map")
    on.draws.set()
    thread.join(30)

    assert released
    assert before == []
    assert [entry.what["number"] for entry in on.of("map")] == [1, 2]


def test_after_a_start_the_map_before_is_shown_until_the_one_that_is_owed(
    stage: Callable[..., Stage],
) -> None:
    """Whoever opens the page meanwhile would read that there was never a map."""
    on = stage()
    on.campaign.run_rounds(1)
    on.stopped = True  # no map comes of the second
    on.again().run_rounds(1)
    told = len(on.of("map"))
    on.stopped = False
    on.draws.clear()
    thread = threading.Thread(target=on.again().run_rounds, args=(None,))
    thread.start()
    shown = eventually(lambda: len(on.of("map")) > told)
    first, before = on.of("map")[0].what, on.of("map")[told:]
    on.draws.set()
    thread.join(30)

    assert shown
    assert [entry.what for entry in before] == [first]
    assert [entry.what["number"] for entry in on.of("map")[told:]] == [1, 2]


def test_after_a_start_a_reason_why_there_was_no_map_hides_none_of_before(
    stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is drawn again, for another start may have luck; the map before is good."""
    on = stage()
    on.campaign.run_rounds(1)
    with monkeypatch.context() as patch:
        patch.setattr(on, "recover", lambda *_: "no map at all")
        second = on.again()
        second.run_rounds(1)
        second.run_rounds(1)  # has nothing to ask, and must not hide the reason behind a map
    told = [entry.what for entry in on.of("map")]
    on.draws.clear()
    thread = threading.Thread(target=on.again().run_rounds, args=(None,))
    thread.start()
    shown = eventually(lambda: len(on.of("map")) > len(told))
    before = [entry.what for entry in on.of("map")[len(told) :]]
    on.draws.set()
    thread.join(30)

    assert shown
    # At the second start the first was the last, and was published again.
    assert [one["number"] for one in told] == [1, 1, 2]
    assert told[-1]["status"] == "unresolved"
    assert before == [told[0]]
    last = on.of("map")[-1].what
    assert (last["number"], last["status"] != "unresolved") == (2, True)


def test_another_promise_on_the_same_database_does_not_start(
    stage: Callable[..., Stage], tmp_path: Path
) -> None:
    """Half a metre yesterday and five today: their prices together are the price of nothing."""
    on = stage()
    on.campaign.run_rounds(1)
    other = on.deployment.model_copy(
        update={"heat": on.deployment.heat.model_copy(update={"spread_m2": 0.06})}
    )
    with pytest.raises(
        OperatorFault, match=r"at least 0\.06, and not .* 0\.05;.*ledger --end-promise"
    ):
        on.again(other)

    more = on.deployment.privacy.model_copy(update={"readings": 9})
    with pytest.raises(OperatorFault, match=r"was promised.*in a new folder"):
        on.again(on.deployment.model_copy(update={"privacy": more}))

    less = on.deployment.privacy.model_copy(update={"epsilon": (9, 1)})
    same = on.deployment.model_copy(update={"privacy": less})
    with capture_logs() as logged:
        on.again(same)
        on.again(same)
    assert [one["event"] for one in logged] == [campaign.LESS]  # said once, for it holds then


def test_a_promise_that_ends_under_a_gateway_is_not_begun_again(
    stage: Callable[..., Stage],
) -> None:
    """Its server was away for a moment, and somebody had the lock; the devices have spent."""
    on = stage()
    on.campaign.run_rounds(1)
    on.store.end_promise()
    with pytest.raises(OperatorFault, match="was ended, for good, and .* has the key"):
        on.campaign.run_rounds(1)
    with pytest.raises(OperatorFault, match="was ended, for good, and .* has the key"):
        on.again(on.deployment)

    assert on.store.list_charges() == ()


def test_no_change_is_lost_at_whatever_moment_it_is_asked_for(stage: Callable[..., Stage]) -> None:
    """Two reloads, the second while the first is taken: it may be the one that shuts a thief out.

    The second is asked for before each line in turn that the rounds' thread comes to.
    """
    on = stage().campaign
    moments = 0
    while True:
        done: list[str] = []
        lines = itertools.count()

        def second(done: list[str] = done) -> None:
            done.append("second")

        def each(frame: Any, event: str, _: Any, lines: Any = lines) -> Any:
            if event == "line" and next(lines) == moments:  # noqa: B023
                on.call_between_rounds(second)
            return each

        def only(frame: Any, _event: str, _: Any) -> Any:
            return each if frame.f_code.co_filename == campaign.__file__ else None

        on.call_between_rounds(lambda done=done: done.append("first"))  # type: ignore[misc]
        before = sys.gettrace()
        sys.settrace(only)
        try:
            while not on._may_open(Pause(None), known=True):
                pass
        finally:
            sys.settrace(before)
        if next(lines) <= moments:
            break
        while not on._may_open(Pause(None), known=True):
            pass
        assert done[-1:] == ["second"], moments
        moments += 1
    assert moments > 5
