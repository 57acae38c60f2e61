"""Blocks of noise are heard one by one, and one that serves two frames is counted."""

from edge.core import entropy
from gateway.audit.bench import Blocks, listening, replaced

KEY = bytes(32)


def test_every_block_of_a_stream_is_heard_and_only_while_somebody_listens() -> None:
    """512 bits are two blocks, whatever is done with them."""
    with listening() as blocks:
        entropy.keyed(KEY, "n", 1, 1, 0).bits(512)
    entropy.keyed(KEY, "n", 1, 2, 0).bits(512)

    assert blocks.count == 2
    assert len(blocks.fresh) == 2


def test_a_stream_of_the_audit_s_own_is_not_heard() -> None:
    """It decides where the power fails, and is no noise."""
    tape = entropy.Tape(b"own")
    with listening(tape) as blocks:
        tape.bits(1000)

    assert blocks.count == 0


def test_a_block_that_two_frames_are_made_of_is_counted() -> None:
    """The same bytes again are one frame; other bytes from the same noise are two."""
    blocks = Blocks()
    for frame, drawn in ((b"one", b"\1"), (b"one", b""), (b"two", b"\2"), (b"three", b"\1")):
        if drawn:
            blocks.heard(KEY, drawn)
        blocks.publish(frame)

    assert blocks.twice == 1


def test_a_frame_for_which_no_number_was_drawn_is_counted() -> None:
    """One block holds seven draws of a place; a draw that serves two Rounds opens no new block."""
    tape = entropy.Tape(b"own")
    with listening(tape) as blocks:
        stream = entropy.keyed(KEY, "n", 1, 1, 0)
        for frame, draws in ((b"one", 1), (b"two", 2), (b"three", 0), (b"one", 0)):
            for _ in range(draws):
                stream.below(1000)
            tape.below(1000)
            blocks.publish(frame)

    assert (blocks.bare, blocks.twice) == (1, 0)
    assert blocks.faults == ["a frame was made without a draw of its own"]


def test_what_was_replaced_is_put_back() -> None:
    """Even where the audit breaks off in between."""
    whole = entropy.keyed
    try:
        with replaced(entropy, "keyed", None):
            raise KeyError
    except KeyError:
        pass

    assert entropy.keyed is whole
