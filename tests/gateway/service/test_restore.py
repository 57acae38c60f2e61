"""An old copy of the store brought back: what its ledger has forgotten, devices have not.

And what proves that it has: a Round that the site signed, which the broker retains or a device
has answered.
"""

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog.testing

from edge.core import wire
from gateway.devices.broker import dynamic
from gateway.faults import ForgottenFault, OperatorFault
from gateway.mechanisms import find_mechanism
from gateway.service import steps
from gateway.service.intake.writer import Intake
from gateway.service.ledger import make_terms
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.service.serving import UNREAD, Uplink
from gateway.settings import config
from gateway.store import sqlite
from gateway.store.store import Store
from tests import processes, sites
from tests.waiting import eventually

PAGE = (Path(config.__file__).parents[1] / "README.md").read_text("utf-8")
RHO = Fraction(1, 50)


def asked(home: Any, store: Store, plan: int) -> Any:
    """Open the next round as a campaign does, and return what goes out."""
    planned = home.round(plan)
    one = steps.sign_round(planned, store.find_number(wire.name_of(planned)), home.devices)
    assert store.open_round(one, 8 * RHO, keys=dict.fromkeys("abcd", b"")) == ""
    return one


@pytest.fixture
def copied() -> Callable[[Path, Path], None]:
    """Return what copies a store while it is open, as a backup does."""

    def copy(source: Path, target: Path) -> None:
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
            old.backup(new)

    return copy


def test_forgotten_rounds_are_asked_again_and_nobody_answers_them_anew(
    home: Any, tmp_path: Path, copied: Callable[[Path, Path], None]
) -> None:
    """Rounds 1 to 3 are answered; the copy is of after round 1.

    What the page for operators says of a restore: the ledger says less than was spent, the
    devices refuse what they have passed and pay nothing, and after the forgotten rounds have
    been asked again the ledger is what it would have been.
    """
    node = next(iter(home.nodes.values()))
    whole = node.budget.left
    store = Store(tmp_path / "live.sqlite", "testsite")
    frames = []
    for plan in (1, 2, 3):
        one = asked(home, store, plan)
        frames.append(node.answer(one.message, lambda _: [1000]))
        if plan == 1:
            copied(tmp_path / "live.sqlite", tmp_path / "copy.sqlite")
    spent = sum((charge.rho for charge in store.list_charges()), Fraction(0))
    store.close()
    left = node.budget.left

    restored = Store(tmp_path / "copy.sqlite", "testsite")
    forgot = sum((charge.rho for charge in restored.list_charges()), Fraction(0))
    again = [asked(home, restored, plan) for plan in (2, 3, 4)]
    answers = [node.answer(one.message, lambda _: [2000]) for one in again]
    found = sum((charge.rho for charge in restored.list_charges()), Fraction(0))
    restored.close()

    assert (spent, forgot, found) == (3 * RHO, RHO, 4 * RHO)
    assert answers[0] is None  # round 2: passed
    assert answers[1] == frames[2]  # round 3: the very bytes that it said before
    assert answers[2] not in (None, *frames)
    # One answer more was paid for, of four in all: what was asked again cost nothing.
    assert 3 * (left - node.budget.left) == whole - left


def lost(home: Any, folder: Path) -> Path:
    """Return a folder as a crash leaves it: a copy of after round 1, rounds 1 to 3 in the store.

    Its newest rounds are in the log beside it, as they are while a gateway runs.
    """
    live, crashed = folder / "live", folder / "crashed"
    live.mkdir()
    store = Store(live / "heatveil.sqlite", "testsite")
    asked(home, store, 1)
    sqlite.backup_store(live / "heatveil.sqlite", live / "copy-1.sqlite")
    for plan in (2, 3):
        asked(home, store, plan)
    shutil.copytree(live, crashed)
    store.close()
    assert (crashed / "heatveil.sqlite-wal").stat().st_size > 0
    return crashed


def charged(place: Path) -> Fraction:
    """Return what is in the ledger of a store."""
    store = Store(place, "testsite")
    found = sum((charge.rho for charge in store.list_charges()), Fraction(0))
    store.close()
    return found


def test_the_restore_that_the_page_tells_brings_the_copy_back_and_nothing_else(
    home: Any, tmp_path: Path
) -> None:
    """Its very lines, in a shell. The control: an old log that stays is read into the copy."""
    block = PAGE[PAGE.index("**Restore only") :]
    lines = re.findall(r"^((?:mkdir lost|cp copy-1).*?)(?: {2,}#.*)?$", block, re.M)
    assert len(lines) == 2
    (tmp_path / "told").mkdir()
    told = lost(home, tmp_path / "told")
    for line in lines:
        processes.run(["sh", "-ec", line], cwd=told, check=True)
    (tmp_path / "careless").mkdir()
    careless = lost(home, tmp_path / "careless")
    processes.run(["sh", "-ec", lines[1]], cwd=careless, check=True)

    assert charged(told / "heatveil.sqlite") == RHO
    assert charged(told / "lost" / "heatveil.sqlite") == 3 * RHO
    assert charged(careless / "heatveil.sqlite") != RHO


@pytest.fixture
def short(home: Any, tmp_path: Path, copied: Callable[[Path, Path], None]) -> Iterator[Any]:
    """Return a store that knows round 1, where 2 and 3 were asked; with what was asked."""
    store, rounds = Store(tmp_path / "live.sqlite", "testsite"), []
    for plan in (1, 2, 3):
        rounds.append(asked(home, store, plan))
        if plan == 1:
            copied(tmp_path / "live.sqlite", tmp_path / "copy.sqlite")
    store.close()
    found = SimpleNamespace(store=Store(tmp_path / "copy.sqlite", "testsite"), rounds=rounds)
    yield found
    found.store.close()


def total(store: Store) -> Fraction:
    return sum((charge.rho for charge in store.list_charges()), Fraction(0))


def opened(home: Any, store: Store, plan: int) -> int:
    """Open the round of a plan; return its number."""
    planned = home.round(plan)
    number = store.find_number(wire.name_of(planned))
    assert store.open_round(steps.sign_round(planned, number, home.devices), 8 * RHO) == ""
    return number


def test_a_ledger_that_lacks_a_round_of_ours_is_not_gone_on_with(home: Any, short: Any) -> None:
    """Found once, it is refused by whoever opens the store, till what was lost is charged."""
    promised = make_terms(home.round().guarantee)
    short.store.record_found_round(short.rounds[0], "the control")  # is in it
    for refused in (
        lambda: short.store.record_found_round(short.rounds[2], "somebody has round 3"),
        lambda: short.store.keep_batch([]),
        lambda: Store(short.store.place, "testsite").check_promise(promised, 8 * RHO, {}),
        lambda: opened(home, Store(short.store.place, "testsite"), 2),
    ):
        with pytest.raises(ForgottenFault, match=r"ends with round 1: .*--accept 3") as fault:
            refused()
        assert fault.value.status == 4
    assert total(short.store) == RHO

    again = Store(short.store.place, "testsite")
    again.charge_lost_rounds(
        steps.find_lost_rounds(again.find_missing_rounds(), home.devices), promised, 8 * RHO
    )
    again.check_promise(promised, 8 * RHO, {})
    again.record_found_round(short.rounds[1], "an answer to round 2")  # and to 2, between the two

    assert total(again) == 3 * RHO
    assert opened(home, again, 2) == 4
    again.close()


def test_only_what_this_site_has_signed_is_a_proof(home: Any) -> None:
    """Not a Round of another key or topic, nor one that would be charged for less than nothing."""
    good, own = home.round(9), home.devices
    message = home.message(good)
    met = steps.verify_round(message, "thermal", own)

    assert met.plan == good
    assert steps.verify_round(message[:-1] + bytes([message[-1] ^ 1]), "thermal", own) is None
    assert steps.verify_round(message, "disk", own) is None
    assert steps.verify_round(message, "thermal", own._replace(site_key=bytes(16))) is None
    assert steps.verify_round(home.message(home.round(9, (-1, 50))), "thermal", own) is None
    assert steps.verify_round(home.message(home.round(9, (1, 0))), "thermal", own) is None


def test_rounds_that_nobody_can_have_asked_are_not_charged(home: Any, short: Any) -> None:
    """A number beyond all others is a stolen site key: it must not spend all there is."""
    far = steps.sign_round(home.round(1), 2 + steps.NEAR, home.devices)
    with pytest.raises(ForgottenFault):
        short.store.record_found_round(far, "somebody has it")
    with pytest.raises(OperatorFault, match="site's key"):
        steps.find_lost_rounds(
            Store(short.store.place, "testsite").find_missing_rounds(), home.devices
        )


@pytest.mark.parametrize("genuine", [True, False])
def test_an_answer_to_a_round_that_is_lost_has_no_receipt_and_ends_the_gateway(
    home: Any, short: Any, genuine: bool
) -> None:
    """A device answers Rounds of its site alone. The control: a frame that it did not sign."""
    frame = home.nodes["node-2"].answer(short.rounds[2].message, lambda _: [1000])
    said, lost = list[Any](), list[Any]()
    short.store.identity.call_on_loss(lambda: lost.append(1))
    by_name = {one.name: one for one in short.rounds}
    intake = Intake(
        short.store,
        home.devices,
        lambda *_: said.append("told"),
        lambda _: None,
        foreseen=lambda name, next: by_name.get(name),
    )
    link: Any = SimpleNamespace(acknowledge_batch=lambda *given: said.append(given))
    intake.start()
    topic = wire.topic("testsite", "node-2", "data")
    payload = frame if genuine else frame[:-1] + bytes([frame[-1] ^ 1])
    intake.take_message(link, Message(topic, payload, (1, 1)))
    assert eventually(lambda: lost or "told" in said)
    intake.stop()

    assert (lost, bool(said)) == (([1], False) if genuine else ([], True))
    assert [one.kind for one in short.store.list_refused()] == ([] if genuine else ["forged"])
    if genuine:
        with pytest.raises(ForgottenFault, match="node-2 has answered round 3"):
            short.store.identity.check()


def test_rounds_are_known_by_what_devices_call_them(tmp_path: Path, home: Any) -> None:
    """Of this deployment, and near its next number; those of another plan are nobody's."""
    (tmp_path / "gateway.toml").write_text(config.make_sample())
    deployment = config.load_deployment(tmp_path / "gateway.toml")
    foreseen = steps.ForeseenRounds(deployment, home.devices)
    plan = find_mechanism("thermal").plan(config.make_query(deployment), [])
    far, near = (wire.name_of(plan._replace(number=n)) for n in (5 + steps.NEAR, 7))
    found = foreseen.find_round(near, 5)

    assert found.plan == plan._replace(number=7)
    assert foreseen.find_round(far, 5) is None
    assert foreseen.find_round(wire.name_of(plan._replace(number=7, params=(1,))), 5) is None


@pytest.mark.parametrize(
    ("may_read", "place"),
    [
        ("both", wire.round_topic("testsite", "thermal")),
        ("both", steps.make_last_round_topic("testsite", "thermal")),
        ("open", wire.round_topic("testsite", "thermal")),
        ("none", wire.round_topic("testsite", "thermal")),
    ],
    ids=["open", "last", "rights to the open one", "old rights"],
)
def test_a_gateway_reads_its_own_rounds_before_it_says_anything(
    home: Any, short: Any, doors: Any, may_read: str, place: str
) -> None:
    """The open one, or the last where none is, as it is between two rounds.

    Where its broker has rights of before, it says once that it cannot, and goes on with what it
    may read.
    """
    if may_read != "both":
        held = (doors.folder / dynamic.FILE).read_text()
        body = json.loads(held)
        for role in body["roles"]:
            role["acls"] = [
                {**one, "topic": one["topic"].replace("round/#", "round/+")}
                for one in role["acls"]
                if "round/#" not in one["topic"]
                or one["acltype"] == "publishClientSend"
                or may_read == "open"
            ]
        (doors.folder / dynamic.FILE).write_text(json.dumps(body))
    (doors.folder / "gateway.toml").write_text(sites.small("testsite", doors.port))
    deployment = config.load_deployment(doors.folder / "gateway.toml")
    deployment = deployment.model_copy(update={"mqtt": doors.comes("gateway")})
    with doors.run(), Pump("test") as pump, structlog.testing.capture_logs() as logs:
        link = Link(deployment.mqtt, "before", pump).wait_connected()
        link.publish(place, short.rounds[2].message, retain=True)
        assert link.wait_until_sent(5)
        link.close()
        told: Any = short.store, pump, lambda *_: None, lambda *_: None
        uplink = Uplink(deployment, home.devices, *told)
        uplink.link.wait_connected()
        with (
            nullcontext() if may_read == "none" else pytest.raises(ForgottenFault, match="retains")
        ):
            assert uplink.check_rounds_known(home.devices)
        uplink.close()

    assert len([one for one in logs if one["event"] == UNREAD]) == (may_read != "both")
    assert total(short.store) == RHO
