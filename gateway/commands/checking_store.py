"""The store of a deployment: can it be read, is it of this promise, is there room."""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..deployment import Deployment
from ..faults import OperatorFault
from ..ledger import price
from ..serves.table import first
from ..storage.looking import MADE
from ..terms import check_budget, check_terms, terms, unit_of
from .checking_finding import Finding, fault, note, ok


def findings(deployment: Deployment, query: Any) -> Iterator[Finding]:
    """Yield what is found of the store; a running gateway is not disturbed."""
    database = deployment.site.database
    if deployment.store.postgresql is None:
        yield from _room(deployment, database)
        if not database.exists():
            yield note("store", f"{database} is not there; it is made when the gateway starts")
            return
    try:
        yield from _spent(deployment, query)
    except OperatorFault as wrong:
        # A store that is older, or not made yet, is no fault: the gateway sees to it at its start.
        later = any(words in str(wrong) for words in ("brings it up to date", MADE))
        yield note("store", str(wrong)) if later else fault("store", wrong)


def _spent(deployment: Deployment, query: Any) -> Iterable[Finding]:
    """Yield whether what was charged may be added to, and what is left."""
    from .stored import reading

    guarantee = first(deployment, query).guarantee
    rho = price(guarantee)
    budget = rho * deployment.privacy.readings
    with reading(deployment) as reader:
        promised, least = reader.promise()
        ledger = reader.ledger(budget)
    check_terms(promised, terms(guarantee))
    unit = unit_of(guarantee)
    check_budget(least, budget, unit)
    if least is not None and budget < least:
        yield note(
            "store",
            f"this file promises {unit.said(budget, 6)} in all, and "
            f"{float(unit.of(least)):.6g} was "
            "promised before: once a gateway has started with it, no larger promise is taken on "
            "this database any more. If it was meant as a trial, copy the folder first",
        )
    left, share = int(ledger.left / rho), float(ledger.spent / ledger.budget)
    told = f"{share:.1%} of it is spent"
    if left:
        more = f"{left} of {deployment.privacy.readings} rounds can be paid for"
        yield ok("store", f"it is of this promise; {told}, and {more}")
    else:
        yield note("store", f"{told}, so nothing more is asked. A new promise is a new enrolment")


def _room(deployment: Deployment, database: Path) -> Iterable[Finding]:
    folder = database.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        yield fault(
            "store",
            f"{folder} is no folder that we may write to; nothing is acknowledged before it is "
            "stored there. Make it, or mend [site] database",
        )
        return
    if database.exists() and not os.access(database, os.W_OK):
        yield fault("store", f"{database} may not be written by us. Give it to this user")
    free_mb = shutil.disk_usage(folder).free / 1e6
    if free_mb < deployment.store.reserve_mb:
        yield fault(
            "store",
            f"{free_mb:.0f} MB are free in {folder}, less than [store] reserve_mb "
            f"{deployment.store.reserve_mb}: nothing would be taken. Make room",
        )
    elif free_mb < 10 * deployment.store.reserve_mb:
        yield note("store", f"only {free_mb:.0f} MB are free in {folder}")
