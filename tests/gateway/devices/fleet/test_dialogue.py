"""What a virtual device hears and says, without a socket and without a clock."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from edge import wire
from edge.host import post
from edge.host.post import pack_limits
from edge.limits import Limits
from edge.tightening import topic
from gateway.devices.enrol import enrol
from gateway.devices.enrol.enrol import Devices
from gateway.devices.fleet.dialogue import TICK_MS, Dialogue
from gateway.devices.fleet.spool import Spool

SITE, SENSORS = "testsite", 4  # of `home`
Said = list[tuple[str, bytes, bool]]


class One:
    """A fleet of one device, which always sees the same."""

    names = ("node-1",)

    def __init__(self, device: Any) -> None:
        self._device = device

    def node(self, name: str) -> Any:
        return self._device

    def read(self, name: str, params: Any) -> tuple[int, ...]:
        return (1000,)


@pytest.fixture
def said() -> Said:
    """Return the list of what the device says: (leaf, payload, retained)."""
    return []


@pytest.fixture
def device(home: Any, said: Said) -> Dialogue:
    """Return a device that has said hello."""
    one = Dialogue(One(home.nodes["node-1"]), "node-1", lambda *words: said.append(words))
    one.hello()
    said.clear()
    return one


def leaves(said: Said) -> list[str]:
    return [leaf for leaf, _, _ in said]


def receipt(seq: int) -> bytes:
    made = enrol.make(SITE, SENSORS, fresh=random.Random(7).randbytes)  # as `home` does
    where = wire.topic(SITE, "node-1", "receipt")
    key = made.secrets.devices[1].identity.config_key
    return bytes(post.pack_receipt(1, seq, True, key, where))


def limits(devices: Devices, new: Limits) -> bytes:
    where = topic(devices.site, "node-1")
    return bytes(pack_limits(new, devices.by_name["node-1"].config_key, where))


def test_a_device_says_hello_with_all_that_may_be_known_of_it(home: Any, said: Said) -> None:
    """Retained, for whoever comes later."""
    Dialogue(One(home.nodes["node-1"]), "node-1", lambda *words: said.append(words)).hello()
    (meta, state) = said

    assert (meta[0], state) == ("meta", ("state", b"ready", True))
    assert json.loads(meta[1]) == home.nodes["node-1"].meta()
    assert meta[2]


def test_a_frame_goes_out_at_its_tick_and_again_until_its_receipt(
    home: Any, device: Dialogue, said: Said
) -> None:
    """The same bytes each time; a receipt for another message frees nothing."""
    device.hear("round", home.message(home.round()), 1000)
    device.look(1001)
    early, due_ms = list(said), device.due_ms
    device.look(1000 + TICK_MS)
    device.resend()
    said_by_anybody = json.dumps({"epoch": 1, "seq": 1, "taken": True}).encode()
    for rubbish in (
        receipt(2),
        b"{}",
        b"\xff",
        said_by_anybody,
        receipt(1)[:-1] + b"\0",
    ):
        device.hear("receipt", rubbish, 1200)
        device.resend()
    device.hear("receipt", receipt(1), 1300)
    device.resend()

    assert early == []
    assert due_ms == 1000 + TICK_MS
    assert leaves(said) == ["data"] * 7
    assert len({payload for _, payload, _ in said}) == 1
    assert not any(retained for _, _, retained in said)


def test_an_empty_round_asks_nothing(device: Dialogue, said: Said) -> None:
    """That is how a gateway takes a retained one back."""
    device.hear("round", b"", 0)
    device.look(TICK_MS)

    assert said == []


def test_tighter_limits_are_acknowledged_and_shown(
    home: Any, device: Dialogue, said: Said
) -> None:
    """The answer names the version; meta then tells everybody."""
    new = Limits(2, 8, 1, 20_000, 10**9, 0)
    device.hear("cmd/limits", limits(home.devices, new), 0)
    (ack, meta, _) = said

    assert (ack[0], ack[2]) == ("ack", False)
    assert json.loads(ack[1]) == {"verb": "limits", "version": 2, "taken": True, "why": ""}
    assert json.loads(meta[1])["limits"]["variance"] == 20_000


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (lambda home: limits(home.devices, Limits(2, 8, 1, 9_999, 10**9, 0)), "less noise"),
        (lambda home: b"rubbish of some length", "MAC"),
    ],
)
def test_limits_that_are_not_taken_are_answered_with_a_reason(
    home: Any, device: Dialogue, said: Said, message: Callable[[Any], bytes], words: str
) -> None:
    """Whoever sent them learns it, and the device goes on as before."""
    device.hear("cmd/limits", message(home), 0)
    ack = json.loads(said[0][1])

    assert not ack["taken"]
    assert words in ack["why"]


def test_the_last_frame_goes_out_before_the_device_says_that_it_is_exhausted(
    home: Any, device: Dialogue, said: Said
) -> None:
    """Said as soon as the frame is made, it would show how long the noise took."""
    spends_all = Limits(2, 8, 1, 10_000, 50_000, 0)  # one answer
    device.hear("cmd/limits", limits(home.devices, spends_all), 0)
    said.clear()
    device.hear("round", home.message(home.round(1)), 1000)
    device.look(1001)
    before = list(said)
    device.look(1000 + TICK_MS)
    device.hear("round", home.message(home.round(2)), 2000)
    device.look(2000 + TICK_MS)

    assert before == []
    assert leaves(said) == ["data", "meta", "state"]
    assert said[2] == ("state", b"exhausted", True)


def test_a_budget_that_cannot_be_kept_is_said_at_once(
    home: Any, device: Dialogue, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no frame that it could give away."""

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("edge.slots.Ram.write", full)
    device.hear("round", home.message(home.round()), 1000)
    device.look(1000 + TICK_MS)

    assert leaves(said) == ["meta", "state"]
    assert said[1] == ("state", b"alert", True)


def test_bytes_that_are_no_round_change_nothing(device: Dialogue, said: Said) -> None:
    """Anybody may send them."""
    device.hear("round", b"rubbish", 0)
    device.look(TICK_MS)

    assert said == []


def test_nothing_is_said_between_a_round_and_its_frame(
    home: Any, device: Dialogue, said: Said
) -> None:
    """Rubbish sent right behind a round would else be answered when the noise is drawn."""
    device.hear("round", home.message(home.round()), 1000)
    device.hear("cmd/limits", b"rubbish of some length", 1001)
    device.hear("cmd/limits", limits(home.devices, Limits(2, 8, 1, 20_000, 0, 0)), 1002)
    device.hear("round", home.message(home.round(2)), 1003)
    device.look(1004)
    before = list(said)
    device.look(1000 + TICK_MS)

    assert before == []
    assert leaves(said) == ["data", "ack", "ack", "meta", "state"]
    assert [json.loads(payload)["taken"] for _, payload, _ in said[1:3]] == [False, True]
    assert said[-1] == ("state", b"exhausted", True)


def test_one_frame_is_under_way_at_a_time_and_the_others_follow_in_order(
    home: Any, device: Dialogue, said: Said
) -> None:
    """A broker that loses one of two would make the device look like one from its past."""
    for number in (1, 2, 3):
        device.hear("round", home.message(home.round(number)), 1000 * number)
        device.look(1000 * number + TICK_MS)
    before = [payload for leaf, payload, _ in said if leaf == "data"]
    kept = device.spool.frames()
    said.clear()
    for seq in (1, 2, 3):
        device.hear("receipt", receipt(seq), 4000)
    after = [payload for leaf, payload, _ in said if leaf == "data"]

    assert set(before) == {kept[0]}
    assert len(set(kept)) == 3
    assert after == kept[1:]
    assert device.spool.oldest is None


def test_a_receipt_does_not_let_a_frame_out_before_its_tick(
    home: Any, device: Dialogue, said: Said
) -> None:
    """The moment of a frame must not show when its noise was ready."""
    device.hear("round", home.message(home.round(1)), 1000)
    device.look(1000 + TICK_MS)
    device.hear("round", home.message(home.round(2)), 2000)
    device.look(2001)
    said.clear()
    device.hear("receipt", receipt(1), 2002)
    device.resend()
    early = list(said)
    device.look(2000 + TICK_MS)

    assert early == []
    assert leaves(said) == ["data"]


def test_a_frame_is_kept_before_it_can_be_sent(home: Any) -> None:
    """Between its charge and its tick a device may lose its power."""
    spool, said = Spool(), []
    one = Dialogue(One(home.nodes["node-1"]), "node-1", lambda *_: said.append(1), spool)
    one.hear("round", home.message(home.round()), 1000)

    assert len(spool) == 1
    assert said == []
