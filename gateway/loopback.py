"""Which hosts are this machine alone."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches what listens on this host.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
