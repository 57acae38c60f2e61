"""A device's way to its broker: TLS that is verified, on every interpreter, or no word at all.

The broker is mosquitto with the files of `heatveil broker init`; the device is a few lines that
any board could run: connect, one MQTT CONNECT, one CONNACK.
"""

import getpass
import ssl
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gateway.devices.broker import certificates, dynamic, mosquitto
from tests import processes
from tests.conftest import plugin
from tests.processes import find_free_port

# {0} is what the case adds; it must print one line.
DEVICE = """
import socket
from edge.net import tls

def read(path):
    with open(path, "rb") as file:
        return file.read()

def text(word):
    return len(word).to_bytes(2, "big") + word.encode()

def connect(link):
    body = text("MQTT") + bytes([4, 0xC2, 0, 30]) + text("x") + text({user!r}) + text({password!r})
    link.write(bytes([0x10, len(body)]) + body) if hasattr(link, "write") else link.send(
        bytes([0x10, len(body)]) + body
    )
    return link.read(4) if hasattr(link, "read") else link.recv(4)

def dial(port={port}):
    sock = socket.socket()
    sock.connect(socket.getaddrinfo("127.0.0.1", port)[0][-1])
    return sock

def refused(call):
    try:
        call()
    except ValueError as why:
        return str(why)
    return "it was accepted"

ca = {ca!r}
{case}
"""


class Broker(NamedTuple):
    """A broker that runs, and what a device of its site knows."""

    port: int
    expired: int  # the port of one whose certificate is old
    authority: Path

    def device(self, case: str) -> str:
        """Return the script of a device that does this."""
        return DEVICE.format(ca=str(self.authority), case=case, port=self.port, **KNOWN)


KNOWN = {"user": "node-0", "password": "ab" * 32}


def settled(folder: Path, signer: certificates.Pair, now: datetime, plugin: Path) -> int:
    """Write the files of a broker on a free port; return the port."""
    folder.mkdir()
    port, hosts = find_free_port(), ["localhost", "127.0.0.1"]
    made = certificates.make_server(hosts, signer, now)
    everybody = {KNOWN["user"]: KNOWN["password"]}
    for name, content in {
        "server.pem": made.certificate.decode(),
        "server.key": made.key.decode(),
        dynamic.FILE: dynamic.make_plugin_file("lab", "gateway", everybody, "homeassistant"),
        "mosquitto.conf": mosquitto.render_configuration(
            "lab", folder, hosts, port, getpass.getuser(), plugin
        ),
    }.items():
        (folder / name).write_text(content)
        (folder / name).chmod(0o600)
    (folder / "data").mkdir()
    return port


@pytest.fixture(scope="module")
def broker(
    need: Callable[[str], str],
    answers: Callable[[int], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Broker]:
    """Run the broker of a site that has one device, and another whose time is over."""
    program, folder, security = need("mosquitto"), tmp_path_factory.mktemp("tls"), plugin()
    now = datetime.now(UTC)
    signer = certificates.make_authority("a test", now)
    (folder / "ca.pem").write_bytes(signer.certificate)
    ports = [
        settled(folder / "good", signer, now, security),
        settled(folder / "old", signer, now - timedelta(days=4000), security),
    ]
    children = [
        processes.Child([program, "-c", folder / name / "mosquitto.conf"], stderr=subprocess.PIPE)
        for name in ("good", "old")
    ]
    for port in ports:
        answers(port)
    yield Broker(*ports, folder / "ca.pem")
    for child in children:
        child.terminate()
        child.communicate()


@pytest.fixture
def networked(interpreter: Any) -> Any:
    """Return each interpreter that has sockets; the WebAssembly port has none, by design."""
    if interpreter.name == "wasm":
        pytest.skip("the WebAssembly port has no sockets, so no broker to speak to")
    return interpreter


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_device_gets_in_at_its_own_broker(networked, broker: Broker, host: str) -> None:
    """By name and by address: CONNACK with return code 0 (MQTT 3.1.1, section 3.2)."""
    case = f"print(connect(tls.context({host!r}, read(ca)).wrap_socket(dial())))"

    assert networked.run(broker.device(case)) == "b' \\x02\\x00\\x00'\n"


def test_the_authority_may_be_der_too(networked, broker: Broker) -> None:
    """Some firmwares read nothing else, so some tools make nothing else."""
    plain = ssl.PEM_cert_to_DER_cert((broker.authority).read_text())
    case = f"print(connect(tls.context('localhost', {plain!r}).wrap_socket(dial())))"

    assert networked.run(broker.device(case)) == "b' \\x02\\x00\\x00'\n"


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("tls.context('localhost', {stranger!r}).wrap_socket(dial())", "that is not accepted"),
        ("tls.context('elsewhere', read(ca)).wrap_socket(dial())", "broker elsewhere shows"),
        ("tls.context('localhost', read(ca)).wrap_socket(dial({expired}))", "expired"),
        (
            "tls.context('elsewhere', read(ca)).wrap_socket(dial(), server_hostname='localhost')",
            "broker elsewhere shows",
        ),
    ],
)
def test_a_broker_that_is_not_ours_is_not_spoken_to(
    networked, broker: Broker, case: str, words: str
) -> None:
    """Signed by a stranger, made for another host, out of date: it does not hear a word."""
    stranger = certificates.make_authority("a stranger", datetime.now(UTC)).certificate
    call = case.format(stranger=stranger, expired=broker.expired)
    said = networked.run(broker.device(f"print(refused(lambda: {call}))"))

    assert words in said
    assert "would be believed" in said


def test_what_mistrust_is_for_can_be_seen(networked, broker: Broker) -> None:
    """A negative control: with CERT_NONE, where MicroPython begins, a stranger is believed."""
    stranger = certificates.make_authority("a stranger", datetime.now(UTC)).certificate
    case = f"""
library = tls._library()
inner = library.SSLContext(library.PROTOCOL_TLS_CLIENT)
if hasattr(inner, "check_hostname"):
    inner.check_hostname = False
inner.verify_mode = library.CERT_NONE
print(connect(tls.Door("elsewhere", inner).wrap_socket(dial())))
print(refused(lambda: tls.context("elsewhere", {stranger!r}).wrap_socket(dial())) > "")
"""
    assert networked.run(broker.device(case)) == "b' \\x02\\x00\\x00'\nTrue\n"


def test_a_connection_that_breaks_is_no_mistrust(networked, broker: Broker) -> None:
    """It is worth another attempt, so it must not look like a certificate that is wrong."""
    case = """
server = socket.socket()
server.bind(socket.getaddrinfo("127.0.0.1", {port})[0][-1])
server.listen(1)
sock = dial({port})
other = server.accept()[0]
other.close()
server.close()
try:
    tls.context("localhost", read(ca)).wrap_socket(sock)
except ValueError:
    print("mistrust")
except OSError:
    print("another attempt")
"""
    said = networked.run(broker.device(case.replace("{port}", str(find_free_port()))))

    assert said == "another attempt\n"


REFUSED = {
    "context('localhost', b'')": "no authority is given",
    "context('localhost', None)": "no authority is given",
    "context('', b'x')": "no host is given",
    "context('localhost', b'x', insecure=True)": "only one of them can be meant",
    "context('localhost', b'-----BEGIN CERTIFICATE-----\\n')": "has 1 certificates",
    "context('localhost', 2 * (tls.BEGIN + b'eA==' + tls.END))": "has 2 certificates",
}


def test_without_an_authority_nobody_is_dialled(interpreter) -> None:
    """Refused where it is asked for, before there is a socket; on the WebAssembly port too."""
    lines = ["from edge.net import tls"]
    for call in REFUSED:
        lines += ["try:", f"    print('accepted', tls.{call})"]
        lines += ["except ValueError as why:", "    print(why)"]
    lines.append("print(tls.context('localhost', b'', insecure=True))")
    *said, open_way = interpreter.run("\n".join(lines)).splitlines()

    assert [
        words for words, line in zip(REFUSED.values(), said, strict=True) if words in line
    ] == [*REFUSED.values()]
    assert open_way == "None"


def test_what_is_no_certificate_is_refused(interpreter) -> None:
    """A path in place of the contents, a key in place of the certificate."""
    script = """
from edge.net import tls
try:
    print(tls.context("localhost", b"ca.pem"))
except ValueError as why:
    print(why)
"""
    said = interpreter.run(script)

    wanted = "has no TLS" if interpreter.name == "wasm" else "TLS cannot verify a broker with"
    assert wanted in said
