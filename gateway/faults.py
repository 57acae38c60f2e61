"""Whose fault it was: what the operator can mend, said in one line.

Every message has four parts in this order: what was given, what was needed, why it
matters, what to do. `gateway.cli` prints an `OperatorFault` and leaves with its status, 1 or
another that is named; any other exception is our own fault and shows its traceback.
"""

import difflib
from collections.abc import Iterable
from pathlib import Path

# Where a deployment is not what it was, for its variables are those of another terminal.
VARIABLES = " (or set again the HEATVEIL_ variables that were set then)"


class OperatorFault(Exception):
    """Something the person who runs the gateway can put right."""

    status = 1  # with which a program leaves


class LinkFault(OperatorFault):
    """The broker cannot be reached, or will not have us."""


class RefusedFault(LinkFault):
    """The broker answers: one of us will not have the other, or not let it read what it asks."""


class TakenFault(OperatorFault):
    """Another process has what only one at a time may have."""


class UnmadeFault(OperatorFault):
    """There is no store yet: it is made when a gateway starts."""


class OlderFault(OperatorFault):
    """The store is of an earlier version: a gateway that starts brings it up to date."""


class ReplacedFault(OperatorFault):
    """The store was taken away, or replaced, under a gateway that runs."""

    status = 4  # no service manager is to start us again before somebody has looked

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}. A gateway must end where its store is not the one that it opened: what was "
            "charged and receipted there would be forgotten, and spent once more. Nothing was "
            "receipted since. Before the next start put the store back: what was saved, else the "
            "newest backup"
        )


class ForgottenFault(ReplacedFault):
    """The ledger lacks a round that was asked with the site's key: it is an older one, or anew."""

    def __init__(self, place: object, found: str, last: int, number: int) -> None:
        lost = f"rounds {last + 1} to {number}" if number > last + 1 else f"round {number}"
        ends = f"ends with round {last}" if last else "knows of no round"
        OperatorFault.__init__(
            self,
            f"{found}, and the ledger in {place} {ends}: an older store was put back, or a new "
            f"one begun. What people gave away in {lost} would be forgotten, and spent once more, "
            "so nothing is asked. Put the newest store back; where there is none, have it charged "
            f"to this one: heatveil ledger --accept {number}, with the --config of this gateway",
        )


class DeletedFault(OperatorFault):
    """What was gathered in this store has been deleted, and all is over."""

    status = 4  # no service manager is to start us again: it would be in vain, for ever

    def __init__(self, place: object) -> None:
        super().__init__(
            f"what was gathered in {place} has been deleted, and its ledger stays: nothing more "
            "is asked on it, so that no budget comes back. For another promise name another "
            "database under [site], and enrol again in a new folder"
        )


class OvertakenFault(OperatorFault):
    """Another gateway has gone on with what we were at; what it writes is what counts."""

    def __init__(self) -> None:
        super().__init__(
            "another gateway leads this site now, and has opened again, or given up, the round "
            "that this one had; the round is that one's. This one ends; started again, it "
            "waits as a standby"
        )


def read_small_file(path: Path, called: str, because: str) -> str:
    """Return what a small file of the operator's says.

    Args:
        called: what the file is, such as "the token file"; with its path it begins the sentence.
        because: why it is needed and what to do, which ends it.

    Raises:
        OperatorFault: it cannot be read, or is no text.
    """
    try:
        return path.read_text("utf-8-sig")
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or "it is not UTF-8 text"
        raise OperatorFault(f"{called} {path} cannot be read ({why}); {because}") from fault


def suggest_name(given: str, names: Iterable[str]) -> str:
    """Return a hint that names the nearest of the known names, or lists them all.

    >>> suggest_name("gather", ["gather_s", "every_s"])
    'did you mean gather_s?'
    >>> suggest_name("colour", ["gather_s", "every_s"])
    'the names known here are every_s and gather_s'
    """
    known = sorted(names)
    if near := difflib.get_close_matches(given, known, n=1):
        return f"did you mean {near[0]}?"
    listed = " and ".join(part for part in (", ".join(known[:-1]), *known[-1:]) if part)
    return f"the names known here are {listed}" if known[1:] else f"only {listed} is known here"
