"""Everything that can be asked of the API, as one table: routes and their description come of it.

What answers an operation may wait for the disk: it runs on a thread of `parts`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, cast, get_type_hints

import msgspec
from msgspec import UNSET, Struct

from ..service.ledger import Unit, find_stored_unit
from . import records
from .floor import Floor, Moment, read_rooms
from .maps import Map, MapHead, Maps, read_map
from .parts import Parts, describe_parts
from .records import STARTING, make_missing_refusal


def health(parts: Parts, asked: records.Nothing) -> records.Standing:
    """Return which parts work."""
    return describe_parts(parts)


def state(parts: Parts, asked: records.Nothing) -> records.State:
    """Return the last event of each kind."""
    return records.State(parts.feed.list_latest())


def floor(parts: Parts, asked: Moment) -> Floor:
    """Return the other rooms of the floor."""
    return read_rooms(parts.neighbours, asked)


def rounds(parts: Parts, asked: records.Paged) -> records.Rounds:
    """Return a page of rounds, newest first."""
    reader = require_reader(parts)
    rows, units = reader.list_rounds(asked.limit + 1, asked.older), reader.read_units()
    found = [_make_round(row, units) for row in rows[: asked.limit]]
    return records.Rounds(found, found[-1].number if len(rows) > asked.limit else None)


def one_round(parts: Parts, asked: records.One) -> records.Round:
    """Return the round of a number."""
    reader = require_reader(parts)
    row = reader.find_round(asked.number)
    if row is None:
        raise make_missing_refusal(f"round {asked.number}")
    return _make_round(row, reader.read_units())


def release(parts: Parts, asked: records.One) -> records.Release:
    """Return what a round released."""
    values = require_reader(parts).read_release(asked.number)
    if values is None:
        raise make_missing_refusal(f"release of a round {asked.number}")
    return records.Release(asked.number, list(values))


def maps(parts: Parts, asked: records.Paged) -> Maps:
    """Return a page of maps without their pictures, newest first."""
    bodies = require_reader(parts).list_maps(asked.limit + 1, asked.older)
    found = [msgspec.json.decode(body, type=MapHead) for body in bodies[: asked.limit]]
    return Maps(found, found[-1].number if len(bodies) > asked.limit else None)


def one_map(parts: Parts, asked: records.One) -> Map:
    """Return the map of a round."""
    return _read(require_reader(parts).read_map(asked.number), f"map of a round {asked.number}")


def latest_map(parts: Parts, asked: records.Nothing) -> Map:
    """Return the newest map."""
    return _read(require_reader(parts).read_map(None), "map yet")


def ledger(parts: Parts, asked: records.Paged) -> records.Ledger:
    """Return the promise in words, its budget, and a page of what was charged, newest first."""
    reader, told = require_reader(parts), parts.feed.list_latest()
    promised, budget = reader.read_promise()
    unit, units = find_stored_unit(promised), reader.read_units()
    book = None if budget is None else reader.read_ledger(budget)
    rows = reader.list_charges(asked.limit + 1, asked.older)
    charges = [
        records.Charge(*row._replace(rho=records.Rho.of(row.rho, units.find_for_charge(row))))
        for row in rows[: asked.limit]
    ]
    return records.Ledger(
        told.get("promise", {}).get("sentences", []),
        (told.get("map") or reader.read_map(None) or {}).get("guarantee"),
        _make_rho(book and book.budget, unit),
        _make_rho(book and book.spent, unit),
        _make_rho(book and book.left, unit),
        charges,
        charges[-1].id if len(rows) > asked.limit else None,
    )


def refused(parts: Parts, asked: records.Paged) -> records.Refusals:
    """Return how many messages did not count, and a page of them, newest first."""
    reader = require_reader(parts)
    rows = reader.list_refused(asked.limit + 1, asked.older)
    found = [records.Refused(*row) for row in rows[: asked.limit]]
    following = found[-1].id if len(rows) > asked.limit else None
    return records.Refusals(reader.count_refused_by_kind(), found, following)


def _make_round(row: Any, units: Any) -> records.Round:
    rho = records.Rho.of(row.rho, units.find_for_round(row.number))
    return records.Round(*row._replace(rho=rho))


def _read(body: Any, what: str) -> Map:
    if body is None:
        raise make_missing_refusal(what)
    return read_map(body)


def _make_rho(rho: Fraction | None, unit: Unit) -> records.Rho | None:
    return None if rho is None else records.Rho.of(rho, unit)


def require_reader(parts: Parts) -> Any:
    """Return what reads the store.

    Raises:
        Refusal: it is not there yet.
    """
    if parts.reader is None:
        raise STARTING
    return parts.reader


def devices(parts: Parts, asked: records.Named) -> records.Devices:
    """Return a page of the devices that are enrolled, by name."""
    reader = require_reader(parts)
    keys = None if parts.list_keys is None else parts.list_keys()
    # A database may know another order; `after` is compared here.
    rows = sorted(reader.list_devices(keys), key=lambda row: (row.name, row.key_id_hex))
    if asked.after is not UNSET:
        rows = [row for row in rows if row.name > asked.after]
    # All keys of a device are on one page: the next begins with a name.
    names = list(dict.fromkeys(row.name for row in rows))
    shown = set(names[: asked.limit])
    counts, (promised, budget) = (
        _count_refused(reader.count_refused_by_topic()),
        reader.read_promise(),
    )
    unit = find_stored_unit(promised)
    left = _tell_left(reader, budget, unit)
    found = []
    for row in rows:
        if row.name in shown:
            kinds = counts.get(row.name, Counter())
            told: Any = kinds["late"], kinds.total(), left(row.name)
            found.append(records.Device(*row[:6], *told, *row[6:]))
    return records.Devices(
        found,
        budget and records.Rho.of(budget, unit),
        names[asked.limit - 1] if len(names) > asked.limit else None,
    )


def gaps(parts: Parts, asked: records.OneNamed) -> records.Gaps:
    """Return which numbers of a device never came."""
    found = require_reader(parts).list_gaps(asked.name)
    return records.Gaps(asked.name, [records.Gap(*gap) for gap in found])


def quarantine(parts: Parts, asked: records.Nothing) -> records.Quarantine:
    """Return the devices that are shut out: those in the store, and those just told."""
    told = parts.feed.list_latest().get("quarantine", {}).get("devices", [])
    keys = None if parts.list_keys is None else parts.list_keys()
    found = require_reader(parts).list_devices(keys)
    rows = {row.name: row.quarantine for row in found if row.quarantine}
    why = rows | {one["device"]: one["why"] for one in told}
    since = {one["device"]: one.get("since_s") for one in told}
    return records.Quarantine(
        [records.Quarantined(name, why[name], since.get(name)) for name in sorted(why)]
    )


def _count_refused(topics: dict[tuple[str, str], int]) -> dict[str, Counter[str]]:
    """Return how often what of each device did not count, by kind, from the topics it used."""
    found: dict[str, Counter[str]] = {}
    for (topic, kind), count in topics.items():
        levels = topic.split("/")
        if len(levels) == 5:  # heatveil/1/SITE/DEVICE/data
            found.setdefault(levels[3], Counter())[kind] += count
    return found


def _tell_left(
    reader: Any, budget: Fraction | None, unit: Unit
) -> Callable[[str], records.Rho | None]:
    """Return what tells what is left of each device's budget, after rounds and second answers."""
    if budget is None:
        return lambda name: None
    paid: dict[str, Fraction] = defaultdict(Fraction)
    for charge in reader.read_ledger(budget).charges:
        paid[charge.device] += charge.rho
    return lambda name: records.Rho.of(max(budget - paid[""] - paid[name], Fraction(0)), unit)


class Operation(NamedTuple):
    """One address, and who knows the answer."""

    path: str
    says: str
    answer: Callable[[Parts, Any], Struct]  # (parts, asked): both records are in its signature
    missing: bool = False  # it may have nothing of that number
    tagged: bool = False  # it has an ETag
    stored: bool = True  # it takes the store: else it is answered while that hangs, and anew
    names_devices: bool = False  # then it is for operators alone
    others: bool = False  # it takes others' stores, which may hang while ours does not

    @property
    def name(self) -> str:
        """What programs call it: the function's name."""
        return self.answer.__name__

    @property
    def asks(self) -> type[Struct]:
        """What may be asked with it."""
        return cast(type[Struct], get_type_hints(self.answer)["asked"])

    @property
    def answers(self) -> type[Struct]:
        """What it answers."""
        return cast(type[Struct], get_type_hints(self.answer)["return"])


_named = partial(Operation, names_devices=True)
OPERATIONS = [
    Operation("/health", "Which parts work, and why one does not.", health, stored=False),
    _named("/state", "The last event of each kind.", state, stored=False),
    Operation("/rounds", "The rounds.", rounds),
    Operation("/rounds/{number}", "One round.", one_round, missing=True),
    Operation(
        "/rounds/{number}/release",
        "What a round released: noised whole numbers.",
        release,
        missing=True,
    ),
    Operation("/maps", "The maps, without their pictures.", maps),
    Operation("/maps/latest", "The newest map.", latest_map, missing=True, tagged=True),
    Operation("/maps/{number}", "The map of one round.", one_map, missing=True, tagged=True),
    Operation("/floor", "The other rooms of the floor, each with its map.", floor, others=True),
    _named("/ledger", "What is promised, what was charged and what is left.", ledger),
    _named("/devices", "The devices, without readings.", devices),
    _named("/devices/{name}/gaps", "Which messages of a device never came.", gaps),
    _named("/refused", "Messages that do not count, without their bytes.", refused),
    _named("/quarantine", "The devices that are shut out.", quarantine),
]
