"""What outsiders rely on, asked for through the doors that they use, and written down.

    python -m tests.contract.freeze            write all of `frozen/` anew; some minutes
    python -m tests.contract.freeze play api   these files alone

A change of what is frozen is a change for others: it stands in the CHANGELOG, and where noise or a
promise is concerned under Privacy there. Nothing from an inner module is imported here, so that
modules can move without a word of this.
"""

import contextlib
import importlib
import inspect
import io
import itertools
import json
import os
import re
import shlex
import signal
import sqlite3
import sys
import tempfile
import threading
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer.main

from gateway import cli
from gateway.cli import load_program
from tests import processes, sites

FROZEN = Path(__file__).parent / "frozen"
NEAR = 1e-8  # what another processor may make of a float
SHORT = 72  # parts of a frozen file that share a line with others, in letters
GONE = "(gone)"


class Said(NamedTuple):
    """What the command said, and how it left."""

    status: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """Whether there is one line on standard error, the usage, something else or nothing."""
        if re.fullmatch("heatveil: [^\n]+\n", self.err):
            return "one line"
        return "usage" if "Usage:" in self.err else "more" if self.err else ""


def heatveil(words: str, folder: Path) -> Said:
    """Return what the command says that is run in this folder, and how it leaves."""
    out, err, around = io.StringIO(), io.StringIO(), dict(os.environ)
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main(shlex.split(words))
        except SystemExit as left:
            return Said(int(left.code or 0), out.getvalue(), err.getvalue())
        finally:  # --log is for whatever the command starts
            os.environ.clear()
            os.environ.update(around)
    raise AssertionError(f"heatveil {words} did not leave with a status")


def played(words: str, folder: Path) -> dict[str, Any]:
    """Return what was on the wire, the map and the scores of one run; times are left out."""
    files = "--out map.npz --scores scores.json --published public.json"
    said, drawn = heatveil(f"play {words} {files}", folder), folder / "map.npz"
    if (said.status, said.err) != (0, ""):
        raise AssertionError(f"{words} left with {said}")
    scores = json.loads((folder / "scores.json").read_text())
    public = json.loads((folder / "public.json").read_text())
    return {
        "words": words,
        "public": public | {"rounds": {str(one["number"]): one for one in public["rounds"]}},
        "scores": {key: one for key, one in scores.items() if not key.startswith("seconds_")},
        "map": _arrays(drawn) if drawn.exists() else None,
    }


def _arrays(path: Path) -> dict[str, Any]:
    """Return the map's mass, its promise, and what other arrays stand beside them."""
    with np.load(path) as archive:
        kept = {name: f"{one.dtype.kind} {one.shape}" for name, one in archive.items()}
        promise = json.loads(str(archive["guarantee"]))
        return {"arrays": kept, "guarantee": promise, "mass": archive["mass"].tolist()}


def site(folder: Path) -> int:
    """Make an enrolled site in a folder, and return its page's port."""
    page = processes.find_free_port()
    (folder / "site.toml").write_text(sites.small("seen", processes.find_free_port(), page))
    said = heatveil("enrol --config site.toml", folder)
    if said.status:
        raise AssertionError(said)
    return page


def stored(folder: Path) -> list[str]:
    """Return the statements that make the tables of a new store; shutting a device out makes it.

    In the folder of a site without a store.
    """
    said = heatveil("device shut node-0 --config site.toml --why none", folder)
    if said.status:
        raise AssertionError(said)
    with contextlib.closing(sqlite3.connect(folder / "heatveil.sqlite")) as store:
        rows = store.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        found = [" ".join(sql.split()) for (sql,) in rows]
        return [*found, *map(str, store.execute("SELECT schema, site FROM about"))]


def served(folder: Path, port: int) -> tuple[list[Any], Said]:
    """Return what a gateway's page says of its API, and how the gateway ended when asked to."""
    found: list[dict[str, Any]] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.01):
            with contextlib.suppress(OSError):
                where = f"http://127.0.0.1:{port}/api/v1/openapi.json"
                with urllib.request.urlopen(where, timeout=5) as answer:
                    found.append(json.load(answer))
                return os.kill(os.getpid(), signal.SIGTERM)

    watcher = threading.Thread(target=look)
    watcher.start()
    said = heatveil("serve --config site.toml", folder)
    over.set()
    watcher.join()
    return [_bare(one) for one in found], said


def _bare(described: Any) -> Any:
    """Return a description without its prose."""
    if isinstance(described, list):
        return [_bare(one) for one in described]
    if not isinstance(described, dict):
        return described
    prose = ("description", "summary", "version")
    kept = {key: one for key, one in described.items() if key not in prose or _inner(one)}
    return {key: _bare(one) for key, one in kept.items()}


def _inner(one: Any) -> bool:
    return not isinstance(one, str)  # a field that is called so, and no prose


def commands() -> dict[str, Any]:
    """Return every command with what it takes: how that is written, and what holds without it."""
    return dict(_commands("heatveil", load_program()))


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    taken = command.get_params(typer.Context(command))
    said = [_parameter(one) for one in taken if one.name != "help"]
    yield (
        path,
        sorted(said, key=lambda one: (one.startswith("option"), one * one.startswith("option"))),
    )
    for name, one in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(f"{path} {name}", one)


def _parameter(one: Any) -> str:
    written = "/".join([*one.opts, *one.secondary_opts])
    given = "alone" if getattr(one, "is_flag", False) else "with a value"
    many = ", many" if one.nargs != 1 or getattr(one, "multiple", False) else ""
    usual = "needed" if one.required else f"else {one.default}"
    return f"{one.param_type_name} {written}: {given}{many}, {usual}"


def called(name: str) -> str:
    """Return how a name is called that outside checks use: its arguments and defaults."""
    module, _, own = name.rpartition(".")
    one = getattr(importlib.import_module(module), own)
    if not callable(one):
        return type(one).__name__
    named = inspect.signature(one).parameters.values()
    return str(inspect.Signature([param.replace(annotation=param.empty) for param in named]))


def layers(folder: Path) -> list[str]:
    """Return the audit's layers, which it lists for whoever names none of them."""
    listed = heatveil("audit --layer nothing", folder).err.partition("known here are ")[2]
    return listed.strip().replace(" and ", ", ").split(", ")


def claimed(layer: str, folder: Path) -> list[dict[str, list[str]]]:
    """Return what the quick audit claims in a layer: which sentences, each of all these."""
    said = heatveil(f"audit --quick --json --layer {layer} --folder .", folder)
    if "has nothing to look at" in said.err:  # without a deployment
        return []
    if said.status:
        raise AssertionError(said)
    sentences, subjects = defaultdict(list), defaultdict(list)
    for one in json.loads(said.out)["claims"]:
        if one["layer"] == layer:
            subject, _, sentence = one["sentence"].rpartition(": ")
            sentences[f"{one['mechanism']}: {subject}"].append(sentence)
    for subject, claims in sentences.items():
        subjects[tuple(claims)].append(subject)
    return [{"claims": [*claims], "of": of} for claims, of in subjects.items()]


def status(words: str, folder: Path) -> list[Any]:
    """Return with which status an argument list leaves, and how it complains."""
    said = heatveil(words, folder)
    return [said.status, said.complaint]


def kinds(runs: dict[str, Any]) -> dict[str, str]:
    """Return beside which run each is written: that of its mechanism with the fewest words."""
    shortest = sorted(runs, key=lambda name: len(runs[name]["words"]), reverse=True)
    first = {runs[name]["words"].split()[0]: name for name in shortest}
    return {name: first[one["words"].split()[0]] for name, one in runs.items()}


def thin(found: Any, beside: Any) -> Any:
    """Return what of this differs from the other; what is not there any more is GONE."""
    if not (isinstance(found, dict) and isinstance(beside, dict)):
        return found
    differs = {key: one for key, one in found.items() if beside.get(key, GONE) != one}
    return {key: thin(one, beside.get(key)) for key, one in differs.items()} | {
        key: GONE for key in beside if key not in found
    }


def whole(thinned: Any, beside: Any) -> Any:
    """Return of what `thin` has returned this: `whole(thin(a, b), b) == a`."""
    if not (isinstance(thinned, dict) and isinstance(beside, dict)):
        return thinned
    kept = {key: whole(one, beside.get(key)) for key, one in thinned.items() if one != GONE}
    return {key: one for key, one in beside.items() if key not in thinned} | kept


def differences(found: Any, frozen: Any, where: str = "") -> Iterator[str]:
    """Yield where something is not what was frozen; floats may differ in their last digits."""
    if isinstance(found, dict) and isinstance(frozen, dict):
        for key in sorted(found.keys() | frozen.keys()):
            if key not in found or key not in frozen:
                yield f"{where}/{key} is {'new' if key in found else 'gone'}"
            else:
                yield from differences(found[key], frozen[key], f"{where}/{key}")
    elif isinstance(found, list) and isinstance(frozen, list) and len(found) == len(frozen):
        for place, pair in enumerate(zip(found, frozen, strict=True)):
            yield from differences(*pair, f"{where}/{place}")
    elif isinstance(found, float) and isinstance(frozen, float):
        if not abs(found - frozen) <= NEAR * max(1.0, abs(frozen)):
            yield f"{where} is {found!r} and was {frozen!r}"
    elif type(found) is not type(frozen) or found != frozen:
        yield f"{where} is {found!r} and was {frozen!r}"


def frozen(name: str) -> Any:
    """Return what was frozen under a name."""
    found = json.loads((FROZEN / f"{name}.json").read_text("utf-8"))
    if name != "play":
        return found
    return {
        one: found[one] if one == of else whole(found[one], found[of])
        for one, of in kinds(found).items()
    }


def play(folder: Path) -> dict[str, Any]:
    """Return every run, what it shares with the plainest run of its mechanism left out."""
    runs = {name: played(one["words"], folder) for name, one in frozen("play").items()}
    return {
        one: runs[one] if one == of else thin(runs[one], runs[of])
        for one, of in kinds(runs).items()
    }


# Each is frozen in the folder of one site, in this order: the store is made after all that asks
# what there is without one. What `names`, `statuses` and `play` ask for stands in their own files:
# to freeze one thing more, write it there (null, or for play its words alone), and freeze.
FREEZES: dict[str, Callable[[Path, int], Any]] = {
    "commands": lambda at, port: commands(),
    "names": lambda at, port: {name: called(name) for name in frozen("names")},
    "statuses": lambda at, port: {words: status(words, at) for words in frozen("statuses")},
    "api": lambda at, port: served(at, port)[0][0],
    "store": lambda at, port: stored(at),
    "play": lambda at, port: play(at),
    "audit": lambda at, port: {layer: claimed(layer, at) for layer in layers(at)},
}


def laid_out(value: Any, room: int = 160, indent: str = "") -> str:
    """Return JSON in few lines: what fits stands on one, and so does a row of numbers.

    Short parts that follow each other share a line.
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if isinstance(value, list) and all(isinstance(one, int | float | None) for one in value):
        return text
    if not isinstance(value, list | dict) or len(indent) + len(text) <= room:
        return text
    inner = indent + " "
    if isinstance(value, list):
        parts, ends = [laid_out(one, room, inner) for one in value], "[]"
    else:
        keys = [(json.dumps(key, ensure_ascii=False), value[key]) for key in sorted(value)]
        parts, ends = [f"{key}: {laid_out(one, room, inner)}" for key, one in keys], "{}"
    lines = [parts[0]]
    for before, part in itertools.pairwise(parts):
        both = len(inner) + len(lines[-1]) + len(part) + 2
        if max(len(before), len(part)) <= SHORT and both <= room:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    return ends[0] + f"\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{ends[1]}"


def main(wanted: list[str]) -> None:
    """Freeze these files, or all of them."""
    os.environ.setdefault("HEATVEIL_PAGE__HEALTH_PORT", "0")  # as tests/conftest.py has it
    with tempfile.TemporaryDirectory() as made:
        folder, port = Path(made), site(Path(made))
        for name in [name for name in FREEZES if name in (wanted or FREEZES)]:
            found = FREEZES[name](folder, port)
            (FROZEN / f"{name}.json").write_text(laid_out(found) + "\n", "utf-8")
            print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
