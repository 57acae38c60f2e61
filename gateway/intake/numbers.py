"""What a device's numbers say: that it is the one it was, and what of it never came.

A device counts its boots (epoch) and its messages since (seq), and both only go up. Who goes
back, uses a number twice, or leaps as far as no device can in its life, has not been the one
device with this key. A leap uses no numbers up: else a single one, from whoever has the key, would
make all that the device says from then on a step back.
"""

from .genuine import Arrival

NEVER = (0, 0)  # before the first (epoch, seq) of a device
BOOTS = 1 << 20  # between two messages: one every 30 s for a year, and more than a flash survives
MESSAGES = 1 << 20  # of one boot that nobody heard: one a minute for two years


def broken(arrival: Arrival, last: tuple[int, int], used: bool) -> tuple[str, str]:
    """Return the kind and why the device needs a new key, or nothing.

    Args:
        last: the greatest numbers of the device so far.
        used: its numbers came before, with other bytes.
    """
    sender, epoch, seq = arrival.report[1:4]
    if used:
        return "changed", (
            f"{sender} sent message {epoch}.{seq} before with other bytes: two readings under "
            "one noise give away their difference. Give the device a new key"
        )
    if (epoch, seq) <= last:
        return "replayed", (
            f"{sender} sent message {epoch}.{seq} after {last[0]}.{last[1]}: its memory was set "
            "back, it has a double, or the broker held a message back. Look which; if it may be "
            "one of the first two, give the device a new key"
        )
    if epoch - last[0] > BOOTS or seq - (last[1] if epoch == last[0] else 0) > MESSAGES:
        return "future", (
            f"{sender} sent message {epoch}.{seq} after {last[0]}.{last[1]}: no device starts or "
            "speaks so often. Its memory is damaged, or somebody else has its key; its numbers "
            "count on from the earlier ones. Look which, and give the device a new key"
        )
    return "", ""


def missing(last: tuple[int, int], epoch: int, seq: int) -> int:
    """Return how many numbers a device has skipped; none before the first that we heard of."""
    if last == NEVER:
        return 0
    return max(seq - last[1] - 1 if epoch == last[0] else seq - 1, 0)
