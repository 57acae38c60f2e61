"""Every layer over every mechanism, in two processes, and what is to be said of the whole.

A layer that breaks off has not shown what it was to show, so that is a claim that fails. The
runner adds claims of its own: that every mechanism of the table brings its subject, that a
layer called each of its verbs, and that false alarms are as rare as they must be.
"""

import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from typing import Any, NamedTuple

from ..mechanisms import MECHANISMS, Mechanism
from .claim import FALSE_ALARM, WHOLE, Claim, Effort, at_most, true
from .layers import LAYERS, Layer

VERBS = ("plan", "report", "release", "recover")
PROCESSES = 2


class Done(NamedTuple):
    """What one layer found of one mechanism, and the verbs that it called."""

    claims: tuple[Claim, ...]
    called: frozenset[str]


def audit(
    mechanisms: Sequence[Mechanism],
    layers: Sequence[Layer],
    effort: Effort,
    told: Callable[[str], None] = lambda stage: None,
) -> list[Claim]:
    """Return all claims, in the order of the tables.

    Args:
        told: takes a sentence on how far it is.
    """
    tasks = [
        (layer, mechanism)
        for layer in layers
        if layer.concerns(effort.own)
        for mechanism in (mechanisms if layer.each else [None])
        if mechanism is None or _concerns(layer, mechanism)
    ]
    found = dict(_run(tasks, effort, told))
    claims = [claim for place in range(len(tasks)) for claim in found[place].claims]
    return [*claims, *_of_the_whole(tasks, found, mechanisms, layers, claims, effort)]


def look(layer: Layer, mechanism: Mechanism | None, effort: Effort) -> Done:
    """Return what one layer finds of one mechanism."""
    called: set[str] = set()
    if mechanism and effort.own:
        mechanism = effort.own.of(mechanism)
    watched = mechanism and _watched(mechanism, called)
    name = mechanism.name if mechanism else ""
    claims: list[Claim] = []
    began = time.monotonic()

    def keep(claim: Claim) -> None:
        took = time.monotonic() - began
        claims.append(
            replace(claim, mechanism=name, layer=layer.name, seed=effort.seed, seconds=took)
        )

    try:
        for claim in layer.run(watched, effort):
            keep(claim)
            if effort.first and not claim.fits:
                break
            began = time.monotonic()
        if not claims:
            keep(true(f"{layer.name}: there is something to look at", False, samples=0))
    except Exception as fault:  # whatever it is, the promise was not shown
        why = f"{type(fault).__name__}: {fault}"
        keep(true(f"{layer.name}: the layer runs to its end", False, samples=0, detail=why[:500]))
    return Done(tuple(claims), frozenset(called))


def _concerns(layer: Layer, mechanism: Mechanism) -> bool:
    return mechanism.subject is not None and mechanism.subject.KIND in layer.kinds


def _run(
    tasks: Sequence[tuple[Layer, Mechanism | None]], effort: Effort, told: Callable[[str], None]
) -> Iterator[tuple[int, Done]]:
    # Planted layers and mechanisms, which stand in no table, cannot be sent to a process.
    alone = len(tasks) < 2 or not all(
        layer in LAYERS and (mechanism is None or mechanism in MECHANISMS)
        for layer, mechanism in tasks
    )
    if alone:
        for place, task in enumerate(tasks):
            told(f"{place} of {len(tasks)} done; now {_named(*task)}")
            yield place, look(*task, effort)
        return
    # A fork has every package loaded already; it is unsafe only beside other threads.
    start = "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"
    with ProcessPoolExecutor(PROCESSES, get_context(start)) as pool:
        under_way: dict[Future[Done], int] = {
            pool.submit(_sent, layer.name, mechanism and mechanism.name, effort): place
            for place, (layer, mechanism) in enumerate(tasks)
        }
        told(f"0 of {len(tasks)} done")
        for count, future in enumerate(as_completed(under_way), 1):
            place = under_way[future]
            told(f"{count} of {len(tasks)} done, last {_named(*tasks[place])}")
            yield place, future.result()


def _sent(layer: str, mechanism: str | None, effort: Effort) -> Done:
    """Look, in a process of its own, where the tables are imported anew."""
    (found,) = (one for one in LAYERS if one.name == layer)
    subject = next((one for one in MECHANISMS if one.name == mechanism), None)
    return look(found, subject, effort)


def _named(layer: Layer, mechanism: Mechanism | None) -> str:
    return f"{mechanism.name}, {layer.name}" if mechanism else layer.name


def _watched(mechanism: Mechanism, called: set[str]) -> Mechanism:
    """Return the mechanism with verbs that note that they were called."""

    def noting(verb: str) -> Callable[..., Any]:
        whole = getattr(mechanism, verb)

        def noted(*given: Any) -> Any:
            called.add(verb)
            return whole(*given)

        return noted

    plan, report, release, recover = map(noting, VERBS)
    return Mechanism(mechanism.name, plan, report, release, recover, mechanism.subject)


def _of_the_whole(
    tasks: Sequence[tuple[Layer, Mechanism | None]],
    found: dict[int, Done],
    mechanisms: Sequence[Mechanism],
    layers: Sequence[Layer],
    claims: Iterable[Claim],
    effort: Effort,
) -> Iterator[Claim]:
    mark: dict[str, Any] = {"layer": WHOLE, "seed": effort.seed, "samples": 1}
    for mechanism in mechanisms:
        sentence = f"{mechanism.name} brings recovery/{mechanism.name}_audit, to be audited by"
        yield true(sentence, mechanism.subject is not None, mechanism=mechanism.name, **mark)
        if len(layers) < len(LAYERS):
            continue  # a part of the audit need not touch everything
        called = {
            verb
            for place, (_, subject) in enumerate(tasks)
            if subject is mechanism
            for verb in found[place].called
        }
        left = [verb for verb in VERBS if verb not in called]
        sentence = f"every verb of {mechanism.name} was called by a layer"
        never = f"never called: {', '.join(left)}" if left else ""
        yield true(sentence, not left, detail=never, mechanism=mechanism.name, **mark)
    alarm = math.fsum(claim.alpha for claim in claims)
    sentence = "an audit of code without a fault fails by bad luck at most this often"
    yield at_most(sentence, FALSE_ALARM, alarm, unit="probability", **mark)
