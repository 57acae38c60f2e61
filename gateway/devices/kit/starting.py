"""A board that has all it needs, started; and looked for at the broker, till its first frame.

The frame that is waited for is one that the gateway asked for anyway: nothing is asked, and
nothing is spent, for the sake of looking.
"""

import time
from collections.abc import Callable

from edge.keys import Identity

from ...deployment import Deployment
from ...faults import LinkFault, OperatorFault
from . import hearing, reaching, still, taking
from .board import Board
from .hearing import Ear, Heard

Say = Callable[[str], None]
TAKEN_S = 5.0  # for a gateway to have a frame on its disk
MARGIN_S = 15.0  # over the pause between two rounds
LONGEST_S = 120.0  # that a round is waited for
OVER = ("late", "other-round")  # kinds of refusals that the next round ends
NOT_TAKEN = (
    "has not taken it. It takes up a new device at its start, or when told to reload (SIGHUP); "
    "till then the board keeps the frame"
)
NOTHING = (
    "Tried from the board, the broker can be reached and lets it in: it may need longer (--wait), "
    "or stop in its start, which `mpremote repl` and Ctrl-D show"
)


def started(
    board: Board, deployment: Deployment, who: Identity, after: int, wait_s: float, say: Say
) -> None:
    """Start a board, and say what is seen of it: at the broker, a frame, at the gateway.

    Args:
        after: the boot that it had before.
        wait_s: how long to wait for it at the broker; 0 to start it and leave it.

    Raises:
        OperatorFault: it was not seen, and the likeliest reason why not.
    """
    if not wait_s:
        board.restart()
        say("at broker    not waited for")
        return
    begun = False
    try:
        with hearing.listening(deployment.mqtt, who, after) as ear:
            begun = True
            ear.begin()
            board.restart()
            heard = _at_broker(ear, who, wait_s, say)
            if heard is not None:
                _first_frame(ear, deployment, who, say)
                return
    except LinkFault as fault:
        if not begun:
            board.restart()
        raise OperatorFault(
            f"{who.name} has all it needs and was started, and could not be looked for: {fault}. "
            "Or start it alone, with --wait 0"
        ) from fault
    raise OperatorFault(_silence(board, who, wait_s))


def _at_broker(ear: Ear, who: Identity, wait_s: float, say: Say) -> Heard | None:
    say(
        f"at broker    looking for {who.name}, for {wait_s:.0f} s at most (Ctrl-C: it runs anyway)"
    )
    heard = ear.wait_there(wait_s)
    if not heard.boot and heard.frame is None:
        return None
    boot = heard.frame.epoch if heard.frame else heard.boot
    say(f"at broker    {who.name} is there, boot {boot}")
    return heard


def _first_frame(ear: Ear, deployment: Deployment, who: Identity, say: Say) -> None:
    """Say what came of the first Round that it was asked."""
    every_s = deployment.rounds.every_s
    heard = ear.wait_frame(min(every_s, LONGEST_S) + MARGIN_S)
    if heard.frame is not None:
        found = heard.frame
        say(f"first frame  {found.bytes} bytes of boot {found.epoch}, and its MAC is right")
        _until_taken(ear, deployment, who, every_s, say)
        return
    if heard.forged:
        raise OperatorFault(
            f"{heard.forged} frames came in the name of {who.name} under another key; the gateway "
            "believes none of them. Is another board still running as it? Switch that off"
        )
    if heard.state in ("alert", "exhausted"):
        raise OperatorFault(
            f"{who.name} says {heard.state} and answers nothing; heatveil doctor says why"
        )
    if heard.failed:
        raise OperatorFault(
            f"{who.name} is at the broker and its sensor failed {heard.failed} times, so there is "
            "no reading to blur and no frame. heatveil doctor says how it fails"
        )
    say(
        "first frame  none yet: a board speaks when a round is asked. Does `heatveil serve` run, "
        f"not paused, with readings left of its promise? It asks every {every_s:g} s"
    )


def _until_taken(
    ear: Ear, deployment: Deployment, who: Identity, every_s: float, say: Say
) -> None:
    """Say what the gateway made of each frame, until one counts or it was long enough.

    Raises:
        OperatorFault: what came was refused, and not because its round was over.
    """
    if not taking.has_store(deployment):
        say("gateway      none has run here yet; start it: heatveil serve")
        return
    until_s = time.monotonic() + min(every_s, LONGEST_S) + MARGIN_S
    known, last = 0, taking.Fate()
    while frames := ear.wait_more(known, until_s - time.monotonic()):
        known += len(frames)
        for frame in frames:
            found = taking.fate(deployment, who, frame, TAKEN_S)
            if found is None or found.kind == "unknown":
                say(f"gateway      {NOT_TAKEN}")
                return
            if not found.why:
                say("gateway      has it on its disk; its receipt is on its way to the board")
                return
            last = found
            say(f"gateway      refused: {found.why}. Waiting for its next frame")
    if last.kind in OVER:
        say(
            f"gateway      none that counts yet; it asks every {every_s:g} s: heatveil device list"
        )
        return
    raise OperatorFault(
        f"{who.name} is heard and the gateway refused what it sent: {last.why}; so nothing of it "
        "is in the map. heatveil device list says how it goes on, heatveil doctor how the board is"
    )


def _silence(board: Board, who: Identity, wait_s: float) -> str:
    """Return why a board is not heard; it is stopped for that, asked, and started again."""
    said = board.console() if hasattr(board, "console") else ""
    still.stopped(board)
    try:
        why = reaching.hindrance(board)
    finally:
        still.resumed(board)
    tried = f"Tried from the board: {why}" if why else NOTHING
    if said:
        tried += f". The last that it said: {said!r}"
    return (
        f"{who.name} has all it needs and was not heard at the broker within {wait_s:.0f} s; till "
        f"it is, its place in the room has no reading. {tried}"
    )
