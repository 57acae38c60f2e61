"""A release over the air: `heatveil update`. Its owner signs it, anybody may send it."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from ... import logs
from ...devices import bundle
from ...devices.enrol.enrol import load_devices
from ...devices.kit import modules
from ...devices.owner import releases
from ...devices.owner.releases import ReleaseProgress, SignedRelease
from ...faults import OperatorFault
from ...output import check_writable, format_duration
from ...settings import config
from .. import flags
from .owner import format_owners


def update(
    context: typer.Context,
    path: flags.Config,
    names: Annotated[
        list[str] | None, typer.Option("--device", help="Of these devices alone; may be repeated.")
    ] = None,
    updates: Annotated[
        Path | None, typer.Option(help="The owner's file of releases, which signs this one.")
    ] = None,
    mpy: Annotated[
        bool, typer.Option("--mpy", help="Compiled modules, for boards that load this version.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the signed release here, and send nothing.")
    ] = None,
    signed: Annotated[
        Path | None, typer.Option("--send", help="Send a release that was signed elsewhere.")
    ] = None,
    patience_s: Annotated[
        float,
        typer.Option("--patience", min=0, max=86400, help="Seconds to wait for the devices."),
    ] = 2400.0,
) -> None:
    """Bring boards this heatveil's modules over the air; each tries them, and goes back itself.

    Only a refusal ends it with status 1: a silent board takes the release when it comes back.
    """
    logs.log_to_stderr(logging.WARNING)
    if bool(updates) == bool(signed):
        raise OperatorFault(
            "--updates names the owner's file, which signs a release, and --send one that is "
            "signed already; boards believe nothing else. Give one of them, and not both"
        )
    if signed is not None and (out is not None or mpy):
        raise OperatorFault(
            "--send takes a release that is signed already, while --out and --mpy belong to the "
            "signing of one, so they would be silently ignored. Leave them out, or sign another "
            "with --updates"
        )
    if out is not None and flags.is_given(context, "patience_s"):
        raise OperatorFault(
            "--out writes a release and waits for no device, so --patience would be silently "
            "ignored. Leave it out; give it beside --send"
        )
    deployment = config.load_deployment(path)
    site = deployment.site.name
    if signed is not None:
        found = releases.load_release(
            signed, site, load_devices(deployment.site.devices, site).by_name
        )
        found = releases.select_devices(found, names or ())
    elif updates is not None:
        if out is not None:  # before a number is given away
            check_writable([out], [updates, path])
        files = bundle.pick_release_modules(deployment.rounds.mechanism)
        files = bundle.compile_sources(files) if mpy else bundle.shrink_sources(files)
        found = releases.sign_release(
            updates, site, files, modules.find_mpy_version(files), names or ()
        )
        size = sum(map(len, files.values()))
        typer.echo(f"release {found.number}: {len(files)} files of {size} bytes, signed")
        if out is not None:
            releases.save_release(out, found)
            typer.echo(
                f"{out} goes to the broker with: heatveil update --config {path} --send {out}"
            )
            return
    typer.echo(
        f"sending to {format_owners(found.manifests)}; waits for {format_duration(patience_s)} at "
        "most for what they say (Ctrl-C ends that alone: the broker keeps what was sent)"
    )
    seen = releases.send_release(deployment.mqtt, found, patience_s)
    for line in _describe(found, seen):
        typer.echo(line)
    if seen.refused:
        raise OperatorFault(
            f"{format_owners(seen.refused)} did not take release {found.number}; what ran there "
            "runs on, with its keys, its budget and its frames. Mend what they say, and sign "
            "another"
        )


def _describe(signed: SignedRelease, seen: ReleaseProgress) -> list[str]:
    lines = [f"confirmed by {len(seen.running)} of {len(signed.manifests)} devices"]
    lines += [f"refused by {name}: {why}" for name, why in seen.refused.items()]
    left = [name for name in signed.manifests if name not in seen.running | set(seen.refused)]
    if coming := [name for name in left if name in seen.coming]:
        lines.append(f"on its way: {format_owners(coming)}")
    if silent := [name for name in left if name not in seen.coming]:
        lines.append(
            f"silent: {format_owners(silent)}; the broker keeps the release and hands it over "
            "when they come back. Send it again to hear of it"
        )
        lines += [
            f"last said by {name}: {why}" for name in silent if (why := seen.last_words.get(name))
        ]
    return lines
