"""TLS to the broker: its certificate and its name are verified, or nothing is said to it.

MicroPython's `ssl` begins with CERT_NONE: it encrypts, and believes whoever answers, so whoever
sits on the line can be the broker. To verify takes three things there, and a program that
leaves one out looks the same as one that does not. So here is one function that asks for
all three, and no way to a context that verifies less.

    from edge.net import tls
    door = tls.context("broker.example", open("ca.pem", "rb").read())
    client = MQTTClient("attic-3", "broker.example", ssl=door, user="attic-3", ...)   # umqtt
    link = door.wrap_socket(sock)                                                     # by hand

Beside `compat` this is the only file that knows its Python: `ssl` on CPython and on boards,
`tls` beneath it from MicroPython 1.23 on, and alone on the unix port.
"""

# The certificate has dates, and a board without a battery begins at its own year zero, when none
# is valid yet. So it asks a time server (`set_clock`), whom it must believe: a liar there can keep
# the board from its broker, or make it take a certificate that has run out, and no more than that.
# Nothing else asks for the time of day: budget, ticks and answers go by `compat.Uptime`.

import sys
from binascii import a2b_base64

AGAIN_MS = 5000  # till the time server is asked once more
BEGIN = b"-----BEGIN CERTIFICATE-----"
END = b"-----END CERTIFICATE-----"


def context(host, authority, insecure=False):
    """Return what wraps a socket to this host in TLS, or None where insecure is True.

    host: name or address, as it stands in the broker's certificate. authority: the
    certificate that signed that one, PEM or DER, as bytes. insecure: True, and no authority,
    to speak in the clear: for a network that nobody else is on.

    Raises ValueError where one of them is missing, and where this Python has no TLS.
    """
    if insecure and authority:
        raise ValueError(
            "insecure is True and an authority is given; only one of them can be meant, and the "
            "wrong one would give everything away. Leave one out"
        )
    if insecure is True:  # and nothing that merely counts as true, such as the text "false"
        return None
    if not authority:
        raise ValueError(
            "no authority is given, and the broker's certificate must be verified with one, or "
            "whoever answers would be believed. Give the contents of ca.pem, or insecure=True on "
            "a network that nobody else is on"
        )
    if not host:
        raise ValueError(
            "no host is given, and the broker's certificate must be made for the host that it "
            "is, or any server of the same authority would be believed. Give its name"
        )
    authority = to_der(authority)
    return Door(host, _make_context(_library(), authority))


class Door:
    """TLS to one host. Made by `context`; good for any number of connections, one by one."""

    def __init__(self, host, inner):
        self.host = host
        self._inner = inner

    def wrap_socket(
        self, sock, server_side=False, server_hostname=None, do_handshake_on_connect=True
    ):
        """Return the socket in TLS; for this host, whatever name is given here.

        Raises ValueError when the broker's certificate is not accepted, which to try again
        does not mend, and OSError when the connection fails. The socket is closed then.
        """
        try:
            return self._inner.wrap_socket(
                sock,
                server_hostname=self.host,
                do_handshake_on_connect=do_handshake_on_connect,
            )
        except (ValueError, OSError) as caught:
            sock.close()
            why = caught
        raise self.judge(why)

    def wrap_bio(self, incoming, outgoing, server_side=False, server_hostname=None):
        """Return CPython's TLS without a socket, which is how its asyncio wants it."""
        return self._inner.wrap_bio(incoming, outgoing, server_hostname=self.host)

    def judge(self, why):
        """Return a ValueError that says so where `why` is a certificate's fault, else `why`.

        For asyncio, which shakes hands after `wrap_socket` has returned.
        """
        if not isinstance(why, ValueError):
            return why
        # CPython's is an OSError too, and a caller must not take it for one.
        return ValueError(
            "the broker %s shows a certificate that is not accepted (%s); it must be made for "
            "that host, by the authority given, and be valid today, or whoever answers would "
            "be believed. Give the right ca.pem, renew the certificate or set the clock"
            % (self.host, " ".join(str(why).split()))
        )


def to_der(certificate):
    """Return a certificate, PEM or DER, as DER, which every port reads."""
    if BEGIN not in certificate:
        return bytes(certificate)
    pieces = certificate.split(BEGIN)
    if len(pieces) != 2 or END not in pieces[1]:
        raise ValueError(
            "the authority's file has %d certificates; it must hold one and hold it whole, for "
            "a board reads one. Give ca.pem of the broker alone" % (len(pieces) - 1)
        )
    return a2b_base64(pieces[1].split(END)[0].replace(b"\n", b"").replace(b"\r", b""))


def _make_context(library, authority):
    """Return a context that accepts what the authority signed, and nothing else."""
    fault = "it has no SSLContext that verifies"
    try:
        inner = library.SSLContext(library.PROTOCOL_TLS_CLIENT)
        inner.verify_mode = library.CERT_REQUIRED
        if library.__name__ == "tls":
            inner.load_verify_locations(authority)
        else:
            inner.load_verify_locations(cadata=authority)
        if hasattr(inner, "check_hostname"):  # CPython; MicroPython checks any name it is given
            inner.check_hostname = True
            inner.minimum_version = library.TLSVersion.TLSv1_2
        if inner.verify_mode == library.CERT_REQUIRED:
            return inner
    except (AttributeError, ValueError, OSError) as why:
        fault = str(why)
    raise ValueError(
        "TLS cannot verify a broker with this authority (%s); it must, or whoever answers would "
        "be believed. Give the contents of ca.pem, read in binary, on a firmware with mbedTLS"
        % fault
    )


def _library():
    """Return the module that does TLS on this Python."""
    try:
        if sys.implementation.name == "micropython":
            try:
                import tls as library  # type: ignore[import-not-found]
            except ImportError:  # before 1.23
                import ssl as library
        else:
            import ssl as library
    except ImportError:
        raise ValueError(
            "this Python has no TLS, and a broker is spoken to in nothing else. Use a firmware "
            "that has it, or insecure=True on a network that nobody else is on"
        ) from None
    return library


class Clock:
    """Whether the time of day was set, and by whom; who sets the board's clock tells this one."""

    def __init__(self):
        self.by = None  # "ntp", "gateway", "rtc", ...

    @property
    def known(self):
        """Say whether a certificate's dates can be judged."""
        return self.by is not None

    def mark_set(self, by):
        """Remember who set the time of day last."""
        self.by = by


async def set_clock(clock, ready, settime, sleep_ms):
    """Set the board's clock and return; try again for as long as that takes.

    clock: a `Clock`, told that it is known. ready(): whether there is a network. settime:
    the firmware's `ntptime.settime`, which waits for a second at the most.
    """
    while not clock.known:
        if ready():
            try:
                settime()
                clock.mark_set("ntp")
            except (OSError, OverflowError):
                pass
        if not clock.known:
            await sleep_ms(AGAIN_MS)
