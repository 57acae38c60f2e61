"""A broker of `heatveil broker init`, run as it stands: who gets in, and what each may say.

The strangers here do what a stolen board, a curious neighbour or a forged broker would do.
"""

import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from structlog.testing import capture_logs

from gateway.cli.devices import broker
from gateway.devices.broker import certificates, dynamic
from gateway.devices.broker.mosquitto import TopicRight
from gateway.devices.enrol import enrol
from gateway.faults import LinkFault
from gateway.service.mqtt import access
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from tests import processes
from tests.conftest import plugin
from tests.processes import find_free_port
from tests.waiting import eventually

SITE = "lab"
DATA, OTHERS = f"heatveil/1/{SITE}/node-0/data", f"heatveil/1/{SITE}/node-1/data"
RECEIPT = f"heatveil/1/{SITE}/node-0/receipt"
ROUND = f"heatveil/1/{SITE}/round/thermal"


Running = Callable[[str, Path, int], AbstractContextManager[None]]


@pytest.fixture(scope="session")
def running(answers: Callable[[int], None]) -> Running:
    """Return what runs mosquitto with a configuration for as long as a block lasts."""

    @contextmanager
    def run(program: str, configuration: Path, port: int) -> Iterator[None]:
        command = [program, "-c", str(configuration)]
        with processes.Child(command, stderr=subprocess.DEVNULL) as child:
            answers(port)
            try:
                yield
            finally:
                child.terminate()

    return run


class Wall(NamedTuple):
    """A deployment whose broker runs, and what its devices know."""

    folder: Path
    mqtt: Mqtt
    passwords: dict[str, str]

    def device(self, name: str) -> Mqtt:
        """Return the broker as that device comes to it."""
        return access.make_device_settings(self.mqtt, name, self.passwords[name])


@pytest.fixture
def wall(need: Callable[[str], str], running: Running, tmp_path: Path) -> Iterator[Wall]:
    """Enrol four devices, make their broker by the command, and run it."""
    program, folder = need("mosquitto"), tmp_path
    plugin()
    port = find_free_port()
    path = folder / "gateway.toml"
    path.write_text(config.make_sample().replace("port = 8883", f"port = {port}"))
    secrets = enrol.enrol_fleet(SITE, 4).secrets
    enrol.save_secrets(secrets, folder / "secrets.json")
    broker.init(path)
    deployment = config.load_deployment(path)
    passwords = dict(broker.read_device_passwords(deployment, folder / "secrets.json"))
    # Somebody who may hear everything: what does not arrive here was stopped by the broker.
    passwords["watcher"] = "w" * 64
    watch(folder / "broker")
    with running(program, folder / "broker" / "mosquitto.conf", port):
        yield Wall(folder, deployment.mqtt, passwords)


def watch(folder: Path) -> None:
    """Let the watcher in."""
    path = folder / dynamic.FILE
    body = dynamic.parse_plugin_file(path.read_text())
    body["clients"].append(dynamic.make_client("watcher", "w" * 64, "watches", b"twelve bytes"))
    body["roles"].append(
        {"rolename": "watches", "acls": dynamic.make_acls([TopicRight(False, "#")])}
    )
    path.write_text(dynamic.format_plugin_file(body))


class Ears:
    """Keeps what comes."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes]] = []

    def __call__(self, link: Link, message: Message) -> None:
        link.acknowledge(message)
        self.heard.append((message.topic, message.payload))

    def wait(self, count: int) -> list[tuple[str, bytes]]:
        """Return what came, once it is so much."""
        eventually(lambda: len(self.heard) >= count)
        return self.heard


def session(mqtt: Mqtt) -> str:
    """Return the name under which a device may come; others may under any."""
    return f"heatveil-{SITE}-{mqtt.username}"


@contextmanager
def links(pump: Pump, *given: tuple[Mqtt, list[str], Ears | None]) -> Iterator[list[Link]]:
    """Connect clients, each with its topics and its ears, and take them off again."""
    made: list[Link] = []
    try:
        for mqtt, topics, ears in given:
            made.append(
                Link(mqtt, session(mqtt), pump, subscribe=topics, on_message=ears).wait_connected()
            )
        yield made
    finally:
        for link in made:
            link.close()


def test_a_device_speaks_for_itself_and_hears_what_it_is_asked(wall: Wall, pump: Pump) -> None:
    """The plain case, over TLS: round out, report in, receipt out."""
    ears, gateway_ears = Ears(), Ears()
    with links(
        pump,
        (wall.mqtt, [f"heatveil/1/{SITE}/+/data"], gateway_ears),
        (wall.device("node-0"), [f"heatveil/1/{SITE}/round/#", RECEIPT], ears),
    ) as (gateway, device):
        assert gateway._client.socket().version() in ("TLSv1.2", "TLSv1.3")
        gateway.publish(ROUND, b"asked")
        assert ears.wait(1) == [(ROUND, b"asked")]
        device.publish(DATA, b"answer")
        assert gateway_ears.wait(1) == [(DATA, b"answer")]
        gateway.publish(RECEIPT, b"thanks")
        assert ears.wait(2)[1] == (RECEIPT, b"thanks")


def leaf(name: str, rest: str) -> str:
    return f"heatveil/1/{SITE}/{name}/{rest}"


FORBIDDEN = {
    "node-0": [
        *(leaf("node-1", rest) for rest in ("data", "meta", "state", "diag", "ack")),
        *(leaf("node-0", rest) for rest in ("receipt", "cmd/limits", "cmd", "data/more")),
        *(leaf("gateway", "data"), leaf("round", "thermal"), leaf("map", "thermal")),
        *("heatveil/1/lab/node-0", "heatveil/1/attic/node-0/data", "data", "$SYS/broker/uptime"),
    ],
    "gateway": [leaf("node-0", "data"), leaf("node-0", "state"), "homeassistant/device/x/config"],
}
ALLOWED = {
    "node-0": [leaf("node-0", rest) for rest in ("data", "meta", "state", "diag", "ack")],
    "gateway": [
        *(leaf("node-0", "receipt"), leaf("node-0", "cmd/limits")),
        *(leaf("round", "thermal"), leaf("map", "thermal")),
    ],
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_nobody_speaks_for_anybody_else(wall: Wall, pump: Pump, name: str) -> None:
    """A stolen board must not pass for its neighbours, nor for the gateway."""
    ears = Ears()
    speaks = wall.mqtt if name == "gateway" else wall.device(name)
    with links(pump, (wall.device("watcher"), ["#"], ears), (speaks, [], None)) as (_, speaker):
        for topic in FORBIDDEN[name]:
            speaker.publish(topic, b"forged")
        for topic in ALLOWED[name]:
            speaker.publish(topic, b"honest")
        wanted = [(topic, b"honest") for topic in ALLOWED[name]]

        assert ears.wait(len(wanted)) == wanted


def test_nobody_hears_what_is_for_another(wall: Wall, pump: Pump) -> None:
    """Not the others' reports, receipts or commands, whatever it subscribes to."""
    ears, control = Ears(), Ears()
    topics = ["#", "heatveil/#", leaf("node-1", "#"), leaf("+", "receipt"), leaf("node-0", "data")]
    topics += ["$CONTROL/#", "$CONTROL/dynamic-security/v1/response"]
    topics += [leaf("node-0", "receipt"), leaf("node-0", "cmd/#"), leaf("round", "#")]
    own = wall.device("node-0")
    greedy = Link(own, session(own), pump, subscribe=topics, on_message=ears)
    with links(
        pump,
        (wall.mqtt, [], None),
        (wall.device("node-1"), [], None),
        (wall.device("watcher"), ["heatveil/#"], control),
    ) as (gateway, other, _):
        # The plugin refuses some of its topics, and the files say yes to all; what counts is
        # what is delivered, once it hears what is its own.
        own_leaf = leaf("node-0", "receipt")
        assert eventually(lambda: gateway.publish(own_leaf, b"yours") or ears.heard, every_s=0.05)
        time.sleep(0.2)
        ears.heard.clear()
        control.heard.clear()
        for rest in ("data", "state", "meta"):
            other.publish(leaf("node-1", rest), b"not yours")
        control.wait(3)
        for rest in ("receipt", "cmd/limits"):
            gateway.publish(leaf("node-1", rest), b"not yours")
        gateway.publish(leaf("map", "thermal"), b"not yours")
        for where, rest in (("node-0", "receipt"), ("node-0", "cmd/x"), ("round", "thermal")):
            gateway.publish(leaf(where, rest), b"yours")
        control.wait(9)
        # Subscriptions that overlap may bring a message twice: the three, not three messages.
        assert eventually(lambda: len({topic for topic, _ in ears.heard}) >= 3)
        greedy.close()

        assert len(control.heard) >= 9
        assert {payload for _, payload in ears.heard} == {b"yours"}
        assert {topic.split("/")[-1] for topic, _ in ears.heard} == {"receipt", "x", "thermal"}


def dies(wall: Wall, name: str, will: str) -> int:
    """Come as a device over a bare socket, leave a last will, and die; return the broker's word.

    Source: MQTT 3.1.1, sections 3.1 (CONNECT, with a retained will at QoS 0) and 3.2 (CONNACK).
    """

    def text(words: str) -> bytes:
        return len(words.encode()).to_bytes(2, "big") + words.encode()

    own = access.make_client_id(wall.device(name), session(wall.device(name)))
    body = text("MQTT") + bytes([4, 0x80 | 0x40 | 0x20 | 0x04 | 0x02, 0, 30])
    body += (
        text(own) + text(will) + text("the last word") + text(name) + text(wall.passwords[name])
    )
    length = (
        bytes([len(body) & 127 | 128, len(body) >> 7]) if len(body) > 127 else bytes([len(body)])
    )
    context = access.make_tls_context(wall.mqtt)
    with (
        socket.create_connection((wall.mqtt.host, wall.mqtt.port)) as plain,
        context.wrap_socket(plain, server_hostname=wall.mqtt.host) as link,
    ):
        link.sendall(b"\x10" + length + body)
        return link.recv(4)[3]


def test_a_last_will_is_no_way_around(wall: Wall, pump: Pump) -> None:
    """What a device says when it dies is held to the same rights; its own state is the control."""
    ears = Ears()
    with links(pump, (wall.device("watcher"), ["#"], ears)):
        for topic in (leaf("node-1", "state"), ROUND, RECEIPT, leaf("map", "thermal")):
            dies(wall, "node-0", topic)
        assert dies(wall, "node-0", leaf("node-0", "state")) == 0
        heard = ears.wait(1)
        time.sleep(0.2)

        assert heard == [(leaf("node-0", "state"), b"the last word")]


def test_a_shared_subscription_is_no_way_around(wall: Wall, pump: Pump) -> None:
    """Nothing of another's is taken from the gateway by sharing it."""
    ears, stolen = Ears(), Ears()
    shared = [
        f"$share/any/{leaf('+', 'data')}",
        "$share/any/#",
        f"$share/any/{leaf('round', '#')}",
    ]
    own = wall.device("node-0")
    thief = Link(own, session(own), pump, subscribe=shared, on_message=stolen)
    with links(
        pump, (wall.mqtt, [leaf("+", "data")], ears), (wall.device("node-1"), [], None)
    ) as (_, other):
        time.sleep(0.5)
        for number in range(5):
            other.publish(OTHERS, b"%d" % number)

        assert ears.wait(5) == [(OTHERS, b"%d" % number) for number in range(5)]
        assert stolen.heard == []
        thief.close()


def test_who_sends_too_much_at_once_is_heard_by_nobody(wall: Wall, pump: Pump) -> None:
    """A long one is heard of; five megabytes reach nobody, and cost nobody else a word."""
    ears = Ears()
    with links(
        pump,
        (wall.device("watcher"), ["heatveil/#"], ears),
        (wall.device("node-0"), [], None),
        (wall.device("node-1"), [], None),
    ) as (_, loud, other):
        loud.publish(DATA, bytes(900_000))
        first = [topic for topic, _ in ears.wait(1)]
        loud.publish(DATA, bytes(5_000_000))
        loud._session.wait_down(20)
        loud.close()
        other.publish(OTHERS, b"calm")
        heard = ears.wait(2)

    assert first == [DATA]
    assert heard[1:] == [(OTHERS, b"calm")]


def test_a_device_cannot_throw_the_gateway_off(wall: Wall, pump: Pump) -> None:
    """Whoever comes under another's client id ends its connection and takes over its session.

    A device is let in under its own alone.
    """
    gateway = Link(wall.mqtt, "heatveil-lab", pump, subscribe=[leaf("+", "data")]).wait_connected()
    with pytest.raises(LinkFault, match="Not authorized"):
        Link(wall.device("node-2"), "heatveil-lab", pump).wait_connected()
    connections = gateway._session.connection
    gateway.close()

    assert connections == 1


@pytest.mark.parametrize(
    ("username", "password"),
    [(None, None), ("node-0", "0" * 64), ("node-0", "of node-1"), ("stranger", "0" * 64)],
)
def test_who_has_no_password_does_not_get_in(
    wall: Wall, pump: Pump, username: str | None, password: str | None
) -> None:
    """Anonymous, guessed, another's, unknown: one clear line for whoever set it up wrong."""
    secret = wall.passwords["node-1"] if password == "of node-1" else password
    mqtt = access.make_device_settings(wall.mqtt, username or "", secret or "")
    if username is None:
        mqtt = wall.mqtt.model_copy(update={"username": None, "password_file": None})
    with pytest.raises(LinkFault, match=r"will not have any \(Not authorized\).*\[mqtt\]"):
        Link(mqtt, "any", pump).wait_connected()


def refused(mqtt: Mqtt, pump: Pump, patience_s: float = 60) -> str:
    """Return the line that a link ends with."""
    with pytest.raises(LinkFault) as caught:
        Link(mqtt, "any", pump).wait_connected(patience_s)
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_a_broker_that_a_stranger_signed_is_not_spoken_to(
    wall: Wall, pump: Pump, tmp_path: Path
) -> None:
    """Who sits on the line can make a certificate for any name, but not our authority's."""
    other = tmp_path / "other.pem"
    other.write_bytes(certificates.make_authority("a stranger", datetime.now(UTC)).certificate)

    ours = refused(wall.mqtt.model_copy(update={"ca_file": other}), pump)
    systems = refused(wall.mqtt.model_copy(update={"ca_file": None}), pump)

    assert f"a certificate that {other} did not sign" in ours
    assert "that this machine's authorities did not sign" in systems


def test_a_broker_that_goes_by_another_name_is_not_spoken_to(wall: Wall, pump: Pump) -> None:
    """Any server of the same authority could pose as the broker."""
    said = refused(wall.mqtt.model_copy(update={"host": "localhost"}), pump)

    assert "a certificate for another name" in said
    assert "localhost" in said
    assert "(heatveil broker init)" in said


def copy_broker(wall: Wall, folder: Path, port: int, server: certificates.Pair) -> Path:
    """Return the configuration of that broker on another port, with another certificate."""
    shutil.copytree(wall.folder / "broker", folder)
    (folder / "server.pem").write_bytes(server.certificate)
    (folder / "server.key").write_bytes(server.key)
    settings = (folder / "mosquitto.conf").read_text()
    settings = settings.replace(str(wall.folder / "broker"), str(folder))
    settings = settings.replace(f"listener {wall.mqtt.port}", f"listener {port}")
    (folder / "mosquitto.conf").write_text(settings)
    return folder / "mosquitto.conf"


@pytest.mark.parametrize(("days", "word"), [(-4 * 365, "has expired"), (30, "is not valid yet")])
def test_a_certificate_out_of_its_time_is_refused(
    wall: Wall,
    pump: Pump,
    tmp_path: Path,
    need: Callable[[str], str],
    running: Running,
    days: int,
    word: str,
) -> None:
    """An old key may have been stolen since; and a clock that is wrong must be said to be."""
    port, kept = find_free_port(), wall.folder / "broker"
    signer = certificates.Pair(*((kept / f"ca.{end}").read_bytes() for end in ("pem", "key")))
    old = certificates.make_server(["127.0.0.1"], signer, datetime.now(UTC) + timedelta(days=days))
    with running(need("mosquitto"), copy_broker(wall, tmp_path / "old", port, old), port):
        said = refused(wall.mqtt.model_copy(update={"port": port}), pump)

    assert f"shows a certificate that {word}" in said
    assert "clock" in said


@pytest.mark.long
def test_a_broker_that_is_exchanged_while_we_run_is_not_spoken_to(
    wall: Wall, pump: Pump, tmp_path: Path, need: Callable[[str], str], running: Running
) -> None:
    """Trust is asked for anew at every connection; what waits is said to the right one alone."""
    program, port, kept = need("mosquitto"), find_free_port(), wall.folder / "broker"
    own = certificates.Pair(*((kept / f"server.{end}").read_bytes() for end in ("pem", "key")))
    now = datetime.now(UTC)
    strange = certificates.make_authority("a stranger", now)
    posing = certificates.make_server(["127.0.0.1"], strange, now)
    ours = copy_broker(wall, tmp_path / "ours", port, own)
    theirs = copy_broker(wall, tmp_path / "theirs", port, posing)
    mqtt, ears = wall.mqtt.model_copy(update={"port": port}), Ears()
    with capture_logs() as logged:
        with running(program, ours, port):
            topics = [leaf("+", "data")]
            gateway = Link(
                mqtt, "gateway", pump, subscribe=topics, on_message=ears
            ).wait_connected()
            as_node = access.make_device_settings(mqtt, "node-0", wall.passwords["node-0"])
            device = Link(as_node, session(as_node), pump).wait_connected()
        device.publish(DATA, b"for the right one")
        with running(program, theirs, port):
            assert eventually(
                lambda: any("did not sign" in str(line.get("why")) for line in logged)
            )
            time.sleep(1)
        with running(program, ours, port):
            heard = ears.wait(1)
            gateway.close()
            device.close()

    assert heard == [(DATA, b"for the right one")]


@pytest.mark.long
def test_a_broker_in_the_clear_is_not_spoken_to(wall: Wall, mosquitto: Mqtt, pump: Pump) -> None:
    """A deployment from before says neither ca_file nor insecure: it must learn of both ways."""
    said = refused(Mqtt(host=mosquitto.host, port=mosquitto.port), pump, 5)

    assert "does not answer in TLS" in said
    assert "ca_file" in said
    assert "heatveil broker init" in said
    assert "insecure = true" in said


def test_this_broker_says_nothing_in_the_clear(wall: Wall, pump: Pump) -> None:
    """Not even to somebody with the right password: it would have gone over the network."""
    open_way = wall.mqtt.model_copy(update={"insecure": True, "ca_file": None})

    assert "no MQTT broker at" in refused(open_way, pump, 1)


def test_the_certificates_hold_what_the_strictest_check_asks_for(wall: Wall) -> None:
    """Newer Pythons check by it without being asked, and would not speak to a sloppy broker."""
    context = ssl.create_default_context(cafile=wall.mqtt.ca_file)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with (
        socket.create_connection((wall.mqtt.host, wall.mqtt.port)) as plain,
        context.wrap_socket(plain, server_hostname=wall.mqtt.host) as link,
    ):
        assert link.version() in ("TLSv1.2", "TLSv1.3")
