"""The rows of rounds and of what they cost: statements, on a connection that the store gives.

An older copy of a store lacks rounds that people have paid for. Whoever meets one of them, signed
with the site's key, has its row written with the outcome FOUND, and as long as there is such a
row nothing is asked: over every start. Charged to this ledger it is LOST, and known from then on.
"""

import json
import time
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, or_, select, text, update

from ..faults import DeletedFault, ForgottenFault, OperatorFault
from ..service.intake.outcomes import AskedRound, SecondAnswer, hash_frame
from ..service.ledger import (
    Charge,
    Ledger,
    check_budget,
    check_terms,
    find_stored_unit,
)
from .message_rows import insert_many
from .places import Place
from .schema import (
    about,
    alarms,
    charges,
    ended_keys,
    heard,
    jumped,
    maps,
    newest,
    outbox,
    promises,
    quarantine,
    refused,
    releases,
    reports,
    rounds,
    tallies,
    vacant,
)


def lock_charges(connection: Any) -> None:
    """Let nobody else charge until this transaction ends.

    SQLite has one writer at a time as it is, and leaves the lock out.
    """
    connection.execute(select(about.c.schema).with_for_update())


def insert_charge(
    connection: Any, name: bytes, one: Charge, now_s: float, answer: bytes = b""
) -> None:
    """Charge a round, or one answer to it."""
    row = {"device": one.device, "rho": str(one.rho), "at_s": now_s, "answer": answer}
    connection.execute(insert(charges).values(round=name, **row))


def charge_second_answers(connection: Any, extra: Sequence[SecondAnswer], now_s: float) -> None:
    """Charge second answers; the same bytes once, however often they are delivered."""
    rows = [
        (name, one.device, hash_frame(frame), str(one.rho), now_s) for name, one, frame in extra
    ]
    columns = ("round", "device", "answer", "rho", "at_s")
    insert_many(connection, charges, columns, rows, "ON CONFLICT DO NOTHING")


# Of the promises that were ended: the last charge, and the rounds. An alias each time is garbage.
_EARLIER = select(func.coalesce(func.max(promises.c.charge), 0)).scalar_subquery()
_PAID = charges.alias()
_ENDED = select(_PAID.c.round).where(_PAID.c.id <= _EARLIER)


def list_charges(connection: Any, counted_s: float | None = None) -> tuple[Charge, ...]:
    """Return everything that was charged under this promise, what is alike together.

    Args:
        counted_s: leave out what is older, of a promise for a window.
    """
    alike = charges.c.rho, charges.c.device
    wanted = _select_counted_charges(select(*alike, func.count(charges.c.id)), counted_s).group_by(
        *alike
    )
    rows = connection.execute(wanted.order_by(func.min(charges.c.id)))
    found = [(Charge(Fraction(rho), device),) * count for rho, device, count in rows]
    return tuple(chain.from_iterable(found))


def find_affordable_s(
    connection: Any, counted_s: float | None, budget: Fraction, rho: Fraction
) -> float | None:
    """Return when enough has lapsed for a round at this price; None for now, or for never."""
    if counted_s is None:
        return None
    columns = charges.c.at_s, charges.c.rho, charges.c.device
    rows = connection.execute(
        _select_counted_charges(select(*columns), counted_s).order_by(charges.c.at_s)
    )
    at_s, paid = [], [Charge(sum_unpaid_rho(connection))]
    for row in rows:
        at_s.append(row.at_s)
        paid.append(Charge(Fraction(row.rho), row.device))

    def fits(lapsed: int) -> bool:
        return Ledger(budget, (paid[0], *paid[lapsed + 1 :])).left >= rho

    lapsed = bisect_left(range(len(at_s) + 1), True, key=fits)
    return at_s[lapsed - 1] + counted_s if 0 < lapsed <= len(at_s) else None


def _select_counted_charges(wanted: Any, counted_s: float | None) -> Any:
    """Leave out what belongs to promises that were ended: second answers to their rounds, too."""
    wanted = wanted.where(charges.c.id > _EARLIER)
    wanted = wanted.where(or_(charges.c.device == "", charges.c.round.not_in(_ENDED)))
    if counted_s is None:
        return wanted
    return wanted.where(charges.c.at_s > time.time() - counted_s)


def count_charges(connection: Any) -> int:
    """Return how many charges there are."""
    return int(connection.scalar(select(func.count(charges.c.id))) or 0)


def read_prices(connection: Any, names: Iterable[bytes]) -> dict[bytes, Fraction]:
    """Return what an answer to these rounds costs; rounds that we never asked are left out."""
    wanted = select(charges.c.round, charges.c.rho).where(charges.c.device == "")
    rows = connection.execute(wanted.where(charges.c.round.in_(list(names))))
    return {row[0]: Fraction(row[1]) for row in rows}


def read_terms(connection: Any) -> str | None:
    """Return the terms of all charges, as `terms.terms` wrote them; None before the first."""
    found: str | None = connection.scalar(select(about.c.promise))
    return found


def read_budget(connection: Any) -> Fraction | None:
    """Return the least budget that was ever promised here; None before the first charge."""
    found = connection.scalar(select(about.c.budget))
    return None if found is None else Fraction(found)


def check_promise(connection: Any, terms: str, most: Fraction, keys: Mapping[str, bytes]) -> None:
    """Check that a charge under these terms, within this budget, may be added to the others.

    Args:
        keys: of each device that is asked, by name.

    Raises:
        OperatorFault: it may not, or these devices were asked under a promise that was ended.
    """
    check_not_ended(connection, keys)
    check_terms(read_terms(connection), terms)
    check_budget(read_budget(connection), most, find_stored_unit(terms))


# Of reports, which are forgotten, `newest` stays; of a number that leapt, the alarm alone.
_END_KEYS = text(
    "INSERT INTO ended_keys (device, key_id) SELECT device, key_id FROM newest "
    "UNION SELECT device, key_id FROM alarms EXCEPT SELECT device, key_id FROM ended_keys"
)


def end_promise(
    connection: Any, keys: Mapping[str, bytes], now_s: float
) -> tuple[int, Fraction] | None:
    """End the promise for another; return how many rounds it had and what was spent, or None.

    Args:
        keys: of each device that was asked, by name: its answer may still be under way.

    Raises:
        OperatorFault: the keys are of another promise.

    What was asked, charged and released stays as it is. A plan of the next promise that is like
    one of this is another round: nothing of this one is taken for its own.
    """
    promised, least = read_terms(connection), read_budget(connection)
    if promised is None or least is None:
        return None
    check_not_ended(connection, keys)
    came = select(newest.c.device, newest.c.key_id).except_(
        select(ended_keys.c.device, ended_keys.c.key_id)
    )
    heard = {(device, key_id) for device, key_id in connection.execute(came)}
    if keys and heard and heard.isdisjoint(keys.items()):
        raise OperatorFault(
            f"the promise that is to end was made with other devices than {min(keys)}, and these "
            "would be asked nothing any more in their place. Give --config the deployment file in "
            "the folder where it was made; if it is this one, and all devices have new keys, run "
            "a round first"
        )
    spent = list_charges(connection)
    last = connection.scalar(select(func.max(charges.c.id))) or 0
    row = {"promise": promised, "budget": str(least), "charge": last, "ended_s": now_s}
    connection.execute(insert(promises).values(row))
    connection.execute(_END_KEYS)
    columns, asked = ("device", "key_id"), list(keys.items())
    insert_many(connection, ended_keys, columns, asked, "ON CONFLICT DO NOTHING")
    still = update(rounds).where(rounds.c.closed_s.is_(None))  # it is paid for, and given up
    connection.execute(still.values(closed_s=now_s, outcome=ABANDONED))
    names = connection.scalars(select(rounds.c.name)).all()
    for name in names:  # which no plan is called
        other = update(rounds).where(rounds.c.name == name).values(planned=name + b"\0")
        connection.execute(other)
    connection.execute(update(about).values(promise=None, budget=None))
    return sum(not one.device for one in spent), Ledger(least, spent).spent


def list_ended_promises(connection: Any) -> list[tuple[str, float, Ledger]]:
    """Return the promises that were ended, oldest first: when, and what each was charged.

    A second answer belongs to the promise of its round, whenever it comes.
    """
    ended = connection.execute(select(promises).order_by(promises.c.id)).all()
    if not ended:
        return []
    last = [row.charge for row in ended]
    paid: list[list[Charge]] = [[] for _ in range(len(ended) + 1)]
    promise_of = dict[bytes, int]()
    columns = charges.c.id, charges.c.round, charges.c.rho, charges.c.device
    wanted = select(*columns).where(or_(charges.c.id <= last[-1], charges.c.device != ""))
    for id, name, rho, device in connection.execute(wanted.order_by(charges.c.id)):
        nth = promise_of.setdefault(name, bisect_left(last, id))
        paid[nth].append(Charge(Fraction(rho), device))
    return [
        (row.promise, row.ended_s, Ledger(Fraction(row.budget), tuple(of)))
        for row, of in zip(ended, paid[:-1], strict=True)
    ]


def check_not_ended(connection: Any, keys: Mapping[str, bytes]) -> None:
    """Check that none of these devices was asked under a promise that was ended.

    Whatever is promised next: a key keeps to the promise that it was enrolled for, and what it has
    spent is in no ledger that goes on. And whoever starts the folder of an ended promise again
    must neither lower nor end the one that stands.

    Args:
        keys: of each device, by name.

    Raises:
        OperatorFault: one was.
    """
    for name, key_id in connection.execute(select(ended_keys).order_by(ended_keys.c.device)):
        if keys.get(name) == key_id:
            raise OperatorFault(
                f"a promise of this database was ended, for good, and {name} has the key that it "
                "was asked with: what it has spent stays spent, and rounds that it refuses "
                "are charged all the same. Enrol again in a new folder, or start the gateway in "
                "the one where that was done; its deployment file may name this database"
            )


def write_terms(connection: Any, terms: str, budget: Fraction) -> None:
    """Let all charges from now on be under these terms, and within this budget."""
    connection.execute(update(about).values(promise=terms, budget=str(budget)))


def find_number(connection: Any, planned: bytes) -> int:
    """Return the number that a planned round was sent under, or the next that is free."""
    sent = connection.scalar(select(rounds.c.number).where(rounds.c.planned == planned))
    return sent or 1 + (connection.scalar(select(func.max(rounds.c.number))) or 0)


def is_opened(connection: Any, name: bytes) -> bool:
    """Return whether a round was opened before."""
    return connection.scalar(select(rounds.c.name).where(rounds.c.name == name)) is not None


def is_opened_as_another(connection: Any, asked: AskedRound) -> bool:
    """Return whether what was planned, or its number, was opened as another round."""
    taken = or_(rounds.c.planned == asked.planned, rounds.c.number == asked.plan.number)
    return connection.scalar(select(rounds.c.name).where(taken)) is not None


def insert_round(connection: Any, asked: AskedRound, enrolled: int | None, now_s: float) -> None:
    """Write a round that opens now."""
    planned, name, plan, message, rho = asked
    row = {"number": plan.number, "mechanism": plan.mechanism, "opened_s": now_s}
    row |= {"planned": planned, "name": name, "message": message, "rho": str(rho)}
    connection.execute(insert(rounds).values(row | {"enrolled": enrolled}))


def sum_unpaid_rho(connection: Any) -> Fraction:
    """Return what the open rounds cost that are charged when they close."""
    paid = select(charges.c.round).where(charges.c.device == "")
    wanted = select(rounds.c.rho).where(rounds.c.closed_s.is_(None), rounds.c.name.not_in(paid))
    return sum((Fraction(rho or 0) for rho in connection.scalars(wanted)), Fraction(0))


def close_round(
    connection: Any,
    name: bytes,
    values: Sequence[int | None],
    count: int,
    outcome: str,
    now_s: float,
) -> bool:
    """Write the release of a round; return False, and write nothing, where there is one."""
    columns = ("round", "values", "reports", "at_s")
    row = (name, json.dumps(list(values)), count, now_s)
    if not insert_many(connection, releases, columns, [row], "ON CONFLICT DO NOTHING"):
        return False
    ended = update(rounds).where(rounds.c.name == name)
    connection.execute(ended.values(closed_s=now_s, outcome=outcome))
    return True


def abandon_round(connection: Any, name: bytes, now_s: float) -> bool:
    """Write that an open round was given up; what was planned may be asked anew, as another."""
    ended = update(rounds).where(rounds.c.name == name, rounds.c.closed_s.is_(None))
    given = ended.values(closed_s=now_s, outcome=ABANDONED, planned=name)
    return bool(connection.execute(given).rowcount)


def is_abandoned(connection: Any, name: bytes) -> bool:
    """Return whether a round was given up."""
    outcome = connection.scalar(select(rounds.c.outcome).where(rounds.c.name == name))
    return bool(outcome == ABANDONED)


def is_open(connection: Any, name: bytes) -> bool:
    """Return whether reports may count in a round."""
    wanted = select(rounds.c.name).where(rounds.c.name == name, rounds.c.closed_s.is_(None))
    return connection.scalar(wanted) is not None


def count_answered(connection: Any, name: bytes) -> int:
    """Return how many devices' reports count in a round."""
    wanted = select(func.count(reports.c.device.distinct())).where(reports.c.round == name)
    return int(connection.scalar(wanted) or 0)


FOUND, LOST, ABANDONED, DELETED = "found", "lost", "abandoned", "deleted"
_KNOWN = or_(rounds.c.outcome.is_(None), rounds.c.outcome != FOUND)


class MissingRounds(NamedTuple):
    """What a ledger lacks: rounds up to the greatest that was found."""

    last: int  # the greatest number that it knows
    found: Mapping[int, tuple[str, bytes]]  # mechanism and signed Round of those that were found


def has_round(connection: Any, name: bytes) -> bool:
    """Return whether a round is in the ledger: asked from this store, or charged to it since."""
    there = connection.scalar(select(rounds.c.name).where(rounds.c.name == name, _KNOWN))
    return there is not None or name in read_prices(connection, [name])


def find_missing_rounds(connection: Any) -> MissingRounds | None:
    """Return what the ledger lacks, as far as it was found out; None where it lacks nothing."""
    wanted = select(rounds.c.number, rounds.c.mechanism, rounds.c.message)
    rows = connection.execute(wanted.where(rounds.c.outcome == FOUND)).all()
    if not rows:
        return None
    last = connection.scalar(select(func.max(rounds.c.number)).where(_KNOWN)) or 0
    return MissingRounds(last, {row.number: (row.mechanism, row.message) for row in rows})


def make_missing_rounds_fault(
    connection: Any, place: Place, found: str = ""
) -> ForgottenFault | None:
    """Return what to raise where the ledger lacks something that anybody has found.

    Args:
        found: how, as the beginning of a sentence.
    """
    if (lacks := find_missing_rounds(connection)) is None:
        return None
    number = max(lacks.found)
    found = found or f"round {number} was found to be asked with this site's key"
    return ForgottenFault(place, found, lacks.last, number)


GATHERED = (
    *(reports, heard, refused, releases, maps, tallies, vacant, outbox),
    *(alarms, quarantine, jumped),
)


def count_gathered(connection: Any) -> dict[str, int]:
    """Return how many rows there are of what `delete_gathered` deletes, by table."""
    found = {
        one.name: connection.scalar(select(func.count()).select_from(one)) for one in GATHERED
    }
    return {name: count for name, count in found.items() if count}


def delete_gathered(connection: Any, now_s: float) -> None:
    """Delete all that was gathered and drawn; rounds stay with what they cost, marked for good.

    What a Round asked goes too: one that looks closer where people are follows from releases.
    """
    for one in GATHERED:
        connection.execute(delete(one))
    connection.execute(update(newest).values(last_s=None))
    ended = func.coalesce(rounds.c.closed_s, now_s)
    connection.execute(update(rounds).values(outcome=DELETED, closed_s=ended, message=b""))


def make_deletion_fault(connection: Any, place: Place) -> DeletedFault | None:
    """Return what to raise where what was gathered here has been deleted, so that all is over."""
    gone = select(rounds.c.name).where(rounds.c.outcome == DELETED).limit(1)
    return None if connection.scalar(gone) is None else DeletedFault(place)


def insert_found_round(
    connection: Any, asked: AskedRound, now_s: float, outcome: str = FOUND
) -> None:
    """Write the row of a round that was found, under its number, or the next where it is taken."""
    was = rounds.c.name == asked.name, rounds.c.outcome == FOUND
    connection.execute(delete(rounds).where(*was))
    taken = connection.scalar(select(rounds.c.name).where(rounds.c.number == asked.plan.number))
    last = connection.scalar(select(func.max(rounds.c.number))) or 0
    number = asked.plan.number if taken is None else last + 1
    row = {"number": number, "mechanism": asked.plan.mechanism, "message": asked.message}
    row |= {"opened_s": now_s, "closed_s": now_s, "outcome": outcome, "name": asked.name}
    # No plan of ours is to find it: what comes next is asked under a number of its own.
    row |= {"planned": hash_frame(b"lost" + asked.name)[:4], "rho": str(asked.rho)}
    connection.execute(insert(rounds).values(row))
