"""What the door to a broker does without one; `tests/interpreters` shows it real brokers."""

import ssl

import pytest

from edge.net.tls import Door, context

REFUSED = ssl.SSLCertVerificationError(1, "self-signed certificate")


class Socket:
    """Knows whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


class Inner:
    """An SSLContext whose other end fails in one way."""

    def __init__(self, fault: Exception) -> None:
        self.fault = fault
        self.names: list[str] = []

    def wrap_socket(self, sock: object, server_hostname: str, **_: object) -> None:
        self.names.append(server_hostname)
        raise self.fault


@pytest.mark.parametrize(
    ("fault", "raised"), [(REFUSED, ValueError), (OSError(104, "reset"), OSError)]
)
def test_a_socket_that_did_not_come_to_tls_is_closed(
    fault: Exception, raised: type[Exception]
) -> None:
    """Left open, whoever holds it might speak in the clear; and no other name is believed."""
    sock, inner = Socket(), Inner(fault)
    with pytest.raises(raised) as caught:
        Door("broker.example", inner).wrap_socket(sock, server_hostname="evil.example")

    assert sock.closed
    assert inner.names == ["broker.example"]
    assert isinstance(caught.value, OSError) == (raised is OSError)


@pytest.mark.parametrize("insecure", [False, 0, None, 1, "false", "True"])
def test_without_an_authority_there_is_no_door(insecure: object) -> None:
    """Nothing but a true `insecure` opens one that verifies nothing."""
    with pytest.raises(ValueError, match="no authority"):
        context("broker.example", b"", insecure)
