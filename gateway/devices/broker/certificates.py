"""A private certificate authority, and the certificate of one broker.

P-256 keys: small enough for a board's memory, and known to every TLS library there is. The
authority signs brokers and nothing else (path length 0), and is trusted by whom it is given to
alone. No clock in here: `now` comes in.
"""

import ipaddress
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ...faults import OperatorFault

AUTHORITY_DAYS = 20 * 365  # it lies on every board, so it must outlive them
SERVER_DAYS = 3 * 365
AGO = timedelta(days=1)  # for clocks that are a little behind
USES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)
LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?")


class Pair(NamedTuple):
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def make_authority(name: str, now: datetime) -> Pair:
    """Return a new authority that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signs = x509.BasicConstraints(ca=True, path_length=0)
    built = (
        _begin(subject, subject, key.public_key(), now, AUTHORITY_DAYS)
        .add_extension(signs, critical=True)
        .add_extension(_make_key_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )
    return _pack_pem_pair(built.sign(key, hashes.SHA256()), key)


def make_server(
    hosts: Iterable[str], signer: Pair, now: datetime, own_key: bytes | None = None
) -> Pair:
    """Return a certificate for a broker that goes by these names and addresses.

    Args:
        own_key: the broker's private key, PEM, which stays; None for a new one.

    Raises:
        OperatorFault: one is neither a name nor an address, or there are none.
        ValueError: the signer is no authority's certificate with its key.
    """
    names = [make_general_name(host) for host in dict.fromkeys(hosts)]
    if not names:
        raise OperatorFault(
            "the broker was given no name; its certificate needs one, for that is what clients "
            "check. Name it with --host"
        )
    trusted = x509.load_pem_x509_certificate(signer.certificate)
    signing = _load_key(signer.key)
    if signing.public_key() != trusted.public_key():
        raise ValueError("certificate and key do not belong together")
    key = ec.generate_private_key(ec.SECP256R1()) if own_key is None else _load_key(own_key)
    # A common name holds 64 characters; who checks looks at the alternative names alone.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(names[0].value)[:64])])
    above = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key())
    serves = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    built = (
        _begin(subject, trusted.subject, key.public_key(), now, SERVER_DAYS)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_make_key_usage(digital_signature=True), critical=True)
        .add_extension(serves, critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(above, critical=False)
    )
    return _pack_pem_pair(built.sign(signing, hashes.SHA256()), key)


def make_general_name(host: str) -> x509.DNSName | x509.IPAddress:
    """Return a host as it stands in a certificate.

    Raises:
        OperatorFault: it is neither a name nor an address.
    """
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    labels = host.split(".")
    if len(host) > 253 or labels[-1].isdigit() or not all(map(LABEL.fullmatch, labels)):
        raise OperatorFault(
            f"{host} is neither a host name nor an IP address; the broker's TLS certificate must "
            "name exactly what clients connect to, or they refuse it. Write a name such as "
            "broker.example, or an address such as 192.0.2.7, with --host"
        )
    return x509.DNSName(host)


def list_names(certificate: x509.Certificate) -> list[str]:
    """Return the names and addresses that a certificate is for.

    Raises:
        x509.ExtensionNotFound: it says none.
    """
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(name.value) for name in found if isinstance(name, x509.DNSName | x509.IPAddress)]


def check_signed_by(certificate: x509.Certificate, signer: Pair) -> None:
    """Check that an authority signed a certificate.

    Raises:
        ValueError: it did not.
    """
    try:
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(signer.certificate))
    except (TypeError, InvalidSignature) as fault:
        raise ValueError("another signed it") from fault


def _load_key(key: bytes) -> ec.EllipticCurvePrivateKey:
    found = serialization.load_pem_private_key(key, None)
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise ValueError("its key is not one that heatveil made")
    return found


def _begin(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - AGO)
        .not_valid_after(now + timedelta(days=days))
    )


def _make_key_usage(**uses: bool) -> x509.KeyUsage:
    return x509.KeyUsage(**(dict.fromkeys(USES, False) | uses))


def _pack_pem_pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
