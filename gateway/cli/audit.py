"""Every promise held against what the code does: `heatveil audit`."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..audit import report
from ..audit.attacks.deployment import Own
from ..audit.claim import WASTE, Claim, Effort, describe_failure, grade_failure, sort_failures
from ..audit.layers import LAYERS, Layer, list_tasks
from ..audit.layers import audit as run_audit
from ..faults import OperatorFault, suggest_name
from ..mechanisms import MECHANISMS, find_mechanism
from ..output import check_writable, make_folder, make_text_writer, show_stages, write_all
from ..output import make_json_writer as written_as_json
from . import flags

FIXED_SEED = 1


def audit(
    config: Annotated[
        Path | None,
        typer.Option(help="A deployment file: look at its room, and not at the audit's."),
    ] = None,
    mechanism: Annotated[str | None, typer.Option(help="Only this mechanism; all else.")] = None,
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="All of it, which takes longer, or what is quick."),
    ] = False,
    layers: Annotated[
        list[str] | None,
        typer.Option("--layer", metavar="NAME", help="Only this layer; may be repeated."),
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where the report is written.")] = Path("audit"),
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of what is drawn for the audit; else always one.")
    ] = None,
    first: Annotated[
        bool, typer.Option("--first", help="End a layer at the first claim that fails.")
    ] = False,
    as_json: flags.AsJson = False,
) -> None:
    """Hold every promise of every mechanism against what the code really does."""
    own = None if config is None else _load_own_deployment(config, mechanism)
    effort = Effort(full, FIXED_SEED if seed is None else seed, first=first, own=own)
    mechanism = own.mechanism if own else mechanism
    subjects = MECHANISMS if mechanism is None else (find_mechanism(mechanism),)
    chosen = [_find_layer(name) for name in dict.fromkeys(layers or ())] or list(LAYERS)
    for layer in chosen if layers else ():
        if not list_tasks(subjects, [layer], own):
            raise OperatorFault(
                f"the layer {layer.name} has nothing to look at in "
                f"{own.name if own else subjects[0].name}: it is about another kind of promise, "
                "and nothing would be shown. Leave --layer out, and all that fit are run"
            )
    make_folder(folder)
    page, numbers = (folder / f"audit.{end}" for end in ("md", "json"))
    check_writable([page, numbers])
    _check_ours({page: report.TITLE, numbers: '"audit": "heatveil"'})
    began = time.monotonic()
    with show_stages() as stage:
        claims = run_audit(subjects, chosen, effort, stage)
    seconds = time.monotonic() - began
    rooms = [name for one in subjects if one.subject for name, _ in one.subject.list_queries()]
    rooms = [own.name] if own else rooms
    found = report.to_object(claims, effort, seconds, rooms)
    text = report.format_page(claims, effort, seconds, rooms)
    write_all({page: make_text_writer(text), numbers: written_as_json(found)})
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        for line in _format_outcome_lines(claims, seconds, page):
            typer.echo(line)
    if failed := sort_failures(claims):
        raise OperatorFault(_describe_gravest_failure(failed, page))


def _load_own_deployment(path: Path, mechanism: str | None) -> Own:
    """Return a deployment, with the limits of its devices or those that they would be given.

    Raises:
        OperatorFault: it cannot be served, or is another mechanism's.
    """
    from ..devices.enrol import enrol, limitsfile
    from ..mechanisms import find_for_deployment, find_serving
    from ..settings import config

    deployment = config.load_deployment(path)
    asked, mechanism_of_file = config.make_query(deployment), find_for_deployment(deployment)
    if mechanism not in (None, deployment.rounds.mechanism):
        raise OperatorFault(
            f"--mechanism is {mechanism} and {path} is a deployment of "
            f"{deployment.rounds.mechanism}; one of them alone can be meant. Leave --mechanism out"
        )
    held = {find_serving(mechanism_of_file.name).limits(asked, deployment.rounds.every_s)}
    devices = deployment.site.devices
    if devices.exists():
        known = limitsfile.load_limits(devices, enrol.load_devices(devices, deployment.site.name))
        held = {given.limits for given in known.values()} or held
    return Own(
        str(path), deployment.rounds.mechanism, asked, tuple(sorted(held)), deployment.room.plan
    )


def _find_layer(name: str) -> Layer:
    known = {layer.name: layer for layer in LAYERS}
    if name not in known:
        raise OperatorFault(
            f"{name} is not a layer of the audit, so nothing was looked at; "
            f"{suggest_name(name, known)}"
        )
    return known[name]


def _check_ours(marks: Mapping[Path, str]) -> None:
    """Refuse to write over a file that no audit wrote: ours bear a mark at their start."""
    for path, mark in marks.items():
        if path.exists() and mark.encode() not in path.read_bytes()[:200]:
            raise OperatorFault(
                f"{path} exists and no audit wrote it; the report goes only where nothing or "
                "an older report is, or something of yours would be lost. Give --folder another "
                "folder"
            )


def _format_outcome_lines(claims: Sequence[Claim], seconds: float, page: Path) -> Iterator[str]:
    """Yield what is printed: a line for each layer, and the outcome."""
    for layer in dict.fromkeys(claim.layer for claim in claims):
        ours = [claim for claim in claims if claim.layer == layer]
        held = sum(claim.holds for claim in ours)
        more = f", {len(ours) - held} fail" if held < len(ours) else ""
        took = sum(claim.seconds for claim in ours)
        yield f"{layer:16} {held:4d} of {len(ours):4d} claims hold   {took:6.1f} s{more}"
    yield f"{report.describe_outcome(claims)} {seconds:.1f} s; the report: {page}"


def _describe_gravest_failure(failed: Sequence[Claim], page: Path) -> str:
    """Return what the gravest of these claims comes to, what it should be and what to do."""
    claim = failed[0]
    of = f"{claim.mechanism}, {claim.layer}" if claim.mechanism else claim.layer
    detail = f" ({claim.detail})" if claim.detail else ""
    more = f", the gravest of {len(failed)} that fail" if len(failed) > 1 else ""
    why, do = "what is published may be less private than is said", "Publish nothing more and read"
    if grade_failure(claim) == WASTE:  # the gravest, so nobody is given away
        why, do = "nobody is given away, but maps are worse for nothing", "Read"
    return " ".join(
        f"{describe_failure(claim)}; promised was ({of}{more}): {claim.sentence}{detail}; {why}. "
        f"{do} {page}".split()
    )
