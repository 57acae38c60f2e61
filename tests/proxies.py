"""A wire that can be cut: a TCP proxy that resets, swallows or delays what goes over it."""

import socket
import struct
import threading
import time
from contextlib import suppress

RESET = struct.pack("ii", 1, 0)  # SO_LINGER of no time: close sends RST


class Proxy:
    """Between 127.0.0.1:port and another port; a context manager."""

    def __init__(self, to_port: int) -> None:
        self._to_port, self._pairs = to_port, list[tuple[socket.socket, socket.socket]]()
        self.swallows, self.refuses, self.delay_s, self.connections = False, False, 0.0, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.reset()

    def reset(self) -> None:
        """Cut every connection as a crash of the other side would."""
        pairs, self._pairs = self._pairs, []
        for ends in pairs:
            for end in ends:
                with suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    end.shutdown(socket.SHUT_RD)  # wakes the thread that reads
                with suppress(OSError):
                    end.close()

    def _accept(self) -> None:
        while True:
            with suppress(ConnectionError):
                try:
                    near, _ = self._listener.accept()
                except OSError:
                    return
                if self.refuses:
                    near.close()
                    continue
                try:
                    far = socket.create_connection(("127.0.0.1", self._to_port), 5)
                except OSError:
                    near.close()
                    continue
                self.connections += 1
                self._pairs.append((near, far))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if self.delay_s:
                    time.sleep(self.delay_s)
                if not self.swallows:
                    target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.close()
