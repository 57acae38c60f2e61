"""What each may do at the broker: nothing of it is more than its part needs."""

import socket
import ssl
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gateway.cli.devices import broker
from gateway.devices.broker.mosquitto import TopicRight, list_device_rights, list_gateway_rights
from gateway.devices.enrol import enrol
from gateway.service.mqtt import access
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from tests import processes
from tests.conftest import plugin
from tests.processes import find_free_port
from tests.waiting import eventually

MANY = 40


class Site(NamedTuple):
    """A broker by `heatveil broker init` that runs, and the passwords of its devices."""

    mqtt: Mqtt
    passwords: dict[str, str]
    folder: Path

    def device(self, name: str) -> Mqtt:
        return access.make_device_settings(self.mqtt, name, self.passwords[name])


@pytest.fixture
def site(
    need: Callable[[str], str], answers: Callable[[int], None], tmp_path: Path
) -> Iterator[Site]:
    """Run a broker with room for few connections more than its fleet has."""
    program, port = need("mosquitto"), find_free_port()
    plugin()
    path = tmp_path / "gateway.toml"
    path.write_text(config.make_sample().replace("port = 8883", f"port = {port}"))
    enrol.save_secrets(enrol.enrol_fleet("lab", 3).secrets, tmp_path / "secrets.json")
    broker.init(path)
    folder = tmp_path / "broker"
    settings = (folder / "mosquitto.conf").read_text()
    settings = settings.replace("max_connections 1000", "max_connections 20")
    # OpenSSL itself would refuse old versions of TLS; so that it is ours that does.
    settings = settings.replace("tls_version", "ciphers ALL:@SECLEVEL=0\ntls_version")
    (folder / "mosquitto.conf").write_text(settings)
    mqtt = config.load_deployment(path).mqtt
    passwords = dict(
        broker.read_device_passwords(config.load_deployment(path), tmp_path / "secrets.json")
    )
    with processes.Child(
        [program, "-c", folder / "mosquitto.conf"], stderr=subprocess.DEVNULL
    ) as child:
        answers(port)
        try:
            yield Site(mqtt, passwords, folder)
        finally:
            child.terminate()


@pytest.mark.long
def test_one_device_cannot_take_all_connections_that_there_are(site: Site, pump: Pump) -> None:
    """It has one, and the gateway comes in; one bound to no session would take them all."""
    greedy = [Link(site.device("node-1"), f"mine-{n}", pump, lasting=False) for n in range(MANY)]
    own = Link(site.device("node-1"), "heatveil-lab-node-1", pump, lasting=False)
    time.sleep(1)
    came = sum(one._session.ready for one in greedy)
    own.wait_connected()
    for link in greedy:  # they try again and again, and each is a connection for a moment
        link.close()
    Link(site.mqtt, "heatveil-lab", pump).wait_connected().close()
    own.close()

    assert came == 0


def test_the_gateway_reads_the_round_that_it_has_asked(site: Site, pump: Pump) -> None:
    """By what is delivered: mosquitto grants what an access list forbids, and then is silent."""
    topic, heard = "heatveil/1/lab/round/thermal", list[Any]()
    link = Link(site.mqtt, "heatveil-lab", pump).wait_connected()
    link.publish(topic, b"a round", retain=True)
    assert link.wait_until_sent(5)
    link.close()
    told: Any = {
        "subscribe": [topic],
        "lasting": False,
        "on_message": lambda _, m: heard.append(m),
    }
    link = Link(site.mqtt, "heatveil-lab-reads", pump, **told).wait_connected()
    assert eventually(lambda: heard)
    link.close()

    assert [(one.payload, one.retained) for one in heard] == [(b"a round", True)]


def spoken(mqtt: Mqtt, version: str) -> str | None:
    """Return the version of TLS that a broker agrees to, with a client that knows this alone."""
    context: Any = ssl.create_default_context(cafile=mqtt.ca_file)
    context.set_ciphers("ALL:@SECLEVEL=0")
    wanted = ssl.TLSVersion[version]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = wanted
    with socket.create_connection((mqtt.host, mqtt.port)) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=mqtt.host) as link:
                return str(link.version())
        except ssl.SSLError:
            return None


def test_the_broker_speaks_no_tls_below_12(
    site: Site, need: Callable[[str], str], answers: Callable[[int], None]
) -> None:
    """RFC 8996 forbids them. As a control, one that is told to speaks 1.1 to this client."""
    assert spoken(site.mqtt, "TLSv1_1") is None
    assert spoken(site.mqtt, "TLSv1_2") == "TLSv1.2"
    assert spoken(site.mqtt, "TLSv1_3") == "TLSv1.3"
    port, lax = find_free_port(), site.folder / "lax.conf"
    settings = (site.folder / "mosquitto.conf").read_text()
    settings = settings.replace("tls_version tlsv1.2", "tls_version tlsv1.1")
    lax.write_text(settings.replace(f"listener {site.mqtt.port}", f"listener {port}"))
    with processes.Child([need("mosquitto"), "-c", lax], stderr=subprocess.DEVNULL) as child:
        answers(port)
        try:
            said = spoken(site.mqtt.model_copy(update={"port": port}), "TLSv1_1")
        finally:
            child.terminate()
    assert said == "TLSv1.1"


def test_a_device_may_write_under_its_name_and_read_what_it_is_told() -> None:
    """Word for word: commands and receipts are read, and not one topic is for both."""
    held = list_device_rights("lab", "attic")
    own = "heatveil/1/lab/attic"

    assert {topic for write, topic in held if write} == {
        f"{own}/{leaf}" for leaf in ("data", "sum", "meta", "state", "diag", "ack")
    }
    assert {topic for write, topic in held if not write} == {
        f"{own}/receipt",
        f"{own}/told",
        f"{own}/cmd/#",
        "heatveil/1/lab/round/#",
        "heatveil/1/lab/sum/+",
        "heatveil/1/lab/update/+",
    }


def test_the_gateway_may_not_say_what_a_device_says() -> None:
    """It asks, draws, thanks and commands; it hears the rest."""
    held = list_gateway_rights("lab", "ha")
    said = {topic for write, topic in held if write}

    assert TopicRight(False, "heatveil/1/lab/+/data") in held
    assert not {topic for topic in said if topic.endswith(("/data", "/state", "/meta", "/ack"))}
    assert "#" not in said
    assert not any(topic.startswith(("$", "+")) for topic in said)
