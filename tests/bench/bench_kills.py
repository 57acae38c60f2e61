"""Kill -9 at random, hundreds of times, while rounds run: what is lost, doubled, altered?

    python tests/bench/bench_kills.py [--kills 40] [--seed 7] [--devices 30]

Gateway, mosquitto and devices are processes of their own, the devices edge's own nodes with
budgets and spools on the disk. Each kill takes one of them, or all at once; the next comes at a
random moment. Afterwards everything stays up, and what the devices wrote down before they sent it
is held against the store, charge by charge and byte by byte. Exits with 1 if anything is missing.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "faults"))

from harness.children import eventually
from harness.stage import Stage, staged
from harness.truth import Truth, ask, sound

from gateway.brokers.broker import mosquitto

KINDS = ("gateway", "broker", "devices", "all at once")
WEIGHTS = (4, 2, 2, 2)
STUCK_S = 30.0


def killed(site: Stage, kills: int, seed: int) -> tuple[Counter[str], list[float], Truth]:
    """Kill and restart; return how often which, seconds to the first commit, and the truth."""
    world, often, starts_s = random.Random(seed), Counter[str](), list[float]()
    gateway, edges = site.gateway(), site.edges()
    children = {"gateway": [gateway], "broker": [site.broker], "devices": [edges]}
    children["all at once"] = [site.broker, gateway, edges]
    assert eventually(lambda: site.stored() > 0, STUCK_S), gateway.said()[-2000:]
    for number in range(kills):
        kind = world.choices(KINDS, WEIGHTS)[0]
        time.sleep(world.expovariate(2))
        for one in children[kind]:
            one.kill()
        often[kind] += 1
        before = site.stored()
        if gateway in children[kind]:
            starts_s.append(time.time())
        for one in children[kind]:
            one.start()
        if not eventually(lambda before=before: site.stored() > before, STUCK_S):
            raise SystemExit(f"stuck after kill {number + 1} ({kind}): {gateway.said()[-3000:]}")
    found = site.settled(60)
    edges.stop()
    return often, [took for start in starts_s if (took := first_commit(site, start))], found


def first_commit(site: Stage, start_s: float) -> float | None:
    """Return how long after a start the first reading was on the disk."""
    ((at_s,),) = ask(site.database, "SELECT min(taken_s) FROM reports WHERE taken_s > ?", start_s)
    return None if at_s is None else float(at_s) - start_s


def two_noises(site: Stage) -> int:
    """Return how many times a device answered one round with two different messages."""
    rows = ask(
        site.database,
        "SELECT count(*) FROM (SELECT device, round FROM (SELECT device, round, epoch, seq FROM "
        "reports UNION SELECT device, round, epoch, seq FROM heard) "
        "GROUP BY device, round HAVING count(*) > 1)",
    )
    return int(rows[0][0])


def main() -> int:
    """Print the table; return the exit status."""
    given = argparse.ArgumentParser()
    given.add_argument("--kills", type=int, default=40)
    given.add_argument("--seed", type=int, default=7)
    given.add_argument("--devices", type=int, default=30)
    asked, program = given.parse_args(), mosquitto()
    if program is None:
        print("mosquitto is not here: apt-get install mosquitto")
        return 1
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="heatveil-kills-") as folder:
        readings = 20 * asked.kills + 50
        rounds = {"every_s": 0.2, "gather_s": 3, "readings": readings, "quorum": 1_000_000}
        with staged(program, Path(folder), sensors=asked.devices, **rounds) as site:
            often, firsts_s, found = killed(site, asked.kills, asked.seed)
            opened, spent, beside = site.charges()
            noises, whole = two_noises(site), sound(site.database)
            exact = spent == opened * site.price and not beside
    print(f"kills       {dict(often)}")
    print(
        f"readings    {found.readings} in {opened} rounds; {found.refused} came late, with a row"
    )
    print(f"lost {found.lost}  doubled {found.doubled}  altered {found.altered}  ", end="")
    print(f"foreign {found.foreign}  two noises {noises}  charges exact {exact}  file {whole}")
    if len(firsts_s) > 1:
        cuts = quantiles(firsts_s, n=100, method="inclusive")
        print(f"restart to first commit   p50 {cuts[49]:.2f} s   p99 {cuts[98]:.2f} s   goal 1 s")
    print(f"took        {time.monotonic() - began_s:.0f} s")
    return 0 if found.whole and exact and whole and not noises else 1


if __name__ == "__main__":
    sys.exit(main())
