"""What ends a command that runs on, and what makes it read its files again: signals."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last when a terminal closes


@contextmanager
def on_signal(
    *stops: Callable[[], None], reload: Callable[[], None] | None = None
) -> Iterator[list[Callable[[], None]]]:
    """Call these on Ctrl-C, SIGTERM and SIGHUP, instead of dying, for as long as the block lasts.

    Yields the list of them, to which more may be added.

    Whoever asks twice does not want to wait: the second time is a KeyboardInterrupt.

    Args:
        reload: what SIGHUP is for, unless it came because our terminal has closed.
    """
    told, calls = False, list(stops)
    terminal = has_terminal()

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal told
        if number == signal.SIGHUP and reload is not None and terminal == has_terminal():
            reload()
            return
        if number in ignored:
            return
        if told:
            raise KeyboardInterrupt
        told = True
        for stop in calls:
            stop()

    # Under nohup the closing of a terminal is to be ignored, and is; who asks to reload has it.
    ignored = {number for number in SIGNALS if signal.getsignal(number) == signal.SIG_IGN}
    before: dict[Any, Any] = {
        number: signal.signal(number, handler)
        for number in SIGNALS
        if number not in ignored or (number == signal.SIGHUP and reload is not None)
    }
    try:
        yield calls
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def ending_well() -> Iterator[None]:
    """Take SIGTERM for the end of a command before `on_signal`, too, and not for a fault.

    By then a service may be on the broker already, or wait for years as a standby; the signal
    interrupts whatever it is, and what was begun is undone as the block is left.
    """
    try:
        yield
    except SystemExit as end:
        if end.code != 128 + signal.SIGTERM:
            raise


def has_terminal() -> bool:
    """Return whether there is a terminal that we belong to."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
