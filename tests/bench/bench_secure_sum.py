"""A thousand devices add up 4,096 numbers each, in process: CPU, and bytes beside the formula.

One core, without a broker. "again" is a second round of the same roster, whose static keys need no
agreement any more.
"""

import os
import sys
import time
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # for the tests' own shard

from edge.compat import sha256
from edge.entropy import Tape
from gateway.devices.enrol.roster import draw_rosters
from gateway.service.secure_sum.playing import STAGES, played
from tests.sums import SITE, Town, root_of

DEVICES, LENGTH, BITS = 1000, 4096, 32


def main() -> None:
    """Print what a round takes where 0, 10 and 30 of a hundred vanish, and what it sends."""
    roots = {f"n{i:04}": root_of(f"n{i:04}") for i in range(DEVICES)}
    for missing in (0, 10, 30):
        tape = Tape(sha256(bytes([missing])))
        (found,) = draw_rosters(SITE, roots, 1, 1, BITS, tape, missing=Fraction(missing, 100))
        town = Town(found, LENGTH, BITS, LENGTH)
        vanish = {i: STAGES[1 + i % 4] for i in range(DEVICES * missing // 100)}
        k = town.shard.k
        for number, name in ((1, "first"), (2, "again")):
            numbers = {i: town.numbers(i)(0) for i in town.members}
            body, terms, gateway = b"round %d" % number, town.terms(number), town.collecting()
            gateway.sid = sha256(body + town.shard.digest)
            began = time.process_time()
            play = played(
                town.members,
                gateway,
                terms,
                body,
                lambda i, numbers=numbers: lambda divisor: numbers[i],  # type: ignore[misc]
                lambda i: Tape(os.urandom(32)),
                vanish,
            )
            within = [i for i in town.members if vanish.get(i) not in STAGES[:3]]
            print(
                f"{missing:2} % vanish, k = {k}, {name}: {time.process_time() - began:4.1f} s "
                f"of CPU (goal 9), each {play.members_s / DEVICES * 1000:4.1f} ms, the gateway "
                f"{play.gateway_s:.1f} s; exact: {play.total == town.sum_of(within)}"
            )
        up, down = max(play.up.values()), max(play.down.values())
        print(
            f"   up {up:,} bytes, by the formula {LENGTH * BITS // 8 + 80 * k + 80 + 32 * 5:,}; "
            f"down {down:,}, {128 * k + k // 2 + DEVICES // 8 + 130:,}"
        )


if __name__ == "__main__":
    main()
