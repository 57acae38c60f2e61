"""The documents say what the program does: their code runs, their commands and links are there."""

import json
import os
import re
import runpy
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import jupytext
import matplotlib as mpl
import pytest
from matplotlib.testing.compare import compare_images

import heatveil
from gateway import cli
from gateway.audit.layers import LAYERS
from gateway.cli import COMMANDS, load_program
from gateway.mechanisms import TABLE
from gateway.settings import config
from gateway.web.operations import OPERATIONS
from heatveil.reference import pages
from tests import processes
from tests.processes import find_free_port

# The code that the documents show runs, on every interpreter that they name.

ROOT = Path(__file__).resolve().parents[1]


def code(document: str) -> str:
    """Return the Python of a document, all blocks in a row as a reader would type them."""
    return "\n".join(re.findall(r"```python\n(.*?)\n *```", (ROOT / document).read_text(), re.S))


def test_the_device_s_page_runs_on_every_interpreter(interpreter) -> None:
    """Someone with a board in one hand types this first."""
    if interpreter.name == "wasm":  # it has no entropy of its own, and the page says so
        with pytest.raises(RuntimeError, match=r"os\.urandom"):
            interpreter.run(code("edge/README.md"))
        return
    printed = interpreter.run(code("edge/README.md")).splitlines()

    assert printed == [
        "37 bytes to publish on heatveil/1/lab/attic-3/data",
        "125000000 nano-rho left; ready",
        "Reading(sensor=4, values=(777,))",
    ]


@pytest.mark.long
def test_the_front_page_s_script_runs(tmp_path: Path) -> None:
    """A researcher's own estimator beside the others, with its picture."""
    script = textwrap.dedent(code("README.md"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    ran = processes.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
    assert [line.split(":")[0].split()[-1] for line in ran.stdout.splitlines()] == [
        "auto",
        "lasso",
        "ridge",
    ] * 2
    assert (tmp_path / "study.png").is_file()


@pytest.mark.parametrize("document", sorted(p.relative_to(ROOT) for p in ROOT.glob("*.md")))
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    """A door that opens on nothing is worse than none."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / document).read_text())

    assert [link for link in links if not (ROOT / document.parent / link).exists()] == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("page", "before", "words", "least", "pictures"),
    [
        (
            "README.md",
            r"`make demo ARGS=\"--seed 7\"`",
            ["demo", "--seed", "7"],
            9,
            ("veil.png", "demo/veil.png"),
        ),
        (
            "README.md",
            r"## A room of your own.*?```.*?```",
            ["simulate", "room.toml", "--seed", "7", "--plot", "day.png"],
            4,
            ("office.png", "day.png"),
        ),
        ("PRIVACY.md", "as `heatveil calibrate", ["calibrate", "gateway/sample.toml"], 9, ()),
    ],
)
def test_what_a_page_quotes_is_what_the_command_prints(
    tmp_path: Path, page: str, before: str, words: list[str], least: int, pictures: tuple[str, ...]
) -> None:
    """A figure that the command no longer prints is a lie, and so is a picture."""
    heatveil = str(Path(sys.executable).with_name("heatveil"))
    sample = processes.run([heatveil, "simulate", "--sample"], capture_output=True)
    (tmp_path / "room.toml").write_bytes(sample.stdout)
    (tmp_path / "gateway").symlink_to(ROOT / "gateway")
    ran = processes.run(
        [heatveil, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    printed = " ".join(ran.stdout.split())
    (block,) = re.findall(rf"{before}.*?```\n(.*?)```", (ROOT / page).read_text(), re.S)
    lines = [" ".join(line.split()) for line in block.splitlines() if line.strip()]

    assert len(lines) >= least
    if page == "README.md":  # nothing is left out there
        lines = [" ".join(lines)]
    assert [line for line in lines if line not in printed] == []
    if pictures:
        shown, drawn = pictures
        assert compare_picture(shown, tmp_path / drawn) is None


def compare_picture(shown: str, drawn: Path) -> str | None:
    """Return by how much a picture of the front page is not what was drawn; None where it is."""
    return compare_images(str(ROOT / "notebooks" / shown), str(drawn), tol=3)


@pytest.mark.long
def test_the_picture_of_people_is_what_its_command_draws(tmp_path: Path) -> None:
    """Its words are the program's, which change."""
    page = (ROOT / "README.md").read_text()
    (words,) = re.findall(r"^heatveil (play .* people\.png)$", page, re.M)
    heatveil = Path(sys.executable).with_name("heatveil")
    ran = processes.run([heatveil, *words.split()], cwd=tmp_path, capture_output=True)

    assert ran.returncode == 0, ran.stderr
    assert compare_picture("people.png", tmp_path / "people.png") is None


@pytest.mark.long
def test_the_operators_page_can_be_typed_as_it_stands(
    need: Callable[[str], str], tmp_path: Path
) -> None:
    """From a deployment file to a map, over TLS: every command of the page, in its order.

    Whatever it leaves out, an operator would have to find out for himself.
    """
    page = (ROOT / "gateway" / "README.md").read_text()
    commands = re.findall(r"^((?:heatveil|mosquitto) .*?)\s*(?:#.*)?$", page, re.M)[:8]
    ports = find_free_port(), find_free_port()
    environment = os.environ | {
        "HEATVEIL_MQTT__PORT": str(ports[0]),
        "HEATVEIL_PAGE__PORT": str(ports[1]),
        "HEATVEIL_PAGE__HEALTH_PORT": "0",
        "HEATVEIL_PRIVACY__READINGS": "1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    mosquitto = need("mosquitto")
    started: list[subprocess.Popen[str]] = []
    with ExitStack() as stack:
        for command in commands:
            words = ["sh", "-c", "exec " + command.replace("mosquitto", mosquitto, 1)]
            log = stack.enter_context((tmp_path / f"{len(started)}.log").open("w"))
            ran = processes.Child(
                words, cwd=tmp_path, env=environment, stdout=log, stderr=log, text=True
            )
            stack.callback(ran.wait)
            stack.callback(ran.kill)
            started.append(ran)
            if len(started) < 6:  # all is made, and looked through; what follows stays
                assert ran.wait() == 0, (tmp_path / log.name).read_text()
            else:
                time.sleep(0.5)
        state = _state(ports[1], "done")
    logs = [(tmp_path / f"{number}.log").read_text() for number in range(len(started))]

    assert [words.split()[1] for words in commands[:5]] == [
        "config",
        "calibrate",
        "enrol",
        "broker",
        "check",
    ]
    assert state["release"]["reports"] == 50
    assert state["map"]["status"] == "solved"
    assert state["ready"]["insecure"] is False
    assert not any("Traceback" in said for said in logs)
    assert not any("in the clear" in said for said in logs[5:])  # of those that speak to a broker


def _state(port: int, kind: str) -> dict[str, Any]:
    """Return what the live page knows, once an event of this kind has come."""
    until_s = time.monotonic() + 60
    while time.monotonic() < until_s:
        try:
            url = f"http://127.0.0.1:{port}/api/v1/state"
            with urllib.request.urlopen(url, timeout=2) as answer:
                found: dict[str, Any] = json.loads(answer.read())["events"]
            if kind in found:
                return found
        except OSError:
            pass
        time.sleep(0.1)
    pytest.fail(f"nothing of kind {kind} came to the page")


def test_who_cites_cites_the_version_that_there_is() -> None:
    """A figure is one version's."""
    assert f"\nversion: {heatveil.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_privacy_names_layers_that_the_audit_has() -> None:
    """A danger that points at a check which is not there is watched by nobody."""
    table = (ROOT / "PRIVACY.md").read_text().partition("| danger |")[2].partition("\n\n")[0]
    cells = [line.split("|")[3] for line in table.splitlines()[2:]]
    named = {name for cell in cells for name in re.findall(r"`([a-z]+)`", cell)}
    layers = {layer.name for layer in LAYERS}

    assert named <= layers
    assert len(named) > 15


# The operator's page says what the program does.

PAGE = (Path(config.__file__).parents[1] / "README.md").read_text("utf-8")


def commands() -> dict[str, list[str]]:
    """Return every command, and of a group those in it."""
    top: Any = load_program()
    return {name: list(getattr(one, "commands", ())) for name, one in top.commands.items()}


def test_every_table_of_the_deployment_file_is_on_the_page() -> None:
    """The sample explains each key; the page says where to look. It holds no second copy."""
    assert [name for name in config.Deployment.model_fields if f"`[{name}]`" not in PAGE] == []
    assert "heatveil config --sample > gateway.toml" in PAGE
    assert "gather_s = " not in PAGE


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_is_on_the_page(name: str) -> None:
    """What is not there is not found."""
    assert re.search(rf"heatveil {name}\b|[`,] ?`?{name}`", PAGE)
    for inner in commands()[name]:
        assert re.search(rf"`(heatveil {name} )?{inner}`|heatveil {name} {inner}\b", PAGE), inner


def test_every_command_on_the_page_is_one() -> None:
    """An old name on the page is the first thing that an operator types."""
    known = commands()
    for line in re.findall(r"(?:^|`)heatveil ((?:--log \w+ )?[a-z][^`\n]*)", PAGE, re.M):
        words = re.sub(r"^--log \w+ ", "", line).split()
        assert words[0] in known, line
        if known[words[0]] and len(words) > 1 and re.fullmatch("[a-z]+", words[1]):
            assert words[1] in known[words[0]], line


@pytest.mark.long
def test_every_flag_on_the_page_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the command that it stands beside."""
    known = commands()
    for line in re.findall(r"(?:^|`)heatveil ([a-z][^`\n#]*)", PAGE, re.M):
        words = line.split()
        path = words[:2] if known.get(words[0]) and len(words) > 1 else words[:1]
        flags = [word.strip("[],") for word in words if word.strip("[").startswith("--")]
        if not flags:
            continue
        with pytest.raises(SystemExit):
            cli.main([*path, "--help"])
        told = capsys.readouterr().out
        assert [flag for flag in flags if flag not in told] == [], line


def test_links_within_the_page_lead_to_a_heading() -> None:
    """A table of contents that jumps nowhere is worse than none."""
    headings = {
        re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-")
        for one in re.findall(r"^#+ (.*)$", PAGE, re.M)
    }

    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= headings


def test_files_that_the_page_names_are_there() -> None:
    """Units, dashboards and compositions are found where it says."""
    root = Path(config.__file__).parents[2]
    for name in re.findall(r"gateway/deploy/[\w.@-]+\w", PAGE):
        assert (root / name).exists(), name


# Every notebook runs from top to bottom, and its two files tell the same story.

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.py"))
assert NOTEBOOKS


NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
MASKED = re.compile(r"(as they were sent: ).*")  # by keys that were made for that run


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_its_page_shows(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its assertions are the claims that it makes to its reader, who sees a run of another day.

    Numbers may differ by a twentieth, or in their last digit: processors round differently.
    """
    mpl.use("Agg")
    known = set(TABLE)
    try:
        runpy.run_path(str(path))
    finally:
        for name in TABLE.keys() - known:  # what it registers is there for no other test
            del TABLE[name]
    cells = jupytext.read(path.with_suffix(".ipynb")).cells
    shown = "".join(one.get("text", "") for cell in cells for one in cell.get("outputs", ()))
    said, kept = (MASKED.sub(r"\1", text) for text in (capsys.readouterr().out, shown))

    assert NUMBER.sub("0", said).split() == NUMBER.sub("0", kept).split()
    for now, then in zip(NUMBER.findall(said), NUMBER.findall(kept), strict=True):
        number = Decimal(then.replace(",", ""))
        last = Decimal((0, (1, 5), int(number.as_tuple().exponent) - 1))
        off = abs(Decimal(now.replace(",", "")) - number)
        assert off <= max(abs(number) / 20, last), (now, then)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_page_to_read_is_the_page_that_runs(path: Path) -> None:
    """`jupytext --to ipynb --execute` makes the one with pictures from the one that is tested."""
    script, page = jupytext.read(path), jupytext.read(path.with_suffix(".ipynb"))

    assert [cell.source for cell in script.cells] == [cell.source for cell in page.cells]
    assert any("image/png" in str(cell.get("outputs", "")) for cell in page.cells)


# What is to be looked up holds all that there is, and each of it with words.


PAGES = pages()


def _options(command: Any, words: str) -> list[tuple[str, str]]:
    """Return each option of a command and of those below it, with the words that call it."""
    found = [(words, name) for one in command.params for name in one.opts if name.startswith("--")]
    for name, below in getattr(command, "commands", {}).items():
        found += _options(below, f"{words} {name}")
    return found


def test_every_command_and_every_option_stands_there_with_words() -> None:
    """What is left out is found by reading the source, or never."""
    parts = re.split(r"(?m)^#+ `(heatveil[^`]*)`", PAGES["commands.md"])
    said = dict(zip(parts[1::2], parts[2::2], strict=True))
    options = _options(load_program(), "heatveil")

    assert {f"heatveil {name}" for name in COMMANDS} <= said.keys()
    assert [
        (words, name)
        for words, name in options
        if not re.search(rf"(?m)^\* `[^`]*{name}\b[^`]*`(, `[^`]*`)*: \S", said[words])
    ] == []


@pytest.mark.parametrize("mechanism", ["thermal", "disk", "ranks"])
def test_every_key_of_a_sample_stands_there(mechanism: str) -> None:
    """A deployment file is written by whoever has the sample and this page."""
    table = ""
    for line in config.make_sample(mechanism).splitlines():
        if found := re.match(r"\[([a-z_.]+)\]", line):
            table = PAGES["deployment.md"].partition(f"## [{found[1]}]")[2].partition("\n## ")[0]
        if found := re.match(r"(?:# )?([a-z0-9_]+) = .*?\s# ", line):
            assert re.search(rf"\| `{found[1]}` \| \S", table), line


def test_every_address_and_every_public_name_stands_there() -> None:
    """With its sentence, which is the docstring's or the operation's own."""
    assert [
        one.path for one in OPERATIONS if f"{one.path}\n\n{one.says}" not in PAGES["http.md"]
    ] == []
    assert [name for name in heatveil.__all__ if f"\n## {name}\n" not in PAGES["python.md"]] == []
    assert "numpy._typing" not in PAGES["python.md"]
