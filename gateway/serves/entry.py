"""What an entry of the table must say: all that the service asks of a mechanism but its verbs.

`mechanisms` has plan, report, release and recover. What is here is between those and a site: what
the deployment file means, what devices are enrolled with, which payloads may count, and in which
words the promise is told.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..storage.tallies import Sum

Payload = Sequence[int]


class Fold(NamedTuple):
    """How reports become sums, and sums a release: for workers that gather in parts.

    It must give what the mechanism's own `release` gives of all payloads together, exactly.
    """

    slots: Callable[[Payload], Iterable[tuple[int, int]]]  # (slot, amount) of a payload
    release: Callable[[Any, Mapping[int, Sum], int], Any]  # round, sums, reports


class Serves(NamedTuple):
    """One mechanism, as the service needs it.

    sensors(deployment)       how many devices' places there are, (columns, rows)
    query(deployment)         what the analyst asks; ValueError where it cannot be served
    granted(query, every_s)   the first `Limits` of its devices; OperatorFault
    unspent(query, limits, before)     what is left of these for a device that comes when the
                              ledger has some nano-rho; OperatorFault where not one answer is
    check_held(query, sensors, held)   that enrolled devices fit it; OperatorFault
    least(limits)             in words how much blur they ask for at the least
    whole(limits)             in words what they pay for in all, in the unit of the promise
    tighter(last, wished)     the wished `Limits` in numbers that a device which holds the last
                              can take, and why they would protect less than those, or ""
    wrong(plan)               returns what says why a payload cannot count, or ""
    keys(deployment)          how many keys of one sensor the promise is for, None for any number
    fold                      for many workers; None where a release is no sum over reports
    delta(plan)               what the ledger's epsilon is reckoned at; None for a pure promise
    in_words(query, guarantee)   the promise for who manages a building
    most_of, answered         in words what is mapped, and who answers
    announced                 to Home Assistant: what the place with most is called, the share
                              that is there, and its icon
    counted                   whether a share has a standard deviation, and there are no sources
    shown(plan)               what a page must know beside a release's whole numbers
    cautions(query)           what an operator should know before it is asked for, a sentence each
    head                      the file that begins its sample of a deployment; "" for thermal's
    """

    sensors: Callable[[Any], tuple[int, int]]
    query: Callable[[Any], Any]
    granted: Callable[[Any, float], Any]
    unspent: Callable[[Any, Any, int], Any]
    check_held: Callable[[Any, Mapping[str, int], Mapping[str, Any]], None]
    least: Callable[[Any], str]
    whole: Callable[[Any], str]
    tighter: Callable[[Any, Any], tuple[Any, str]]
    wrong: Callable[[Any], Callable[[Payload], str]]
    keys: Callable[[Any], int | None]
    fold: Fold | None
    delta: Callable[[Any], float | None]
    in_words: Callable[[Any, Any], list[str]]
    shown: Callable[[Any], dict[str, Any]]
    most_of: str
    answered: str
    announced: tuple[str, str, str]
    cautions: Callable[[Any], list[str]] = lambda query: []
    counted: bool = False
    head: str = ""
