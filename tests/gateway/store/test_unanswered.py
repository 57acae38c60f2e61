"""PostgreSQL is lost in the middle of a commit: whether it held is not known, and not guessed.

Between us and the server stands a wire that can be cut at the word COMMIT: before it is there, or
when the server has done it and its answer is still on its way.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from gateway.service.intake.outcomes import Again, Asked, Kept, Letter
from gateway.service.ledger import Charge
from gateway.store import places
from gateway.store.places import Database
from gateway.store.store import Store

KEY, NAME, RHO = b"key1", b"nam1", Fraction(1, 7)
LETTER = Letter(0, "map", b"{}", True)


class Wire:
    """Carries bytes to a server; at the next COMMIT it is cut, once."""

    def __init__(self, port: int) -> None:
        self._server, self.cut = port, ""  # "", "before" or "after" the server has it
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ours, _ = self._listener.accept()
                theirs = socket.create_connection(("127.0.0.1", self._server))
                threading.Thread(target=self._there, args=(ours, theirs), daemon=True).start()

    def _there(self, ours: socket.socket, theirs: socket.socket) -> None:
        """Carry what we say; answers are carried beside it until the cut."""
        mute = threading.Event()
        back = threading.Thread(target=self._back, args=(theirs, ours, mute), daemon=True)
        back.start()
        with suppress(OSError):
            while said := ours.recv(65536):
                if self.cut and b"COMMIT\0" in said:
                    if self.cut == "after":
                        mute.set()
                        theirs.sendall(said)
                        back.join(5)  # its answer came, and goes nowhere
                    self.cut = ""
                    break
                theirs.sendall(said)
        for one in (ours, theirs):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _back(self, theirs: socket.socket, ours: socket.socket, mute: threading.Event) -> None:
        with suppress(OSError):
            while said := theirs.recv(65536):
                if mute.is_set():
                    return
                ours.sendall(said)


@contextmanager
def wired(database: Database, port: int) -> Iterator[tuple[Store, Wire]]:
    """Open a store over a wire."""
    wire = Wire(port)
    words = database.words.replace(f"port={port}", f"port={wire.port}")
    store = Store(
        Database(f"{words} sslmode=disable gssencmode=disable", database.password_file), "lab"
    )
    try:
        yield store, wire
    finally:
        store.close()
        wire.close()


def _counts(store: Store) -> tuple[int, int, int, int]:
    return (
        len(store.answers(NAME)),
        len(store.charges()),
        len(store.letters()),
        0 if store.release(NAME) is None else 1,
    )


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_commit_that_was_not_answered_is_done_once_in_the_end(
    database: Database, cluster: Any, home: Any, cut: str
) -> None:
    """Tried again it is known by then, or done now: one charge, one release, one letter."""
    with wired(database, cluster.port) as (store, wire):
        asked = Asked(NAME, NAME, home.round(1), b"message", RHO)
        stopping = threading.Event()
        for do, words in (
            (store.open_round, (asked, 4 * RHO)),
            (store.close_round, (NAME, [1, None], 1)),
        ):
            more: dict[str, Any] = {"post": [LETTER]} if do == store.close_round else {}
            wire.cut = cut
            found = places.patiently(stopping, do, *words, **more)
            assert wire.cut == ""  # or it was never cut, and this shows nothing
            # A round that is there already is as good as opened; a release that is there is kept.
            assert found in ("", cut == "before")
        assert _counts(store) == (0, 1, 1, 1)


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_batch_whose_commit_was_not_answered_is_all_there_or_not_at_all(
    database: Database, cluster: Any, cut: str
) -> None:
    """The fault says that it may pass; what the store then knows of the batch says which it is."""
    with wired(database, cluster.port) as (store, wire):
        batch = [Kept(f"node-{n}", 1, 1, NAME, b"frame %d" % n, KEY) for n in range(50)]
        again = [Again(NAME, Charge(RHO, "node-0"), b"again")]
        wire.cut = cut
        with pytest.raises(DBAPIError) as caught:
            store.keep(batch, [], again)
        assert wire.cut == ""
        assert places.of_the_disk(caught.value)

        there = cut == "after"
        assert _counts(store) == (50 * there, there, 0, 0)
        known = store.known([(f"node-{n}", KEY, 1, 1) for n in range(50)], [])
        assert len(known.seen) == 50 * there
        if not there:
            store.keep(batch, [], again)
        assert _counts(store) == (50, 1, 0, 0)
