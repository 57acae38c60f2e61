"""The pump of the MQTT link, and the access that a broker's rights leave it."""

import itertools
import socket
import ssl
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from gateway.service.mqtt import access
from gateway.service.mqtt import pump as module
from gateway.service.mqtt.pump import FIRST_WAIT_S, LONGEST_WAIT_S, Pump, Rider
from gateway.settings.deployment import Mqtt

# One thread for all: no client's trouble is another's, and none comes back in step.


class Client:
    """A client whose broker is away, or that fails at whatever it does."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault, self.attempts_s = fault, list[float]()
        self.looked = 0

    def socket(self) -> socket.socket | None:
        return None

    def reconnect(self) -> None:
        self.attempts_s.append(time.monotonic())
        raise self.fault or ConnectionRefusedError("nobody there")

    def loop_misc(self) -> None:
        self.looked += 1

    loop_read = loop_write = loop_misc

    def want_write(self) -> bool:
        return False


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pump]:
    """Return a pump that looks after its riders often."""
    monkeypatch.setattr(module, "TICK_S", 0.005)
    with Pump() as pump:
        yield pump


def until(done: Any, patience_s: float = 10.0) -> None:
    end_s = time.monotonic() + patience_s
    while not done():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def test_who_finds_nobody_asks_less_and_less_often_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a clock of its own: each wait is twice the one before, times 0.5 to 1.5, to 5 s."""
    client, now_s = Client(), [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now_s[0])
    rider, pump, at_s = Rider(client, lambda _: None), object.__new__(Pump), list[float]()
    while len(at_s) < 12:
        pump._connect(rider)
        if len(client.attempts_s) > len(at_s):
            at_s.append(now_s[0])
        now_s[0] += 0.01
    waits_s = [two - one for one, two in itertools.pairwise(at_s)]
    plain_s = [min(FIRST_WAIT_S * 2**n, LONGEST_WAIT_S) for n in range(len(waits_s))]

    for found_s, right_s in zip(waits_s, plain_s, strict=True):
        assert 0.5 * right_s - 0.02 <= found_s <= 1.5 * right_s + 0.02
    rider.settled()
    assert rider.wait_s == FIRST_WAIT_S


def test_a_client_that_raises_does_not_stop_the_others(quick: Pump) -> None:
    """It is said, and the thread goes on."""
    broken, sound = Client(RuntimeError("a client gone mad")), Client()
    with structlog.testing.capture_logs() as logged:
        quick.add(Rider(broken, lambda _: None))
        quick.add(Rider(sound, lambda _: None))
        until(lambda: len(sound.attempts_s) >= 2 and broken.attempts_s)

    assert any("an MQTT client failed" in entry["event"] for entry in logged)
    assert quick.moving


def test_who_may_not_connect_does_not(quick: Pump) -> None:
    """A standby must not take the name of the gateway that works."""
    may, client = [False], Client()
    quick.add(Rider(client, lambda _: None, lambda: may[0]))
    until(lambda: client.looked > 3)
    assert client.attempts_s == []
    may[0] = True

    until(lambda: client.attempts_s)


# What stands between the gateway and a stranger: a verified broker, a page on loopback only.

# A certificate that signs itself; its key was never kept.
AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIIBjjCCATOgAwIBAgIUW9zOw5VtRWEnj7RCe7Qo6upNTpcwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQYSB0ZXN0IGF1dGhvcml0eTAgFw0yNjExMjExMDMzNTlaGA8y
MTI2MTAyODEwMzM1OVowGzEZMBcGA1UEAwwQYSB0ZXN0IGF1dGhvcml0eTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABFy2XpQF81MMGXkxjAZdUBjGkp4xRFZCS5gr
PkEfEoQ3JzZU9ZfIvnQhmJG2Ja9Cs9YtqrKn1VlSI4BQk7YUK0ejUzBRMB0GA1Ud
DgQWBBSgj55+lhyuezmCMqrDF1g7OWPB/zAfBgNVHSMEGDAWgBSgj55+lhyuezmC
MqrDF1g7OWPB/zAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDa
FPETbm3jBCSql0rds0ZPYp0Rm5iwONurF0T7HIxKSgIhAKa1WJMilNdfB0Djh7Q8
kBpumUlwvRkmkcqdV7WWCqDS
-----END CERTIFICATE-----
"""


def test_a_broker_is_verified_by_certificate_and_by_name_over_no_old_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever this machine allows; without all three, whoever sits on the line is the broker."""
    ca_file, create = tmp_path / "ca.pem", ssl.create_default_context
    ca_file.write_text(AUTHORITY)

    def lax(**words: Any) -> ssl.SSLContext:
        context = create(**words)
        context.minimum_version = ssl.TLSVersion.TLSv1
        return context

    monkeypatch.setattr(ssl, "create_default_context", lax)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context = access.tls(Mqtt(ca_file=ca_file))

    assert context is not None
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_a_session_is_marked_by_the_password_where_there_is_one(tmp_path: Path) -> None:
    """A name that can be guessed lets a stranger end the session and take what waits for it."""
    (tmp_path / "password").write_text("secret")
    with_one = Mqtt(username="gateway", password_file=tmp_path / "password", insecure=True)
    marked = access.client_id(with_one, "heatveil-lab")

    assert access.client_id(Mqtt(insecure=True), "heatveil-lab") == "heatveil-lab"
    assert (
        marked
        == access.mark_session("heatveil-lab", "secret")
        != access.mark_session("heatveil-lab", "other")
    )


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), True),
        (ConnectionResetError(104, "Connection reset by peer"), True),
        (BrokenPipeError(32, "Broken pipe"), True),  # it let go before our last word was out
        (ConnectionRefusedError(111, "Connection refused"), False),  # nobody is there at all
        (TimeoutError(110, "timed out"), False),
    ],
)
def test_who_speaks_no_tls_is_told_apart_from_who_is_not_there(fault: OSError, said: bool) -> None:
    """By chance one of three faults shows: each must say what TLS is for, and the two ways."""
    found = access.explain_distrust(Mqtt(), fault)

    assert ("ca_file" in found and "insecure = true" in found) == said
