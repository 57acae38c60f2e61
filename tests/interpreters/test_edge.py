"""Edge is one source for every Python: it loads everywhere and asks for nothing to be installed.

The interpreters are CPython, MicroPython's unix port with 64- and with 32-bit words (the
latter is the object model of small boards), and its WebAssembly port, all with little heap.
"""

import ast
from pathlib import Path

import pytest

EDGE = Path(__file__).resolve().parents[2] / "edge"
MODULES = sorted(
    ".".join(path.relative_to(EDGE.parent).with_suffix("").parts)
    for path in EDGE.rglob("*.py")
    if path.name != "__init__.py"
)

# What is on a board without `mip install`, beside edge itself. Hardware modules are for
# edge/board alone, whose files never run here.
PLAIN = {"array", "asyncio", "binascii", "collections", "gc", "hashlib", "io", "json", "os"}
PLAIN |= {"errno", "micropython", "re", "select", "socket", "struct", "sys", "time"}
LINUX = {"fcntl", "signal", "stat", "termios"}
CAMERA = {"adafruit_mlx90640", "board", "busio"}  # the one sensor that needs somebody's library
HARDWARE = {"bluetooth", "esp32", "machine", "neopixel", "network", "ntptime", "rp2", "ssl", "tls"}
HARDWARE |= {"ds18x20", "esp", "onewire"}
# As a board loads: it collects often, and keeps no facts about lines (`edge.loading`).
AS_A_BOARD = """
import gc
if hasattr(gc, "threshold"):
    gc.threshold(2000)
try:
    import micropython
    micropython.opt_level(3)
except ImportError:
    pass
"""


def foreign_imports(source: str, allowed: set[str]) -> list[str]:
    """Return the modules this source imports that are neither its own nor allowed."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.append(node.module or "")
    return [name for name in found if name.partition(".")[0] not in allowed]


@pytest.mark.long
def test_edge_loads_on_every_interpreter(interpreter) -> None:
    """A word of newer Python anywhere in edge would stop every board at its first import."""
    # Pins and radios (its own tests load what can be loaded), the kernel's files, machine code.
    device = ("edge.board", "edge.linux", "edge.core.viper")
    boardless = [name for name in MODULES if not name.startswith(device)]

    for name in boardless:  # each alone: no device needs all of edge
        assert interpreter.run(f"{AS_A_BOARD}import {name}\nprint('all')") == "all\n", name


def test_a_module_that_does_not_load_is_noticed(interpreter) -> None:
    """The harness must fail when the script does, or the test above says nothing."""
    with pytest.raises(RuntimeError, match="absent"):
        interpreter.run("import edge.absent")


@pytest.mark.parametrize("module", MODULES)
def test_edge_imports_nothing_that_must_be_installed(module: str) -> None:
    """A board has what its firmware has; a package from elsewhere would not be there."""
    source = EDGE.parent.joinpath(*module.split(".")).with_suffix(".py").read_text()
    allowed = PLAIN | HARDWARE | {"edge"} if module.startswith("edge.board.") else PLAIN
    if module.startswith("edge.linux."):
        allowed = PLAIN | LINUX | (CAMERA if module.endswith(".buses") else set())
    if module == "edge.mechanisms.crypto":
        allowed = PLAIN | {"cryptolib"}
    if module == "edge.net.tls":
        allowed = PLAIN | {"ssl", "tls"}

    assert foreign_imports(source, allowed) == []


@pytest.mark.parametrize(
    "line",
    ["import numpy", "from dataclasses import dataclass", "import os, hmac", "import machine"],
)
def test_an_import_from_elsewhere_is_noticed(line: str) -> None:
    """The check above must see every form an import takes."""
    assert foreign_imports(line, PLAIN)
