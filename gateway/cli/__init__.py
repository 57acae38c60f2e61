"""The command `heatveil`: words in, lines out, and whose fault it was in the exit status.

0 is done; 1 is the operator's fault, in one line on standard error; 2 is a wrong usage; 3 is an
audit in which nothing fails and not all could be measured; 4 is a store that is not what it was,
with which nothing may be started again. Any other exception is our own fault and shows its
traceback. A command's module, which `commands.COMMANDS` names, is imported when it runs, so that
--help is quick.
"""

import errno
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from ..faults import OperatorFault
from .commands import app


def main(words: list[str] | None = None) -> None:
    """Run a command and leave with its exit status."""
    with _politely():
        try:
            app(words, prog_name="heatveil")
        except OperatorFault as fault:
            _refused(str(fault), fault.status)
        except MemoryError as fault:
            _refused(
                f"more memory was asked for than there is ({fault or 'no size was named'}); what "
                "was asked is not done. Ask for fewer cells, sensors or readings, or use a "
                "larger machine"
            )
        except OSError as fault:
            if fault.errno != errno.ENOSPC or fault.filename is not None:
                raise
            _refused(
                "what is printed goes to a file or a device that is full; the end of it is "
                "missing there. Make room, and run it again"
            )


def _refused(sentence: str, status: int = 1) -> NoReturn:
    print("heatveil:", " ".join(sentence.split()), file=sys.stderr)
    sys.exit(status)


@contextmanager
def _politely() -> Iterator[None]:
    """Let SIGTERM, and a terminal that closes, end the program as Ctrl-C does.

    By itself it would leave half files, or keys in those for the moment.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ends = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under nohup
        ends.append(signal.SIGHUP)
    before = [signal.signal(one, lambda number, _: sys.exit(128 + number)) for one in ends]
    try:
        yield
    finally:
        for one, was in zip(ends, before, strict=True):
            signal.signal(one, was)
