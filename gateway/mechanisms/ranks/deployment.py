"""Ranks, as the service needs it: places that arrive sealed, and sums of groups that leave."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edge.mechanisms.ranks import params_of
from recovery.ranks.query import Query

from .. import usual
from ..record import Payload, Tail

if TYPE_CHECKING:
    from ...settings.deployment import Deployment


def query_of(deployment: "Deployment") -> Query:
    """Return what the analyst asks; groups are for all devices, where nobody says how many answer.

    Raises:
        ValueError: there is no such promise.
    """
    made: Query = usual.query_of(deployment)
    return made if made.users else replace(made, users=deployment.own.devices)


def payload_fault(plan: Any) -> Callable[[Payload], str]:
    """Return what says why a payload cannot count: places that the curve of a Round has not."""
    params = params_of(plan)
    beyond = 1 << params.order * params.axes

    def why(payload: Payload) -> str:
        if len(payload) == 1 + params.points and all(0 <= one < beyond for one in payload[1:]):
            return ""
        return f"it has not {params.points} places of the curve of round {plan.number}"

    return why


def exported_reports(body: Any) -> Callable[[Sequence[int], int], Iterable[Tail]]:
    """Return what gives no rows: reports are sealed, and nobody has the key any more."""
    return lambda values, first: []


def exported_sums(body: Any) -> Callable[[Sequence[int | None]], Iterable[Tail]]:
    """Return what gives the rows of a release: the sum of each group of places."""
    return enumerate
