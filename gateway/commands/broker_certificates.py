"""The certificates of a broker of one's own: an authority, and the server that it signs."""

from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from ..brokers import certificates
from .broker_files import Files


def see_to(files: Files, site: str, hosts: list[str]) -> datetime:
    """See to authority and server; return until when the server's certificate is good."""
    now = datetime.now(UTC)
    if files.lack("ca.pem", "ca.key") == ["ca.pem", "ca.key"]:
        made = certificates.authority(f"heatveil broker of site {site}", now)
        files.add("ca.pem", made.certificate)
        files.add("ca.key", made.key, private=True)
    if files.lack("server.pem", "server.key"):
        files.refuse_half("server.pem", "server.key", "the broker needs both")
        files.refuse_half("ca.pem", "ca.key", "a certificate cannot be signed without both")
        signer = certificates.Pair(files.read("ca.pem"), files.read("ca.key"))
        try:
            made = certificates.server(hosts, signer, now)
        except ValueError as fault:
            raise files.unfit("ca.pem", f"cannot sign a broker's certificate: {fault}") from fault
        files.add("server.pem", made.certificate)
        files.add("server.key", made.key, private=True)
    try:
        found = x509.load_pem_x509_certificate(files.read("server.pem"))
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound) as fault:
        raise files.unfit("server.pem", f"is no broker's certificate: {fault}") from fault
    try:
        own = serialization.load_pem_private_key(files.read("server.key"), None).public_key()
    except (ValueError, TypeError) as fault:
        raise files.unfit("server.key", f"is no private key: {fault}") from fault
    if own != found.public_key():
        raise files.unfit("server.key", "does not belong to server.pem", "server.pem")
    if missing := [host for host in hosts if certificates.general_name(host) not in names]:
        raise files.unfit("server.pem", f"does not name {', '.join(missing)}", "server.key")
    if found.not_valid_after_utc <= now:
        raise files.unfit("server.pem", "has expired", "server.key")
    return found.not_valid_after_utc
