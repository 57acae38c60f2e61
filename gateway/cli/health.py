"""Whether a running gateway works: `heatveil health`, for people, Docker and other watchers."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from ..faults import OperatorFault
from ..settings import config
from . import flags

LARGEST = 1_000_000  # bytes of an answer


def health(
    path: flags.File = None,
    url: Annotated[str | None, typer.Option(help="Of the page, instead of the file.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="Of the page, with --url.")] = None,
    patience_s: Annotated[
        float, typer.Option("--patience", min=0.1, max=60, help="Seconds to wait.")
    ] = 5.0,
    as_json: flags.AsJson = False,
) -> None:
    """Ask a running gateway whether all of it works; exit status 1 where not.

    Give --config, or --url of its page. What does not work is named, with the reason.
    """
    if (path is None) == (url is None):
        raise OperatorFault(
            f"{'neither' if path is None else 'both'} of --config and --url came; exactly one is "
            "needed, to say which gateway is meant. Give one"
        )
    probes = url
    if path is not None:
        page = config.load_deployment(path).page
        url, token_file = (
            f"http://{_format_reachable_host(page.host)}:{page.port}/",
            page.token_file,
        )
        if page.probed is not None:  # it answers while the page's port is full
            probes = f"http://{_format_reachable_host(page.probed[0])}:{page.probed[1]}/"
    check_http_url(str(url))
    token, shut_out = None, []
    if token_file is not None:
        from ..web.access import read_token  # which loads starlette

        token = read_token(token_file)
    try:
        found = _ask(str(probes or url).rstrip("/") + "/readyz", token, patience_s)
        if found.get("reads"):
            shut_out = _list_shut_out(str(url).rstrip("/"), token, patience_s)
    except (OSError, ValueError) as fault:
        reason, at = getattr(fault, "reason", fault), probes or url
        why = f"nobody answers at {at} ({getattr(reason, 'strerror', None) or reason})"
        if isinstance(fault, ValueError):
            why = f"{at} answers, but not as a gateway does ({fault})"
        if (code := getattr(fault, "code", None)) in (401, 403):
            way = "--token-file" if path is None else "name it as token_file under [page]"
            why = f"{at} wants {'another token' if token else 'a token'}: {way} (HTTP {code})"
        down = {"ready": False, "why": why, "parts": {}}
        typer.echo(json.dumps(down) if as_json else f"down: {why}")
        raise typer.Exit(1) from fault
    if as_json:
        typer.echo(json.dumps({**found, "shut_out": shut_out}))
        raise typer.Exit(0 if found["ready"] else 1)
    for name, part in found["parts"].items():
        state = "DOWN" if not part["ok"] else "note" if part["why"] else "ok  "
        typer.echo(f"{state}  {name}{': ' * bool(part['why'])}{part['why']}")
    for one in shut_out:
        typer.echo(f"note  {one['device']} is shut out: {one['why']}")
    why = "see above" if found["parts"] else found["why"]
    typer.echo("ready" if found["ready"] else f"not ready: {why}")
    if not found["ready"]:
        raise typer.Exit(1)


def check_http_url(url: str) -> None:
    """Check that this is an address of a page, and no file.

    Raises:
        OperatorFault: it is something else.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise OperatorFault(
            f"--url {url} is not the address of a gateway's page, which begins with http:// or "
            "https://. Copy it from the output of heatveil serve"
        )


def _ask(url: str, token: str | None, patience_s: float) -> dict[str, Any]:
    """Return what the gateway says of itself, whether it is ready or not.

    Raises:
        OSError: nobody answers; an HTTPError where a token is wanted.
        ValueError: somebody else does.
    """
    found = _fetch(url, token, patience_s)
    if not isinstance(found, dict) or not {"ready", "parts"} <= found.keys():
        raise ValueError("it does not say whether it is ready")
    return {"why": "", **found}


def _list_shut_out(url: str, token: str | None, patience_s: float) -> list[dict[str, Any]]:
    """Return the devices that are in quarantine, and why; a gateway works without them."""
    try:
        found = _fetch(f"{url}/api/v1/quarantine", token, patience_s)
        return [{"device": str(one["device"]), "why": str(one["why"])} for one in found["devices"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []  # one that is just starting has nothing to tell yet


def _fetch(url: str, token: str | None, patience_s: float) -> Any:
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
        if refused.code in (401, 403):
            raise
        if refused.code != 503:  # which is how a gateway says that it is not ready
            raise ValueError(f"HTTP {refused.code}, {refused.reason}") from refused
    return json.loads(body)


def _format_reachable_host(host: str) -> str:
    """Return where a page is asked that listens there; on every address, at this machine's own."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"[{host}]" if ":" in host else host
