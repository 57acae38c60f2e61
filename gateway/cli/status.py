"""What a deployment has spent, and whether its gateway works: `heatveil ledger` and `health`.

And what it is charged where its store was lost and an older one put in its place: `--accept`.
"""

import json
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from recovery.maps.guarantee import ratio_text

from ..devices.enrol.enrol import load_devices
from ..faults import OperatorFault
from ..mechanisms import first_round, serving
from ..service import steps
from ..service.ledger import RHO, Ledger, Unit, budget_of, is_distributed, price, terms, unit_of
from ..settings import config
from ..settings.deployment import Deployment
from ..store.opening import alone
from ..store.places import place_of
from ..store.store import Store
from ..web.access import read as read_token
from .store import reading

# Whether a running gateway works: `heatveil health`, for people, Docker and other watchers.

LARGEST = 1_000_000  # bytes of an answer


def health(
    path: Path | None,
    url: str | None,
    token_file: Path | None,
    patience_s: float,
    as_json: bool,
    say: Callable[[str], None],
) -> bool:
    """Say how each part of a gateway is; return whether all of them work.

    Args:
        path: the deployment file, or None where the page's address is given as `url`.
        as_json: what it says of itself as it says it, for scripts; of one that does not answer,
            the same with no parts.

    Raises:
        OperatorFault: neither or both were given, or the token cannot be read.
    """
    if (path is None) == (url is None):
        raise OperatorFault(
            f"{'neither' if path is None else 'both'} of --config and --url came; one of them "
            "says which gateway is meant. Give one"
        )
    probes = url
    if path is not None:
        page = config.load(path).page
        url, token_file = f"http://{_reachable(page.host)}:{page.port}/", page.token_file
        if page.probed is not None:  # it answers while the page's port is full
            probes = f"http://{_reachable(page.probed[0])}:{page.probed[1]}/"
    assert_http(str(url))
    token, shut_out = read_token(token_file), []
    try:
        found = _asked(str(probes or url).rstrip("/") + "/readyz", token, patience_s)
        if found.get("reads"):
            shut_out = _shut_out(str(url).rstrip("/"), token, patience_s)
    except (OSError, ValueError) as fault:
        reason = getattr(fault, "reason", fault)
        why = f"nobody answers at {probes or url} ({getattr(reason, 'strerror', None) or reason})"
        down = {"ready": False, "why": why, "parts": {}}
        say(json.dumps(down) if as_json else f"down: {why}")
        return False
    if as_json:
        say(json.dumps({**found, "shut_out": shut_out}))
        return bool(found["ready"])
    for name, part in found["parts"].items():
        say(f"{'ok  ' if part['ok'] else 'DOWN'}  {name}{': ' * bool(part['why'])}{part['why']}")
    for one in shut_out:
        say(f"note  {one['device']} is shut out: {one['why']}")
    say("ready" if found["ready"] else f"not ready: {found['why'] or 'see above'}")
    return bool(found["ready"])


def assert_http(url: str) -> None:
    """Check that this is an address of a page, and no file.

    Raises:
        OperatorFault: it is something else.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise OperatorFault(
            f"--url {url} is no address of a page, which begins with http:// or https://; "
            "nothing else can be asked. Copy it from what heatveil serve said"
        )


def _asked(url: str, token: str | None, patience_s: float) -> dict[str, Any]:
    """Return what the gateway says of itself, whether it is ready or not.

    Raises:
        OSError: nobody answers.
        ValueError: somebody else does.
    """
    found = _got(url, token, patience_s)
    if not isinstance(found, dict) or not {"ready", "parts"} <= found.keys():
        raise ValueError("what answers there is no gateway")
    return {"why": "", **found}


def _shut_out(url: str, token: str | None, patience_s: float) -> list[dict[str, Any]]:
    """Return the devices that are in quarantine, and why; a gateway works without them."""
    try:
        found = _got(f"{url}/api/v1/quarantine", token, patience_s)
        return [{"device": str(one["device"]), "why": str(one["why"])} for one in found["devices"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []  # one that is just starting has nothing to tell yet


def _got(url: str, token: str | None, patience_s: float) -> Any:
    """Return what is answered, as JSON."""
    asked = urllib.request.Request(url)
    if token:
        asked.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(asked, timeout=patience_s) as answer:
            body = answer.read(LARGEST)
    except urllib.error.HTTPError as refused:
        with refused:
            body = refused.read(LARGEST)
        if refused.code != 503:  # which is how a gateway says that it is not ready
            why = "it wants another token" if refused.code in (401, 403) else refused.reason
            raise ValueError(f"HTTP {refused.code}, {why}") from refused
    return json.loads(body)


def _reachable(host: str) -> str:
    """Return where a page is asked that listens there; on every address, at this machine's own."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"[{host}]" if ":" in host else host


# What a deployment has spent of its privacy: `heatveil ledger`; exact to the fraction with --json.

ALL = 1_000_000_000


def ledger(path: Path, limit: int, as_json: bool, say: Callable[[str], None]) -> None:
    """Print what was promised, what is spent and what is left.

    Args:
        limit: rounds whose charges are listed, the newest; in JSON all of them.

    Raises:
        OperatorFault: the deployment or its store cannot be read.
    """
    deployment = config.load(path)
    plan = first_round(deployment, config.query(deployment))
    rho = price(plan.guarantee)
    budget = budget_of(plan.guarantee, deployment.privacy.readings)
    with reading(deployment) as reader:
        standing: Ledger = reader.ledger(budget)
        charges = reader.charges(ALL)
        promised, least = reader.promise()
    budget = min(budget, least or budget)  # what was promised once is not raised by a file
    standing = Ledger(budget, standing.charges)
    if as_json:
        told = _exactly(deployment, standing, rho, plan, charges)
        say(json.dumps(told | {"promised": None if promised is None else json.loads(promised)}))
        return
    for line in _in_words(deployment, standing, rho, plan):
        say(line)
    for line in _charges(charges, limit, unit_of(plan.guarantee)):
        say(line)


def accept(path: Path, number: int, say: Callable[[str], None]) -> None:
    """Charge the rounds that the ledger lacks, up to the one that was found; the gateway rests.

    Raises:
        OperatorFault: nothing was found, or another round, or a gateway runs.
    """
    deployment = config.load(path)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    plan = first_round(deployment, config.query(deployment))
    rho, promised, nothing = price(plan.guarantee), terms(plan.guarantee), Fraction(0)
    with reading(deployment):
        pass  # there must be a store
    with alone(place_of(deployment)), closing(Store.of(deployment)) as store:
        lack = store.lack()
        found = max(lack.found) if lack else None
        if lack is None or number != found:
            raise OperatorFault(
                f"--accept {number} was asked for, and what was found that the ledger lacks ends "
                f"with {f'round {found}' if found else 'nothing'}: only that is charged, for a "
                "charge is never taken back. Write the number that the gateway named when it ended"
            )
        lost = [
            # Never less than what an answer costs now: whoever forges a Round may understate it.
            one._replace(
                rho=max(one.rho, rho) if terms(one.plan.guarantee) == promised else nothing
            )
            for one in steps.lost(lack, devices)
        ]
        budget = budget_of(plan.guarantee, deployment.privacy.readings)
        store.charge_lost(lost, promised, budget)
    unit, sum_of = unit_of(plan.guarantee), sum((one.rho for one in lost), nothing)
    say(
        f"Charged, for {len(lost)} rounds that were lost, up to round {number}: "
        f"{unit.said(sum_of, 6)}. heatveil serve goes on with the next."
    )
    if others := sum(not one.rho for one in lost):
        say(
            f"Of these {others} were of another promise. What they cost adds to this in truth, "
            "and in no ledger: tell the people in the room."
        )


def _epsilon(deployment: Deployment, standing: Ledger, plan: Any) -> float:
    at, promised = (
        serving(deployment.rounds.mechanism).ledger_delta(plan),
        float(Fraction(*plan.guarantee.epsilon)),
    )
    whole = budget_of(plan.guarantee, deployment.privacy.readings)
    return standing.epsilon(at, promised, whole)


def _delta(guarantee: Any) -> str | None:
    return None if guarantee.delta is None else ratio_text(guarantee.delta)


def _in_words(deployment: Deployment, standing: Ledger, rho: Fraction, plan: Any) -> Sequence[str]:
    guarantee = plan.guarantee
    left = int(standing.left / rho)
    share = float(standing.spent / standing.budget)
    end = "Nothing more is asked." if not left else f"{left} more can be paid for."
    unit = unit_of(guarantee)
    if is_distributed(guarantee):
        each = "all rounds"
        end = "Further rounds have the rest." if standing.left else "Nothing more is asked."
    else:
        answers = f"an answer, of each device; {_answers(left)} left"
        each = f"{float(unit.of(rho)):.6g} {answers if unit.is_epsilon else 'a round'}"
    return [
        f"Site {deployment.site.name}: {share:.1%} of the promise is spent. {end}",
        f"spent    {unit.said(standing.spent, 6)} of {float(unit.of(standing.budget)):.6g}, "
        f"{'shared by' if is_distributed(guarantee) else 'and'} {each}",
        f"so far   epsilon {_epsilon(deployment, standing, plan):.4g} of "
        f"{ratio_text(guarantee.epsilon)}"
        + (f" at delta {delta}" if (delta := _delta(guarantee)) else ", which adds up; no delta"),
        f"promise  {guarantee.neighbours}; trust: {guarantee.trust}",
    ]


def _answers(count: int) -> str:
    return "1 answer is" if count == 1 else f"{count} answers are"


def _charges(charges: Sequence[Any], limit: int, unit: Unit) -> Sequence[str]:
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
        twice = f", and {len(again)} devices that answered it again" if again else ""
        lines.append(
            f"  round {number:<6} {asked:%Y-%m-%d %H:%M} UTC  {unit.said(fleet, 6)}{twice}"
        )
    if len(rounds) > limit:
        lines.append(f"  and {len(rounds) - limit} rounds before; --limit shows more")
    return lines


def _exactly(
    deployment: Deployment,
    standing: Ledger,
    rho: Fraction,
    plan: Any,
    charges: Sequence[Any],
) -> dict[str, Any]:
    """Return everything as fractions, num/den, that add up without loss.

    In rho, whatever was promised; what people are told in stands beside it as `told_in`, with
    how much of that one rho is.
    """
    guarantee, unit = plan.guarantee, unit_of(plan.guarantee)
    return {
        "site": deployment.site.name,
        "budget": str(standing.budget),
        "spent": str(standing.spent),
        "left": str(standing.left),
        "round": str(rho),
        "unit": RHO.name,
        "told_in": unit.name,
        "told_of_one_rho": str(unit.of_one),
        "rounds_left": int(standing.left / rho),
        "epsilon": ratio_text(guarantee.epsilon),
        "delta": _delta(guarantee),
        "epsilon_spent": _epsilon(deployment, standing, plan),
        "charges": [
            {"round": one.number, "device": one.device, "rho": str(one.rho), "at_s": one.at_s}
            for one in charges
        ],
    }
