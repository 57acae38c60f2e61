"""How we get in at the operator's broker: TLS that is verified, a name and a password.

Unless [mqtt] says insecure = true, nothing is said to a broker before it has shown a
certificate that an authority we trust signed for the very host we were told to go to. What is
secret comes from files that [mqtt] names: a password never stands in the deployment file.
"""

import hmac
import ssl
from pathlib import Path

from recovery.maps.sentence import Wording

from ...faults import OperatorFault
from ...settings.deployment import Mqtt

# OpenSSL's X509_V_ERR numbers, of those that an operator meets.
UNTIMELY = {9: "is not valid yet", 10: "has expired"}
OTHER_NAME = {62, 63, 64}
IN_THE_CLEAR = (
    "the link to the broker is in the clear: whoever is on the network can read, change and forge "
    "what goes over it, passwords too"
)


def read_password(broker: Mqtt) -> str | None:
    """Return the password of this client, or None when there is none.

    Raises:
        OperatorFault: the password file cannot be read.
    """
    if broker._password is not None:
        return broker._password
    if broker.password_file is None:
        return None
    try:
        return broker.password_file.read_text("utf-8").strip()
    except (OSError, ValueError) as fault:
        raise _make_unreadable_fault(broker, "password_file", fault) from fault


def make_tls_context(broker: Mqtt) -> ssl.SSLContext | None:
    """Return what verifies the broker's certificate and name; None where [mqtt] is insecure.

    Raises:
        OperatorFault: there are no certificates in the file.
    """
    if broker.insecure or broker._context is not None:
        return broker._context
    try:
        context = ssl.create_default_context(cafile=broker.ca_file)
    except OSError as fault:  # an ssl.SSLError is one
        raise _make_unreadable_fault(broker, "ca_file", fault) from fault
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = _Careful
    return context


def make_device_settings(broker: Mqtt, name: str, secret: str) -> Mqtt:
    """Return the same broker as one device comes to it: with its own name and password.

    Where [mqtt] is insecure it comes as everybody does: a password of its own would go over the
    network in the clear.

    Raises:
        OperatorFault: see `make_tls_context`, whose work is done once for a whole fleet.
    """
    if broker.insecure:
        return broker
    own = broker.model_copy(update={"username": name, "password_file": None})
    own._password, own._context = secret, make_tls_context(broker)
    return own


def make_gateway_session(site: str) -> str:
    """Return the name of a gateway's session: with another site's filters it must be another."""
    return f"heatveil-{site}"


def make_client_id(broker: Mqtt, name: str) -> str:
    """Return the name of this client's session, which nobody else can guess.

    Whoever connects under another's client id ends that one's connection and takes over what the
    broker has kept for it. So a mark that only who knows the password can make belongs to it.
    """
    secret = read_password(broker)
    return name if secret is None else mark_session(name, secret)


def mark_session(name: str, secret: str) -> str:
    """Return a session's name with the mark of whoever knows the password."""
    return f"{name}-{hmac.new(secret.encode(), name.encode(), 'sha256').hexdigest()[:16]}"


# How it shows that the other end let go in the middle of a greeting: one of them, by chance.
_CUT_SHORT = ConnectionResetError, ConnectionAbortedError, BrokenPipeError


def explain_distrust(broker: Mqtt, fault: OSError) -> str:
    """Return why a broker that answered is not spoken to; nothing when it did not answer."""
    if broker.insecure or not isinstance(fault, (ssl.SSLError, *_CUT_SHORT)):
        return ""
    place = f"the broker at {broker.host}:{broker.port}"
    if not isinstance(fault, ssl.SSLCertVerificationError):
        why = getattr(fault, "reason", None) or getattr(fault, "strerror", None) or str(fault)
        return CLEAR(place=place, why=why)
    if why := UNTIMELY.get(fault.verify_code):
        return CERTIFICATE(
            place=place,
            why=f"that {why}; it must be valid today, for an old one may have been stolen since. "
            "Renew it (heatveil broker init does, once the old one is moved away), or set this "
            "machine's clock",
        )
    if fault.verify_code in OTHER_NAME:
        return CERTIFICATE(
            place=place,
            why=f"for another name ({fault.verify_message}); it must be made for the host that "
            "[mqtt] names, or any server with a certificate could pose as the broker. Write the "
            "name it was made for as host, or make one for this name (heatveil broker init) and "
            "start the broker again",
        )
    signed = broker.ca_file or "this machine's authorities"
    return CERTIFICATE(
        place=place,
        why=f"that {signed} did not sign ({fault.verify_message}); somebody we trust must have, "
        "or anybody on the line could pose as the broker. Name the authority that signed it as "
        "ca_file under [mqtt], or find out who answers there",
    )


CERTIFICATE = Wording("broker.certificate", "{place} shows a certificate {why}")
CLEAR = Wording(
    "broker.clear",
    "{place} does not answer in TLS ({why}); it must, for in the clear everybody on the network "
    "could read and forge messages. There are two ways: give it a certificate and name its "
    "authority as ca_file under [mqtt] (heatveil broker init makes both), or write "
    "insecure = true there, where nobody else is on the network",
)


def is_certificate_at_fault(fault: OSError) -> bool:
    """Return whether trying again cannot help: the certificate itself is at fault."""
    return isinstance(fault, ssl.SSLCertVerificationError)


class _Careful(ssl.SSLSocket):
    """Closes itself when it does not come to an agreement; paho would leave it open."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


def find_missing_files(broker: Mqtt) -> dict[str, Path]:
    """Return the files that `heatveil broker init` makes and that are not there, by their keys."""
    named = {"password_file": broker.password_file, "ca_file": broker.ca_file}
    return {key: path for key, path in named.items() if path is not None and not path.exists()}


def _make_unreadable_fault(broker: Mqtt, key: str, fault: Exception) -> OperatorFault:
    why = getattr(fault, "strerror", None) or str(fault)
    named = {key: getattr(broker, key)} | find_missing_files(broker)
    files = " and ".join(f"{key} {path}" for key, path in named.items())
    return OperatorFault(
        f"{files} under [mqtt] cannot be read ({why}), and no broker is spoken to without. "
        "Run heatveil broker init, correct the path, or let the gateway's user read the file"
    )
