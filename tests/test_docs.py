"""The code that the documents show runs, on every interpreter that they name."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def code(document: str) -> str:
    """Return the Python of a document, all blocks in a row as a reader would type them."""
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.S))


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


@pytest.mark.parametrize("document", sorted(p.relative_to(ROOT) for p in ROOT.glob("*.md")))
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    """A door that opens on nothing is worse than none."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / document).read_text())

    assert [link for link in links if not (ROOT / document.parent / link).exists()] == []


def test_the_demo_prints_what_the_front_page_quotes(tmp_path: Path) -> None:
    """A figure on the front page that the command no longer prints is a lie."""
    command = [str(Path(sys.executable).with_name("heatveil")), "demo", "--seed", "7"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    page = (ROOT / "README.md").read_text()
    quoted = re.findall(r"`make demo ARGS=\"--seed 7\"`.*?```\n(.*?)```", page, re.S)

    assert quoted
    assert " ".join(quoted[0].split()) in " ".join(ran.stdout.split())
