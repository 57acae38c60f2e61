"""What is called of a firmware is what its stubs know: pyright, for an RP2 and an ESP32.

A board's files have no annotations, for the smallest heap. So each parameter that is a part of
the firmware is given it here, in a copy: then a method that no port has, or an argument that
another one takes, is found before somebody holds the board in his hand.
"""

import ast
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import edge
from tests import processes
from tests.conftest import ROOT, miss

Said = Callable[..., list[str]]
EDGE = Path(str(edge.__file__)).parent
PORTS = ["rp2", "esp32"]
# Of our own code, which mypy looks at: names that a loop binds, drivers that take more or less.
OURS = (
    "is possibly unbound",
    'of "None"',
    '"None" cannot be called',
    'for types "None"',
    "positional arguments",
)
WHERE = Path(os.environ.get("HEATVEIL_TYPINGS", ROOT / ".tools" / "typings"))
ADC = "import machine\ndevice = machine.ADC(26)"
I2C = "import machine\ni2c = machine.I2C(0)"
WIRE = "import ds18x20, machine, onewire\nwire = ds18x20.DS18X20(onewire.OneWire(machine.Pin(4)))"
UART = "import machine\ndevice = machine.UART(1)"
# What a parameter of this name is, in the files of a folder.
PARTS = {
    "board": {
        "machine": "import machine",
        "radio": "import network\nradio = network.WLAN(network.STA_IF)",
        "os": "import os",
    },
    "sensors": {"i2c": I2C, "wire": WIRE, "device": ADC},
}


ALSO = {"yours_place.py": {"device": UART}}  # what differs in one file


def given(text: str, parts: dict[str, str]) -> str:
    """Return a file with each such parameter set at the start of its function.

    Which words a dict holds is not known before it runs: what is called with one is let be.
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg is None:
            node.value = ast.parse("().__getattribute__('')", mode="eval").body
        if isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in node.args.args]
            start = 1 if ast.get_docstring(node) else 0
            for name in names:
                node.body[start:start] = ast.parse(parts[name]).body if name in parts else []
    return ast.unparse(tree)


@pytest.fixture
def said(tmp_path: Path, need: Callable[[str], str]) -> Said:
    """Return what gives pyright's complaints about the board's files under a port's stubs."""

    def run(port: str, planted: str = "") -> list[str]:
        if not (WHERE / port).is_dir():
            miss(
                f"there are no stubs in {WHERE / port}, and this test checks with them: make tools"
            )
        return complaints(need("pyright"), tmp_path, port, planted)

    return run


def complaints(pyright: str, folder: Path, port: str, planted: str) -> list[str]:
    """Return what pyright says of a copy of the board's files."""
    shutil.copytree(EDGE, folder / "edge", ignore=shutil.ignore_patterns("__pycache__", "linux"))
    for path in (folder / "edge" / "board").rglob("*.py"):
        text = path.read_text() + (planted if path.name == "power.py" else "")
        path.write_text(given(text, PARTS[path.parent.name] | ALSO.get(path.name, {})))
    typings = str((WHERE / port).resolve())
    rules = {"include": ["edge/board"], "stubPath": typings, "typeshedPath": typings}
    rules |= {"reportMissingModuleSource": "none", "reportMissingImports": "none"}
    (folder / "pyrightconfig.json").write_text(json.dumps(rules))
    ran = processes.run(
        [pyright, "--outputjson"], cwd=folder, capture_output=True, text=True, timeout=120
    )
    found = json.loads(ran.stdout)["generalDiagnostics"]
    return [
        f"{Path(one['file']).relative_to(folder)}: {one['message']}"
        for one in found
        if one["severity"] == "error" and not any(word in one["message"] for word in OURS)
    ]


@pytest.mark.long
@pytest.mark.parametrize("port", PORTS)
def test_what_is_called_of_a_firmware_is_there(said: Said, port: str) -> None:
    """Every method and every argument, on both ports."""
    assert said(port) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("planted", "why"),
    [
        ("def wrong(machine):\n    machine.deep_sleep(1)\n", "deep_sleep"),
        ("def wrong(machine):\n    machine.WDT(patience=1)\n", "patience"),
        ("def wrong(radio):\n    radio.connected()\n", "connected"),
    ],
)
def test_a_planted_call_is_found(said: Said, planted: str, why: str) -> None:
    """Else the stubs were not read."""
    assert any(why in sentence for sentence in said("rp2", planted))
