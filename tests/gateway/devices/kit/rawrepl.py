"""A board's raw REPL at a TCP port: what mpremote speaks, on a real MicroPython in a folder.

Ctrl-A enters it, Ctrl-B leaves, Ctrl-C interrupts, Ctrl-D runs what came, or resets where nothing
did. It answers OK, what was printed, Ctrl-D, the traceback, Ctrl-D and a prompt.

Source: MicroPython's manual, "The MicroPython Interactive Interpreter Mode", on raw mode.
"""

import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

from tests import processes

BANNER = b"raw REPL; CTRL-B to exit\r\n"
WORKER = """
import sys
names = {"__name__": "__main__"}
while True:
    size = sys.stdin.buffer.readline()
    if not size:
        break
    code = sys.stdin.buffer.read(int(size))
    why = None
    try:
        exec(code, names)
    except BaseException as fault:
        why = fault
    sys.stdout.write("\\x04")
    if why is not None and not isinstance(why, SystemExit):
        sys.print_exception(why, sys.stdout)
    sys.stdout.write("\\x04")
    sys.stdout.flush() if hasattr(sys.stdout, "flush") else None
    if isinstance(why, SystemExit):
        break
"""


class RawRepl:
    """The board; a context manager. `port` is where it listens."""

    def __init__(self, program: str, folder: Path) -> None:
        self._command = [program, "-X", "heapsize=320k", "-c", WORKER]
        self._folder = folder
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.resets = 0
        self._worker: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "RawRepl":
        self._reset()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)
        self._end()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            with link, suppress(OSError):
                link.sendall(b"\r\n>>> ")
                self._speak(link)

    def _speak(self, link: socket.socket) -> None:
        raw, code = False, b""
        while came := link.recv(4096):
            for byte in came:
                letter = bytes([byte])
                if letter == b"\x01":
                    if not code.endswith(b"\x05A"):
                        raw, code = True, b""
                        link.sendall(BANNER + b">")
                    else:  # the faster way to paste, which this one knows and has not
                        code = b""
                        link.sendall(b"R\x00")
                elif letter == b"\x02":
                    raw, code = False, b""
                    link.sendall(b"\r\n>>> ")
                elif letter == b"\x03":
                    code = b""
                elif letter == b"\x04" and raw and not code.strip():
                    self._reset()
                    link.sendall(b"OK\r\nMPY: soft reboot\r\n" + BANNER + b">")
                elif letter == b"\x04" and raw:
                    link.sendall(b"OK" + self._ran(code) + b">")
                    code = b""
                elif raw:
                    code += letter

    def _ran(self, code: bytes) -> bytes:
        worker = self._worker
        assert worker is not None
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(b"%d\n" % len(code) + code)
        worker.stdin.flush()
        said = b""
        while said.count(b"\x04") < 2:
            letter = worker.stdout.read(1)
            if not letter:  # it was reset, by what it ran
                self._reset()
                return said + b"\x04" * (2 - said.count(b"\x04"))
            said += letter
        return said.replace(b"\n", b"\r\n")

    def _reset(self) -> None:
        self._end()
        self.resets += 1
        self._worker = processes.Child(
            self._command,
            cwd=self._folder,
            env={"MICROPYPATH": ".:.frozen"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
        )

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()
