"""What a deployment has spent of its privacy: `heatveil ledger`; exact with --json.

And what it is charged where its store was lost and an older one put in its place: `--accept`.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from recovery.maps.guarantee import format_ratio, get_window_h, round_up
from recovery.noise.gaussian import zcdp_epsilon

from ...faults import OperatorFault
from ...mechanisms import find_serving, plan_first_round
from ...service.ledger import (
    RHO,
    Ledger,
    Unit,
    compute_budget_rho,
    compute_round_rho,
    describe_terms,
    find_stored_unit,
    find_unit,
    is_distributed,
    make_terms,
)
from ...settings import config
from ...settings.deployment import Deployment
from ...settings.windows import DAYS, HOUR_S, bound_span_s, count_windows
from ...store.opening import lock_store
from ...store.places import find_place
from ...store.reader import PromisedUnits, open_reader
from ...store.store import Store
from .. import flags

ALL = 1_000_000_000


def ledger(
    path: flags.Config,
    as_json: flags.AsJson = False,
    limit: Annotated[
        int, typer.Option(min=0, help="List so many rounds, the newest; in JSON all are.")
    ] = 10,
    lost: Annotated[
        int | None,
        typer.Option(
            "--accept",
            min=1,
            metavar="ROUND",
            help="Charge the rounds that the ledger lacks, up to this, which the gateway named.",
        ),
    ] = None,
    end: Annotated[
        bool,
        typer.Option(
            "--end-promise",
            help="End the promise that this file made, so that a new folder may make another.",
        ),
    ] = False,
    yes: flags.Yes = False,
) -> None:
    """Say what has been spent of the privacy of a deployment, and what is left.

    Beside a gateway that runs, or without one. In JSON every rho is an exact fraction. With
    --accept, after a gateway ended with status 4, what was lost with its store is charged first.
    With --end-promise what was asked and released so far stays under its own promise.
    """
    if end:
        end_promise(path, typer.echo, yes=yes)
        return
    if lost is not None:
        charge_lost_rounds(path, lost, lambda line: typer.echo(line, err=as_json))
    deployment = config.load_deployment(path)
    with open_reader(deployment) as reader:
        charged = read_charged(deployment, reader)
        standing: Ledger = reader.read_ledger(charged.budget)
        charges = reader.list_charges(ALL)
        promised, _ = reader.read_promise()
        ended, gone = reader.list_ended_promises(), reader.is_deleted()
        units = reader.read_units()
        plans = [reader.read_plan(number) for number in units.rounds]
    plan = charged.plan
    asked = compute_round_rho(plan.guarantee)
    rho = _find_newest_price(standing, plan.guarantee) or asked
    if charged.note:
        typer.echo(charged.note, err=True)
    if as_json:
        told = _pack_exact_ledger(deployment, standing, rho, charged, charges)
        told["promised"] = None if promised is None else json.loads(promised)
        told["ended"] = [
            {"promised": json.loads(was), "ended_s": ended_s, "spent": str(paid.spent)}
            for was, ended_s, paid in ended
        ]
        typer.echo(json.dumps(told))
        return
    for line in _describe_ledger(deployment, standing, rho, charged):
        typer.echo(line)
    if gone:
        typer.echo("note     what this site gathered was deleted: nothing more is asked here")
    if line := _describe_other_price(standing, rho, asked, plan.guarantee, promised):
        typer.echo(line)
    for line in _list_former(ended, plans, standing, charged):
        typer.echo(line)
    for line in _format_charge_lines(charges, limit, units):
        typer.echo(line)


class Charged(NamedTuple):
    """The promise that is told: the file's, or where it makes another, what was charged for."""

    plan: Any  # a Round under it
    budget: Fraction  # in rho
    query: Any = None  # the file's, where it is the file's promise
    note: str = ""  # why it is not, or why nothing is asked under it
    over: bool = False  # nothing is asked under it, for these devices answered under another


def read_charged(deployment: Deployment, reader: Any) -> Charged:
    """Return the promise whose charges a store holds; what is past is read under any file.

    Raises:
        OperatorFault: the file makes another one, and what was asked has been deleted.
    """
    from ...devices.enrol.enrol import load_devices

    query, readings = config.make_query(deployment), deployment.privacy.readings
    plan = plan_first_round(deployment, query)
    budget = compute_budget_rho(plan.guarantee, readings)
    try:
        keys = load_devices(deployment.site.devices, deployment.site.name).key_ids
    except OperatorFault:  # whoever has the store alone is told what was charged
        keys = {}
    try:
        reader.check_promise(plan.guarantee, readings, keys)
    except OperatorFault as other:
        if reader.read_promise()[0] is None:
            return Charged(plan, budget, query, f"note     {other}", over=True)
        asked = reader.read_plan(reader.list_rounds(1)[0].number)
        if asked is None:
            raise
        note = f"note     told is the promise that was charged for, and not the file's: {other}"
        least = reader.read_promise()[1]
        return Charged(_lower_epsilon(asked, least), least, None, note)
    return Charged(plan, budget, query)


def _lower_epsilon(asked: Any, budget: Fraction) -> Any:
    """Return a Round with the epsilon of this budget, which may have been lowered since."""
    guarantee, delta = asked.guarantee, find_serving(asked.mechanism).ledger_delta(asked)
    if delta is None:
        whole = find_unit(guarantee).convert(budget)
    else:
        most = Fraction(round_up(zcdp_epsilon(float(budget), delta), 4))
        whole = min(most, Fraction(*guarantee.epsilon))
    return asked._replace(guarantee=guarantee._replace(epsilon=whole.as_integer_ratio()))


def end_promise(path: Path, say: Callable[[str], None], *, yes: bool) -> None:
    """End the promise of a store, so that the deployment file may make another; say what follows.

    Raises:
        OperatorFault: nothing was charged yet, a gateway runs, what was gathered has been
            deleted, or the answer to the question is not yes.
    """
    from ...devices.enrol.enrol import load_devices

    deployment = config.load_deployment(path)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    with open_reader(deployment) as reader:
        promised, budget = reader.read_promise()
        before = reader.list_ended_promises()
    with lock_store(find_place(deployment)), closing(Store.open_for(deployment)) as store:
        if promised is not None and not yes:
            told = find_stored_unit(promised).format_rho(budget or Fraction(0), 6)
            say(
                f"What was promised so far ends, for good: {told}, {describe_terms(promised)}. A "
                "round that is open is given up, and stays paid for."
            )
            flags.ask("End it?", "the promise stands")
        ended = store.end_promise(devices.key_ids)
    if ended is None:
        last = "yet"
        if before:
            last = f"since the last promise ended at {_format_minute(before[-1][1])}"
        raise OperatorFault(
            f"nothing was charged {last}, so there is no promise to end. Nothing is to be done: "
            "heatveil serve begins with the promise of the deployment file"
        )
    count, spent = ended
    say(
        f"Ended after {count} round{'s' * (count != 1)}, "
        f"{find_stored_unit(promised).format_rho(spent, 6)} in all. What was asked and released "
        "stays here under that promise, and whoever was there pays for both: tell the "
        "people in the room."
    )
    say(
        "Devices hold to the promise that they were enrolled for, so these are asked nothing "
        "more. Enrol again, in a new folder whose deployment file names this database."
    )


def charge_lost_rounds(path: Path, number: int, say: Callable[[str], None]) -> None:
    """Charge the rounds that the ledger lacks, up to the one that was found; the gateway rests.

    Raises:
        OperatorFault: nothing was found, or another round, or a gateway runs.
    """
    from ...devices.enrol.enrol import load_devices
    from ...service import steps

    deployment = config.load_deployment(path)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    plan = plan_first_round(deployment, config.make_query(deployment))
    rho, promised, nothing = (
        compute_round_rho(plan.guarantee),
        make_terms(plan.guarantee),
        Fraction(0),
    )
    with open_reader(deployment):
        pass  # there must be a store
    with lock_store(find_place(deployment)), closing(Store.open_for(deployment)) as store:
        lack = store.find_missing_rounds()
        found = max(lack.found) if lack else None
        if lack is None or number != found:
            lacks = "no round is missing from the ledger"
            if found:
                lacks = f"the rounds missing from the ledger end with round {found}"
            raise OperatorFault(
                f"--accept {number} was given, but {lacks}; nothing else is charged, for a charge "
                "cannot be undone. Write the number that the gateway named when it ended"
            )
        lost = [
            # Never less than what an answer costs now: whoever forges a Round may understate it.
            one._replace(
                rho=max(one.rho, rho) if make_terms(one.plan.guarantee) == promised else nothing
            )
            for one in steps.find_lost_rounds(lack, devices)
        ]
        budget = compute_budget_rho(plan.guarantee, deployment.privacy.readings)
        store.charge_lost_rounds(lost, promised, budget, devices.key_ids)
    unit, sum_of = find_unit(plan.guarantee), sum((one.rho for one in lost), nothing)
    say(
        f"Charged, for {len(lost)} rounds that were lost, up to round {number}: "
        f"{unit.format_rho(sum_of, 6)}. heatveil serve goes on with the next."
    )
    if others := sum(not one.rho for one in lost):
        say(
            f"Of these {others} were of another promise. What they cost adds to this in truth, "
            "and in no ledger: tell the people in the room."
        )


def compute_spent_epsilon(standing: Ledger, plan: Any) -> float:
    """Return the epsilon that a ledger comes to, of the promise that a Round is planned for."""
    at = find_serving(plan.mechanism).ledger_delta(plan)
    return standing.compute_epsilon(at, float(Fraction(*plan.guarantee.epsilon)))


def _list_former(
    ended: Sequence[tuple[str, float, Ledger]],
    plans: Sequence[Any],
    standing: Ledger,
    charged: Charged,
) -> Iterator[str]:
    """Yield what each promise that was ended has cost, and what all of them cost together.

    Epsilons add up, and so do deltas, for what all of the promises protect. Of windows there is no
    sum: what was spent comes back.

    Args:
        plans: the last round of each; None where it was deleted.
    """
    costs = []
    for (was, ended_s, paid), plan in zip(ended, plans, strict=True):
        told = [find_stored_unit(was).format_rho(paid.spent, 6)]
        if plan is not None:
            plan = _lower_epsilon(plan, paid.budget)
            costs.append((plan.guarantee, compute_spent_epsilon(paid, plan)))
            told += [f"epsilon {round_up(costs[-1][1], 4)}"] * (plan.guarantee.delta is not None)
        yield (
            f"before {_format_minute(ended_s)}: another promise, which adds to this: "
            f"{', '.join(told)}, {describe_terms(was)}"
        )
    known = len(costs) == len(ended)
    if standing.spent:
        costs.append((charged.plan.guarantee, compute_spent_epsilon(standing, charged.plan)))
    if known and len(costs) > 1 and not any(get_window_h(one) for one, _ in costs):
        epsilon = round_up(sum(cost for _, cost in costs), 4)
        delta = sum((Fraction(*one.delta or (0, 1)) for one, _ in costs), Fraction(0))
        yield (
            f"all together: at most epsilon {epsilon}, delta {delta}, for what all of these "
            "promises protect"
        )


def _format_minute(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _format_delta(guarantee: Any) -> str | None:
    return None if guarantee.delta is None else format_ratio(guarantee.delta)


def _describe_ledger(
    deployment: Deployment, standing: Ledger, rho: Fraction, charged: Charged
) -> Sequence[str]:
    plan, guarantee = charged.plan, charged.plan.guarantee
    left = _count_left(standing, rho, charged)
    share = float(standing.spent / standing.budget)
    windowed, unit = get_window_h(guarantee), find_unit(guarantee)
    end = f"{left} more can be paid for."
    if not left:
        end = "It comes back as it grows older." if windowed else "Nothing more is asked."
    if is_distributed(guarantee):
        each = "all rounds"
        if not windowed and not charged.over:
            end = "Further rounds have the rest." if standing.left else "Nothing more is asked."
    else:
        many = "1 answer is" if left == 1 else f"{left} answers are"
        answers = f"an answer, of each device; {many} left"
        each = f"{float(unit.convert(rho)):.6g} {answers if unit.is_epsilon else 'a round'}"
    return [
        f"Site {deployment.site.name}: {share:.1%} of the budget is spent. {end}",
        f"spent    {unit.format_rho(standing.spent, 6)} of "
        f"{float(unit.convert(standing.budget)):.6g}, "
        f"{'shared by' if is_distributed(guarantee) else 'and'} {each}",
        f"so far   epsilon {round_up(compute_spent_epsilon(standing, plan), 4)} of "
        f"{round_up(float(Fraction(*guarantee.epsilon)), 4)}"
        + (
            f" at delta {delta}; the share counts rho, which adds up, while epsilon grows faster "
            "at first"
            if (delta := _format_delta(guarantee))
            else ", which adds up; no delta"
        ),
        f"promise  {guarantee.neighbours}; trust: {guarantee.trust}",
        *_describe_stay_costs(charged, unit),
    ]


def _count_left(standing: Ledger, rho: Fraction, charged: Charged) -> int:
    """Return how many rounds of a price can still be asked."""
    return 0 if charged.over else int(standing.left / rho)


def _find_newest_price(standing: Ledger, guarantee: Any) -> Fraction | None:
    """Return what the newest round cost, by which what is left is counted; None without one.

    The file may ask for another price: it was changed, or the variables that `serve` has are not
    set in this terminal.
    """
    if is_distributed(guarantee):  # whose rounds share what there is
        return None
    charged = [one.rho for one in standing.charges if one.rho and not one.device]
    return charged[-1] if charged else None


def _describe_other_price(
    standing: Ledger, rho: Fraction, asked: Fraction, guarantee: Any, promised: str | None
) -> str:
    """Return how a file's rounds differ from those that were charged; empty where they do not."""
    if promised is None or is_distributed(guarantee) or asked == rho:
        return ""
    cost, price = (find_stored_unit(promised).format_rho(one, 6) for one in (rho, asked))
    return (
        f"note     what is left is counted in rounds of {cost}, as the newest was; this file, "
        f"with the variables that are set now, asks for {price}: {int(standing.left / asked)} of "
        "these can be paid for"
    )


def _describe_stay_costs(charged: Charged, unit: Unit) -> Sequence[str]:
    """Return what somebody who stays for longer than a window pays at most."""
    plan, whole, query = charged.plan, charged.budget, charged.query
    hours = get_window_h(plan.guarantee)
    if not hours or query is None:
        return []
    serving = find_serving(plan.mechanism)
    delta, said = serving.ledger_delta(plan), []
    for name, days in DAYS:
        many = count_windows(days, hours)
        cost = float(unit.convert(many * whole))
        if delta is not None:
            cost = float(Fraction(*plan.guarantee.epsilon))
            if many > 1:
                epsilon = zcdp_epsilon(float(many * whole), delta)
                cost = serving.stay_epsilon(query, epsilon, many)
        said.append(f"{name} epsilon {round_up(cost, 4)}")
    return [
        f"window   any {hours} h; what is above is of the last "
        f"{bound_span_s(hours) / HOUR_S:.4g}, for which devices count an answer at most",
        f"who is there for longer pays at most: {', '.join(said)}",
    ]


def _format_charge_lines(
    charges: Sequence[Any], limit: int, units: PromisedUnits
) -> Sequence[str]:
    """Return the charges round by round, the newest first."""
    lines, rounds = [], defaultdict(list)
    for one in charges:
        rounds[one.number or 0].append(one)
    for number, rows in sorted(rounds.items(), reverse=True)[:limit]:
        fleet = sum((one.rho for one in rows if not one.device), Fraction(0))
        again: dict[str, Fraction] = defaultdict(Fraction)
        for one in rows:
            if one.device:
                again[one.device] += one.rho
        asked = datetime.fromtimestamp(min(one.at_s for one in rows), UTC)
        twice = f", and {len(again)} device{'s' * (len(again) > 1)} that answered it again"
        cost = units.find_for_charge(rows[-1]).format_rho(fleet, 6)
        lines.append(
            f"  round {number:<6} {asked:%Y-%m-%d %H:%M} UTC  {cost}{twice * bool(again)}"
        )
    if len(rounds) > limit:
        left = len(rounds) - limit
        lines.append(f"  and {left} round{'s' * (left > 1)} before; --limit shows more")
    return lines


def _pack_exact_ledger(
    deployment: Deployment,
    standing: Ledger,
    rho: Fraction,
    charged: Charged,
    charges: Sequence[Any],
) -> dict[str, Any]:
    """Return everything in rho, as fractions; `told_in` is what people are told it in."""
    guarantee, unit = charged.plan.guarantee, find_unit(charged.plan.guarantee)
    return {
        "site": deployment.site.name,
        "budget": str(standing.budget),
        "spent": str(standing.spent),
        "left": str(standing.left),
        "round": str(rho),
        "unit": RHO.name,
        "told_in": unit.name,
        "told_of_one_rho": str(unit.of_one),
        "rounds_left": _count_left(standing, rho, charged),
        "epsilon": format_ratio(guarantee.epsilon),
        "delta": _format_delta(guarantee),
        "epsilon_spent": compute_spent_epsilon(standing, charged.plan),
        "charges": [
            {"round": one.number, "device": one.device, "rho": str(one.rho), "at_s": one.at_s}
            for one in charges
        ],
    }
