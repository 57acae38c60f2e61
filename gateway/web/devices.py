"""What is known of the devices, as the API answers it: never what one of them felt."""

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from msgspec import UNSET

from ..currency import Unit
from ..terms import unit_in
from . import answers, asks
from .looked_up import reader_of
from .parts import Parts


def devices(parts: Parts, asked: asks.Named) -> answers.Devices:
    """Return a page of devices, by name."""
    reader = reader_of(parts)
    rows = sorted(reader.devices(), key=lambda row: (row.name, row.key_id_hex))
    if asked.after is not UNSET:
        rows = [row for row in rows if row.name > asked.after]
    # All keys of a device are on one page: the next begins with a name.
    names = list(dict.fromkeys(row.name for row in rows))
    shown = set(names[: asked.limit])
    counts, (promised, budget) = _refused(reader.refused_topics()), reader.promise()
    unit = unit_in(promised)
    left = _left(reader, budget, unit)
    found = [
        _device(row, counts.get(row.name, Counter()), left(row.name))
        for row in rows
        if row.name in shown
    ]
    return answers.Devices(
        found,
        budget and answers.Rho.of(budget, unit),
        names[asked.limit - 1] if len(names) > asked.limit else None,
    )


def gaps(parts: Parts, asked: asks.OneNamed) -> answers.Gaps:
    """Return which numbers of a device never came."""
    found = reader_of(parts).gaps(asked.name)
    return answers.Gaps(asked.name, [answers.Gap(*gap) for gap in found])


def quarantine(parts: Parts, asked: asks.Nothing) -> answers.Quarantine:
    """Return the devices that are shut out: those in the store, and those just told."""
    told = parts.feed.latest().get("quarantine", {}).get("devices", [])
    rows = {row.name: row.quarantine for row in reader_of(parts).devices() if row.quarantine}
    why = rows | {one["device"]: one["why"] for one in told}
    since = {one["device"]: one.get("since_s") for one in told}
    return answers.Quarantine(
        [answers.Quarantined(name, why[name], since.get(name)) for name in sorted(why)]
    )


def _refused(topics: dict[tuple[str, str], int]) -> dict[str, Counter[str]]:
    """Return how often what of each device did not count, by kind, from the topics it used."""
    found: dict[str, Counter[str]] = {}
    for (topic, kind), count in topics.items():
        levels = topic.split("/")
        if len(levels) == 5:  # heatveil/1/SITE/DEVICE/data
            found.setdefault(levels[3], Counter())[kind] += count
    return found


def _left(reader: Any, budget: Fraction | None, unit: Unit) -> Callable[[str], answers.Rho | None]:
    """Return what tells what is left of each device's budget, after rounds and second answers."""
    if budget is None:
        return lambda name: None
    paid: dict[str, Fraction] = defaultdict(Fraction)
    for charge in reader.ledger(budget).charges:
        paid[charge.device] += charge.rho
    return lambda name: answers.Rho.of(max(budget - paid[""] - paid[name], Fraction(0)), unit)


def _device(row: Any, refused: Counter[str], left: answers.Rho | None) -> answers.Device:
    return answers.Device(
        name=row.name,
        key_id=row.key_id_hex,
        boot=row.epoch,
        seq=row.seq,
        reports=row.reports,
        last_s=row.last_s,
        late=refused["late"],
        refused=refused.total(),
        left=left,
        alarm=row.alarm,
        quarantine=row.quarantine,
    )
