"""What a worker is called: by people, and by the database, which must not mistake it."""

import os
import socket


def holder(name: str | None = None) -> str:
    """Return a name that no process had before: given or of this machine, with a mark.

    A worker that was killed and started again is another: the old one may still be about.
    """
    return f"{name or socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"
