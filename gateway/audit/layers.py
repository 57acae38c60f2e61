"""The table of layers, and the audit that runs them all over all mechanisms."""

import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import active_children, get_context
from typing import Any, NamedTuple

from ..mechanisms import MECHANISMS, Mechanism, find_mechanism
from .arithmetic import (
    accountant,
    exact,
    finite,
    noise,
    readings,
    sensitivity,
    shares,
    tables,
)
from .attacks import (
    broker_certificates,
    crash,
    deployment,
    device,
    gateway,
    keys,
    sequences,
    side_channels,
    sums,
    windows,
    wire,
)
from .claim import FALSE_ALARM, WHOLE, Claim, Effort, claim_at_most, claim_fact


class Layer(NamedTuple):
    """One way to look.

    run(mechanism, effort) yields claims, and leaves it to the runner to say of which mechanism
    and layer they are, from which seed and how long they took: the time between two claims.
    """

    name: str
    about: str  # the danger that it looks for, in plain words
    run: Callable[[Any, Effort], Iterable[Claim]]
    each: bool = True  # once for each mechanism; else once for the house, with None
    kinds: tuple[str, ...] = ("noise", "finite")  # of the mechanisms that it can look at
    concerns: Callable[[Any], bool] = lambda own: True  # an operator's deployment, or None


NOISE = ("noise",)
FINITE = ("finite",)
CENTRAL = ("central",)
DISTRIBUTED = ("distributed",)
ALL = (*NOISE, *FINITE, *CENTRAL, *DISTRIBUTED)

# The longest first, for two of them run at a time.
LAYERS: tuple[Layer, ...] = (
    Layer("finite", "an answer that fits one reading best", finite.claims, kinds=FINITE),
    Layer(
        "paths",
        "two days of a person told apart in a room",
        sensitivity.walks_claims,
        False,
        concerns=lambda own: own is None or own.plan is not None,
    ),
    Layer("device", "two rooms told apart, from plan to map", device.claims, kinds=NOISE),
    Layer("crash", "a power cut makes noise serve twice", crash.claims),
    Layer("attack", "dangers that come one after the other", sequences.claims),
    Layer(
        "windows",
        "more within a window than is promised",
        windows.claims,
        kinds=ALL,
        # What is summed or sealed is looked at in the audit's own room alone.
        concerns=lambda own: (
            own is None or hasattr(find_mechanism(own.mechanism).subject, "asked")
        ),
    ),
    Layer("accountant", "privacy reckoned better than it is", accountant.accountant_claims, False),
    Layer("exact", "noise of the wrong size, however rarely", exact.claims, False),
    Layer("shares", "noise of many that hides none of them", shares.claims, kinds=DISTRIBUTED),
    Layer("mixed", "noise of many that is mixed away", shares.mixed_claims, False),
    Layer("central", "a gateway that blurs too little", shares.central_claims, kinds=CENTRAL),
    Layer("noise", "noise left out, shared or too small", noise.claims, kinds=NOISE),
    Layer(
        "sensitivity",
        "a move larger than the noise hides",
        sensitivity.sensitivity_claims,
        kinds=NOISE,
    ),
    Layer("price", "less noise planned than was promised", accountant.price_claims, kinds=NOISE),
    Layer("counts", "a sensor's steps turned into too much", readings.counts_claims, False),
    Layer(
        "levels",
        "a level of the room that tells who was there",
        readings.levels_claims,
        kinds=NOISE,
        concerns=lambda own: own is None or own.has_values(background="following"),
    ),
    Layer(
        "tables",
        "noise from tables that are a little wrong",
        tables.claims,
        kinds=NOISE,
        concerns=lambda own: own is None or own.has_values(sampler="table"),
    ),
    Layer(
        "deployment",
        "devices enrolled for less than is promised",
        deployment.claims,
        concerns=lambda own: own is not None,
    ),
    Layer("keys", "keys for two purposes, keys not forgotten", keys.keys_claims),
    Layer("holders", "somebody who can take the noise off", keys.holders_claims),
    Layer("streams", "noise that serves two readings", keys.streams_claims),
    Layer("moments", "the time of an answer tells the reading", side_channels.moments_claims),
    Layer("words", "length or wording tells the reading", side_channels.words_claims),
    Layer("wire", "messages changed, cut, moved or forged", wire.wire_claims),
    Layer("limits", "a device's limits loosened from afar", wire.limits_claims),
    Layer("rounds", "questions that ask for less privacy", wire.rounds_claims),
    Layer("gateway", "answers that count twice, evidence lost", gateway.claims),
    Layer("sealed", "private reports that others open", gateway.sealed_claims, kinds=CENTRAL),
    Layer("sums", "sums that are seen through, or are wrong", sums.sums_claims, False),
    Layer("links", "brokers that are not who they say", broker_certificates.claims, False),
    Layer("after", "a map made of more than was published", noise.after_claims, kinds=ALL),
    Layer("promise", "a promise with rounded numbers", noise.promise_claims, kinds=ALL),
)


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

    A layer that breaks off has not shown what it was to show, so that is a claim that fails. The
    runner adds claims of its own: that every mechanism of the table brings its subject, that a
    layer called each of its verbs, and that false alarms are as rare as they must be.

    Args:
        told: takes a sentence on how far it is.
    """
    tasks = list_tasks(mechanisms, layers, effort.own)
    found = dict(_run_all(tasks, effort, told))
    claims = [claim for place in range(len(tasks)) for claim in found[place].claims]
    return [*claims, *_claim_whole_audit(tasks, found, mechanisms, layers, claims, effort)]


def list_tasks(
    mechanisms: Sequence[Mechanism], layers: Sequence[Layer], own: Any
) -> list[tuple[Layer, Mechanism | None]]:
    """Return what layers look at: each with a mechanism, or with None for the house.

    Args:
        own: an operator's deployment, or None.
    """
    return [
        (layer, mechanism)
        for layer in layers
        if layer.concerns(own)
        for mechanism in (mechanisms if layer.each else [None])
        if mechanism is None or _is_applicable(layer, mechanism)
    ]


def run_layer(layer: Layer, mechanism: Mechanism | None, effort: Effort) -> Done:
    """Return what one layer finds of one mechanism."""
    called: set[str] = set()
    if mechanism and effort.own:
        mechanism = effort.own.replace_rooms(mechanism)
    watched = mechanism and _watch(mechanism, called)
    name = mechanism.name if mechanism else ""
    claims: list[Claim] = []
    began = time.monotonic()

    def keep(claim: Claim) -> None:
        claim = replace(claim, mechanism=name, layer=layer.name, seed=effort.seed)
        claims.append(replace(claim, seconds=time.monotonic() - began))

    try:
        for claim in layer.run(watched, effort):
            keep(claim)
            if effort.first and not claim.holds:
                break
            began = time.monotonic()
        if not claims:
            keep(claim_fact(f"{layer.name}: there is something to look at", False, samples=0))
    except Exception as fault:  # whatever it is, the promise was not shown
        sentence, why = (
            f"{layer.name}: the layer runs to its end",
            f"{type(fault).__name__}: {fault}",
        )
        keep(claim_fact(sentence, False, samples=0, detail=why[:500]))
    return Done(tuple(claims), frozenset(called))


def _is_applicable(layer: Layer, mechanism: Mechanism) -> bool:
    return mechanism.subject is not None and mechanism.subject.KIND in layer.kinds


def _run_all(
    tasks: Sequence[tuple[Layer, Mechanism | None]], effort: Effort, told: Callable[[str], None]
) -> Iterator[tuple[int, Done]]:
    # Planted layers and mechanisms, which stand in no table, cannot be sent to a process.
    if len(tasks) < 2 or not all(
        layer in LAYERS and (mechanism is None or mechanism in MECHANISMS)
        for layer, mechanism in tasks
    ):
        for place, task in enumerate(tasks):
            told(f"{place} of {len(tasks)} done; now {_name(*task)}")
            yield place, run_layer(*task, effort)
        return
    # A fork has every package loaded already; it is unsafe only beside other threads.
    start = "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"
    with ProcessPoolExecutor(PROCESSES, get_context(start)) as pool:
        try:
            under_way: dict[Future[Done], int] = {
                pool.submit(_send, layer.name, one.name if one else None, effort): place
                for place, (layer, one) in enumerate(tasks)
            }
            told(f"0 of {len(tasks)} done")
            for count, future in enumerate(as_completed(under_way), 1):
                place = under_way[future]
                told(f"{count} of {len(tasks)} done, last {_name(*tasks[place])}")
                yield place, future.result()
        except BaseException:  # such as a signal: else all that is under way is waited for
            pool.shutdown(wait=False, cancel_futures=True)
            for child in active_children():
                child.kill()
            raise


def _send(layer: str, mechanism: str | None, effort: Effort) -> Done:
    """Look, in a process of its own, where the tables are imported anew."""
    (found,) = (one for one in LAYERS if one.name == layer)
    subject = next((one for one in MECHANISMS if one.name == mechanism), None)
    return run_layer(found, subject, effort)


def _name(layer: Layer, mechanism: Mechanism | None) -> str:
    return f"{mechanism.name}, {layer.name}" if mechanism else layer.name


def _watch(mechanism: Mechanism, called: set[str]) -> Mechanism:
    """Return the mechanism with verbs that note that they were called."""

    def noting(verb: str) -> Callable[..., Any]:
        whole = getattr(mechanism, verb)

        def noted(*given: Any) -> Any:
            called.add(verb)
            return whole(*given)

        return noted

    plan, report, release, recover = map(noting, VERBS)
    return replace(mechanism, plan=plan, report=report, release=release, recover=recover)


def _claim_whole_audit(
    tasks: Sequence[tuple[Layer, Mechanism | None]],
    found: dict[int, Done],
    mechanisms: Sequence[Mechanism],
    layers: Sequence[Layer],
    claims: Iterable[Claim],
    effort: Effort,
) -> Iterator[Claim]:
    mark: dict[str, Any] = {"layer": WHOLE, "seed": effort.seed, "samples": 1}
    for mechanism in mechanisms:
        sentence = f"{mechanism.name} brings recovery/{mechanism.name}/cases, to be audited by"
        yield claim_fact(sentence, mechanism.subject is not None, mechanism=mechanism.name, **mark)
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
        yield claim_fact(sentence, not left, detail=never, mechanism=mechanism.name, **mark)
    alarm = math.fsum(claim.alpha for claim in claims)
    sentence = "an audit of code without a fault fails by bad luck at most this often"
    yield claim_at_most(sentence, FALSE_ALARM, alarm, unit="probability", **mark)
