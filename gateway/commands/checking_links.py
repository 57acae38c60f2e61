"""What a deployment talks to: the port of its page, and its broker."""

import socket
import ssl
from collections.abc import Iterable, Iterator

from ..deployment import Deployment
from ..faults import OperatorFault
from ..mqtt import access
from ..mqtt.pump import Pump
from ..mqtt.service import Link
from ..operating import Mqtt
from .checking_files import days_left, judged
from .checking_finding import Finding, fault, note, ok

PATIENCE_S = 5.0


def findings(deployment: Deployment, connect: bool) -> Iterator[Finding]:
    """Yield what is found of page and broker.

    Args:
        connect: go to the broker; else nobody is spoken to.
    """
    page = deployment.page
    yield from _page(page.host, page.port, "port")
    if page.probed is not None:
        yield from _page(*page.probed, "health_port")
    if connect:
        yield from _broker(deployment.mqtt, deployment.site.name)


def _page(host: str, port: int, key: str) -> Iterable[Finding]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as wrong:
            # A gateway of this very deployment may be running: no fault then.
            yield note(
                "page",
                f"port {port} at {host} cannot be had ({wrong.strerror}); heatveil serve needs "
                "it. If no gateway of this site runs already, give [page] another {key}",
            )
            return
    yield ok("page", f"port {port} at {host} is free")


def _broker(broker: Mqtt, site: str) -> Iterable[Finding]:
    """Yield whether the broker lets us in, and how long its certificate is good."""
    try:
        if (context := access.tls(broker)) is not None:
            yield from _shown(broker, context)
        with Pump("check") as pump:
            # A name of its own: the gateway's would throw a running one off.
            link = Link(broker, f"heatveil-{site}-check", pump, lasting=False)
            link.wait(PATIENCE_S).close()
    except OperatorFault as wrong:
        yield fault("broker", wrong)
        return
    yield ok("broker", f"{broker.host}:{broker.port} lets us in")


def _shown(broker: Mqtt, context: ssl.SSLContext) -> Iterable[Finding]:
    """Yield how long the certificate is good that the broker really shows."""
    address = broker.host, broker.port
    try:
        with (
            socket.create_connection(address, timeout=PATIENCE_S) as plain,
            context.wrap_socket(plain, server_hostname=broker.host) as link,
        ):
            shown = link.getpeercert(binary_form=True)
    except OSError:
        return  # the link says why, in words
    if shown:
        days = days_left(ssl.DER_cert_to_PEM_cert(shown).encode())
        yield judged("broker", "the certificate that it shows", days)
