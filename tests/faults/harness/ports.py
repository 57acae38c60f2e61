"""Ports that stay ours while whoever listens there is dead.

A port that the system chose is one that it also gives to anybody's next connection: under the
load of a whole run of tests a server that was killed now and then finds its port taken.
"""

import random
import socket

LOWEST, HIGHEST = 20_000, 32_000  # below what Linux chooses from, 32768 and up


def own_port() -> int:
    """Return a loopback port that nobody listens on, and that no connection is given."""
    for _ in range(1000):
        port = random.randrange(LOWEST, HIGHEST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"no port from {LOWEST} to {HIGHEST} is free")
