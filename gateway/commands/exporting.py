"""What a deployment has gathered, for others to work with: `heatveil export`.

The promise goes with the data. Beside every file stands `<file>.guarantee.json`, written before
the file is: what is promised, what of it is spent, how the numbers are counted, and what they do
not hide. Parquet carries the same inside, under the key heatveil.guarantee.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from recovery.maps.guarantee import sentences

from .. import config as deployments
from ..deployment import Deployment
from ..faults import OperatorFault, suggestion
from ..ledger import Ledger, price
from ..serves.table import first, of
from .export_files import FORMATS, written
from .export_kinds import NAMES, kinds
from .export_rows import Span
from .stored import reading


def export(
    config: Path,
    out: Path,
    what: str,
    since: str | None,
    until: str | None,
    say: Callable[[str], None],
) -> None:
    """Write one kind of rows to a new file, and the promise beside it.

    Args:
        what: a name of `export_kinds.NAMES`.
        since, until: of the round's opening, or the charge; a date, or a date and a time.

    Raises:
        OperatorFault: the kind, the ending or a time is not known, nothing is between the
            times, a file is there already or cannot be written, pyarrow is not there, or the
            store cannot be read.
    """
    if what not in NAMES:
        raise OperatorFault(
            f"--what is {what} but must be one of {', '.join(NAMES)}, for these are what a store "
            f"holds; {suggestion(what, NAMES)}"
        )
    if out.suffix.lower() not in FORMATS:
        raise OperatorFault(
            f"{out} ends in none of {', '.join(FORMATS)}, and the ending says how it is to be "
            "written. Name it by one of these"
        )
    deployment = deployments.load(config)
    first, end = _moment("since", since), _moment("until", until)
    if first is not None and end is not None and first >= end:
        raise OperatorFault(
            f"--since {since} is not before --until {until}, so nothing could be between, and "
            "an empty file would be taken for an empty store. Change one of them"
        )
    span = Span(first, end, deployment.site.name)
    kind = kinds(deployment.rounds.mechanism)[what]
    with reading(deployment) as reader:
        _check_mechanism(deployment, reader)
        promise = _promise(deployment, reader, what, kind.units, span)
        rows, used = written(out, kind, kind.rows(reader, span), promise)
    say(f"{out}: {rows:,} rows of {what} from {used:,} {kind.of}")
    say(f"{out}.guarantee.json: the promise that goes with them")


def _check_mechanism(deployment: Deployment, reader: Any) -> None:
    asked = deployment.rounds.mechanism
    for row in reader.rounds(1):
        if row.mechanism != asked:
            raise OperatorFault(
                f"the newest round of the store is of {row.mechanism}, and [rounds] mechanism is "
                f"{asked}: its numbers would be written under names that mean something else. "
                "Name the deployment file that it was gathered with"
            )


def _promise(
    deployment: Deployment, reader: Any, what: str, units: dict[str, str], span: Span
) -> dict[str, Any]:
    plan = first(deployment, deployments.query(deployment))
    guarantee = plan.guarantee
    terms, least = reader.promise()
    budget = price(guarantee) * deployment.privacy.readings
    ledger: Ledger = reader.ledger(min(budget, least or budget))
    epsilon = float(Fraction(*guarantee.epsilon))
    newest = reader.rounds(1)
    return {
        "site": deployment.site.name,
        "what": what,
        "since_s": span.since_s,
        "until_s": span.until_s,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "guarantee": guarantee._asdict(),
        "in_words": sentences(guarantee),
        "not_protected": guarantee.unprotected,
        "charged_under": None if terms is None else json.loads(terms),
        "rho_budget": str(ledger.budget),
        "rho_spent": str(ledger.spent),
        "epsilon_spent": ledger.epsilon(of(deployment).delta(plan), epsilon, budget),
        "rounds_so_far": newest[0].number if newest else 0,
        "units": units,
        "public": "everything here has passed the veil; no key and no exact reading is in it",
    }


def _moment(name: str, given: str | None) -> float | None:
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(given)
    except ValueError as fault:
        raise OperatorFault(
            f"--{name} is {given} but must be a date, or a date and a time, in UTC where it does "
            "not say otherwise; else it is not known what is asked for. Write it as 2026-11-22 "
            "or 2026-11-22T08:00"
        ) from fault
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
