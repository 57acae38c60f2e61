"""What is heard of a board at a real broker, and what the silence of one is explained by."""

import json
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from edge.core import limits, slots, wire
from edge.core.budget import Budget
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Round
from edge.host import post, rootkeys
from edge.host.enrol import provision
from edge.mechanisms import thermal
from gateway.devices.broker.embedded import run_broker
from gateway.devices.kit import start
from gateway.devices.kit.start import LATE_S, listen
from gateway.faults import LinkFault, OperatorFault
from gateway.settings.deployment import Mqtt

ROOT, KEY = bytes(range(32)), bytes(32)
WHO = rootkeys.identity("heard", "attic", ROOT, KEY, 0)
PROMISE = Guarantee((1, 1), (1, 100_000), (1, 8), "a move", "local", "a day", "presence")


def frame(root: bytes = ROOT) -> bytes:
    """Return what a real node of that root says first."""
    who, place = rootkeys.identity("heard", "attic", root, KEY, 0), slots.Ram()
    held = limits.Limits(1, 8, 1, 250_000, 10**12, 0)
    provision(place, who.state_key, rootkeys.first_chain(root), held)
    budget = Budget(place, who.state_key)
    budget.boot()
    params = thermal.Params(1, 8, -8000, 8000, 250_000, 1, 0)
    asked = Round(1, "thermal", Grid((10, 1), 100), tuple(params), PROMISE)
    message = post.pack_round(asked, KEY, wire.round_topic("heard", "thermal"))
    return bytes(Node(who, budget).answer(message, lambda _: [0]))


def meta(boot: Any, key: str = WHO.key_id.hex(), **held: int) -> bytes:
    return json.dumps({"boot": boot, "key": key, "limits": held}).encode()


@pytest.fixture(scope="module")
def broker(need: Callable[[str], str]) -> Any:
    """Return a real broker, as its gateway's user comes to it."""
    need("mosquitto")
    with run_broker("mosquitto") as where:
        yield Mqtt(host=where.host, port=where.port, insecure=True)


def say(broker: Mqtt, *said: tuple[str, bytes], retain: bool = False) -> None:
    """Publish what a device, or somebody in its name, would."""
    from paho.mqtt.publish import multiple

    topics = [(wire.topic("heard", "attic", leaf), payload) for leaf, payload in said]
    multiple([(topic, body, 1, retain) for topic, body in topics], broker.host, broker.port)


def test_what_was_retained_of_an_earlier_life_is_not_this_one(broker: Mqtt) -> None:
    """A board that is dead would be taken for one that lives; what comes then is."""
    say(broker, ("meta", meta(4)), ("state", b"ready"), retain=True)
    with listen(broker, WHO, 4) as ear:
        ear.begin()
        assert ear.wait_there(LATE_S / 2)._replace(state="") == start.Heard()
        say(broker, ("meta", meta(5)), ("data", frame()))
        heard = ear.wait_frame(5)
    assert (heard.boot, heard.state, heard.forged) == (5, "", 0)
    assert heard.frame is not None
    assert (heard.frame[:2], heard.frame.bytes) == ((1, 1), len(frame()))


@pytest.mark.long
def test_a_boot_that_was_reserved_before_a_sleep_is_this_life(broker: Mqtt) -> None:
    """Its number is not above what both slots say; but it comes after what was retained."""
    with listen(broker, WHO, 20) as ear:
        ear.begin()
        time.sleep(LATE_S)
        say(broker, ("meta", meta(6)))
        assert ear.wait_there(5).boot == 6


def test_what_others_say_in_its_name_is_not_believed(broker: Mqtt) -> None:
    """Frames under another key are counted, for that is what two boards of one name look like."""
    with listen(broker, WHO, 0) as ear:
        ear.begin()
        say(broker, ("data", frame(bytes(32))), ("data", b"rubbish"), ("meta", meta(9, "00" * 4)))
        say(broker, ("meta", b"{"), ("meta", meta("nine")), ("meta", b"[" * 5000))
        say(broker, ("state", b"\xff"), ("state", b"exhausted"))
        heard = ear.wait_frame(1)
    assert heard == start.Heard(0, "exhausted", None, 2)


def test_a_device_that_cannot_answer_is_not_waited_for(broker: Mqtt) -> None:
    """Its budget is spent, and it says so at once."""
    with listen(broker, WHO, 0) as ear:
        ear.begin()
        say(broker, ("diag", b'{"faults": 3}'), ("diag", b"{"), ("diag", b'{"faults": "many"}'))
        say(broker, ("meta", meta(1)), ("state", b"exhausted"))
        since_s = time.monotonic()
        heard = ear.wait_frame(60)
    assert (heard.state, heard.failed) == ("exhausted", 3)
    assert time.monotonic() - since_s < 30


@pytest.mark.parametrize(("window_s", "window_h"), [(86_400, 0), (0, 24), (86_400, 168)])
def test_a_board_that_counts_for_another_window_than_is_promised_is_refused(
    broker: Mqtt, window_s: int, window_h: int
) -> None:
    """It would give more than is said, or be silent sooner; the board itself says which it has."""
    said = ("meta", meta(1, window_s=window_s)), ("state", b"alert")
    board: Any = SimpleNamespace(restart=lambda: say(broker, *said))
    asked: Any = SimpleNamespace(
        mqtt=broker,
        privacy=SimpleNamespace(window_h=window_h),
        rounds=SimpleNamespace(every_s=0),
    )
    with pytest.raises(OperatorFault, match="attic was enrolled with a budget for"):
        start.start(board, asked, WHO, 0, 5, lambda _: None)


@pytest.mark.long
def test_without_a_broker_it_is_said() -> None:
    """It is the operator's to start."""
    from gateway.devices.broker.embedded import find_free_port

    nobody = Mqtt(host="127.0.0.1", port=find_free_port(), insecure=True)
    with pytest.raises(LinkFault, match="no MQTT broker"), listen(nobody, WHO, 0):
        pass
