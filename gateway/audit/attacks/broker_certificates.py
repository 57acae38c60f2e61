"""Layer: nothing is said to a broker that has not shown who it is.

Brokers of our own are put before the gateway's and the device's TLS: the right one, and one with
a stranger's certificate, one made for another host, one that has expired, one that speaks no TLS.
Only the first may be spoken to. What it cannot see: a board's own TLS library, and an authority
that signs for others.
"""

import os
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from structlog.testing import capture_logs

from edge.net import tls

from ...devices.broker import certificates
from ...service.mqtt import access
from ...service.mqtt.pump import Pump
from ...service.mqtt.service import Link
from ...settings.deployment import Mqtt
from ..claim import Claim, Effort, claim_fact, claim_none

HOST = "broker.example"
HELLO_S = 5.0


class Broker(NamedTuple):
    """A broker that somebody could put in our way."""

    name: str
    trusted: bool
    pair: certificates.Pair


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield whom the gateway and a device speak to."""
    with tempfile.TemporaryDirectory() as name:
        folder, now = Path(name), datetime.now(UTC)
        ours, others = (certificates.make_authority(one, now) for one in ("ours", "others"))
        old = now - timedelta(days=4000)
        ways = (
            Broker("ours", True, certificates.make_server([HOST], ours, now)),
            Broker("a stranger's", False, certificates.make_server([HOST], others, now)),
            Broker(
                "for another host", False, certificates.make_server(["other.example"], ours, now)
            ),
            Broker("expired", False, certificates.make_server([HOST], ours, old)),
        )
        ca_file = folder / "ca.pem"
        ca_file.write_bytes(ours.certificate)
        gateway: Any = access.make_tls_context(Mqtt(host=HOST, ca_file=ca_file))
        anybody: Any = access.make_tls_context(Mqtt(host=HOST))
        device = tls.context(HOST, ours.certificate)
        yield _claim_trusted_only(
            "the gateway speaks to a broker with the right certificate, and to no other",
            ways,
            lambda sock: gateway.wrap_socket(sock, server_hostname=HOST),
        )
        yield _claim_trusted_only(
            "a device speaks to a broker with the right certificate, and to no other",
            ways,
            device.wrap_socket,
        )
        yield _claim_trusted_only(
            "a gateway without an authority of its own speaks to no broker of a private one",
            [broker._replace(trusted=False) for broker in ways],
            lambda sock: anybody.wrap_socket(sock, server_hostname=HOST),
        )
    yield _clear()
    yield _claim_plain()


def _claim_trusted_only(sentence: str, ways: Any, wrap: Callable[[socket.socket], Any]) -> Claim:
    wrong = [broker.name for broker in ways if _is_accepted(broker.pair, wrap) != broker.trusted]
    return claim_none(sentence, wrong, "brokers", samples=len(ways))


def _is_accepted(pair: certificates.Pair, wrap: Callable[[socket.socket], Any]) -> bool:
    """Return whether a client of this kind goes on with a server that shows this certificate."""
    here, there = socket.socketpair()
    server = threading.Thread(target=_serve, args=(pair, there), daemon=True)
    server.start()
    here.settimeout(HELLO_S)
    try:
        wrap(here).close()
    except (OSError, ValueError):  # a Door says ValueError
        return False
    finally:
        here.close()
        server.join(HELLO_S)
    return True


def _serve(pair: certificates.Pair, sock: socket.socket) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.pem"
        with open(os.open(whole, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(pair.certificate + pair.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(whole)
    sock.settimeout(HELLO_S)
    with suppress(OSError), sock, context.wrap_socket(sock, server_side=True) as spoken:
        spoken.recv(1)


def _clear() -> Claim:
    """A link by default must begin in TLS: the first byte that it says is a handshake's."""
    with socket.create_server(("127.0.0.1", 0)) as listening, capture_logs():
        listening.settimeout(HELLO_S)
        pump = Pump("audit")
        link = Link(Mqtt(port=listening.getsockname()[1]), "audit", pump)
        try:
            came, _ = listening.accept()
            with came:
                came.settimeout(HELLO_S)
                first = came.recv(1)
        finally:
            link.close(0)
            pump.close()
    return claim_fact(
        "a link whose deployment says nothing of it says nothing in the clear",
        first == b"\x16",
        samples=1,
        detail=f"its first byte is {first.hex()}",
    )


def _claim_plain() -> Claim:
    """Without TLS a device may speak only where that was asked for, by name."""
    taken = []
    for host, authority in ((HOST, None), (HOST, b""), ("", b"x")):
        with suppress(ValueError):
            tls.context(host, authority)
            taken.append(f"{host!r} with {authority!r}")
    insecure = [Mqtt().insecure, access.make_tls_context(Mqtt()) is None]
    return claim_fact(
        "a connection that is not verified has to be asked for: insecure = true",
        not taken and not any(insecure) and tls.context(HOST, None, insecure=True) is None,
        samples=5,
        detail="; ".join(taken),
    )
