"""What the operator's broker wants to see of us, and what we want to see of it.

Both come from files that [mqtt] names: a password never stands in the deployment file.
"""

import ssl
from pathlib import Path

from .deployment import Mqtt
from .faults import OperatorFault


def password(broker: Mqtt) -> str | None:
    """Return what the password file holds, or None when there is none.

    Raises:
        OperatorFault: it cannot be read.
    """
    if broker.password_file is None:
        return None
    try:
        return broker.password_file.read_text("utf-8").strip()
    except (OSError, ValueError) as fault:
        raise _unreadable("password_file", broker.password_file, fault) from fault


def tls(broker: Mqtt) -> ssl.SSLContext | None:
    """Return what verifies the broker's certificate and name, or None for a link in the clear.

    Raises:
        OperatorFault: there are no certificates in the file.
    """
    if broker.ca_file is None:
        return None
    try:
        return ssl.create_default_context(cafile=broker.ca_file)
    except OSError as fault:  # an ssl.SSLError is one
        raise _unreadable("ca_file", broker.ca_file, fault) from fault


def _unreadable(key: str, path: Path, fault: Exception) -> OperatorFault:
    why = getattr(fault, "strerror", None) or str(fault)
    return OperatorFault(
        f"{key} {path} under [mqtt] cannot be read ({why}); it must be a file that the gateway "
        "may read, for without it no broker is trusted or trusts us. Mend the path or the file"
    )
