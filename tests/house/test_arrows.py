"""Who knows whom: the invariants by absence that one import or one word would break.

Each rule is a function over source text, so that a planted fault can show that it bites.
"""

import ast
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.mechanisms import MECHANISMS
from tests import processes

ROOT = Path(__file__).resolve().parents[2]
NAMES = {mechanism.name for mechanism in MECHANISMS}

# Who may wait on an event loop: the web server calls the page's functions from one, the broker
# of last resort, which is somebody else's, lives on one of its own, and virtual devices are
# edge's, which waits as a board does.
AWAITING = {
    "gateway/devices/broker/embedded.py",
    "gateway/audit/attacks/side_channels.py",  # a client of its own, for a device
}
AWAITING_FOLDERS = {"gateway/web", "gateway/devices/fleet"}


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imports(source: str) -> Iterator[str]:
    """Yield every name imported, in full: `from a import b` gives a and a.b, dots kept."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            yield start
            yield from (f"{start.rstrip('.')}.{alias.name}" for alias in node.names)


def others_known(source: str, own: str, names: set[str]) -> set[str]:
    """Return the mechanisms, other than its own, whose modules this source imports."""
    parts = {part for name in imports(source) for part in name.split(".")}
    return {other for other in names - {own} for part in parts if owner(part, names) == other}


def owner(module: str, names: set[str]) -> str:
    """Return the mechanism of a module: `disk` has disk_half, and `pyramid` pyramid_sum."""
    found = [name for name in names if module == name or module.startswith(name + "_")]
    return min(found, key=len, default="")


def awaits(source: str) -> bool:
    """Say whether this source waits on an event loop."""
    waiting = (ast.Await, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith)
    return any(isinstance(node, waiting) for node in ast.walk(ast.parse(source)))


@pytest.mark.long
def test_only_the_service_knows_mqtt() -> None:
    """With one file on the network, everything else can be tested by calling it."""
    knowing = {
        path.relative_to(ROOT).as_posix()
        for package in ("edge", "physics", "recovery", "gateway")
        for path in modules(package)
        if any(name.partition(".")[0] == "paho" for name in imports(path.read_text()))
    }

    assert knowing == {"gateway/service/mqtt/service.py"}
    assert "paho.mqtt.client" in imports("from paho.mqtt import client")


@pytest.mark.long
def test_only_named_files_await() -> None:
    """A function that waits can only be called by one that waits: it must not spread."""
    waiting = {
        path.relative_to(ROOT).as_posix()
        for path in modules("gateway")
        if awaits(path.read_text())
    }
    spread = {name for name in waiting if name.rpartition("/")[0] not in AWAITING_FOLDERS}

    assert spread <= AWAITING
    assert awaits("async def f():\n    await g()")


@pytest.mark.parametrize("package", ["edge", "recovery"])
def test_no_mechanism_knows_another(package: str) -> None:
    """A mechanism can be read, proved and removed alone."""
    for path in modules(package):
        place = path.relative_to(ROOT / package).with_suffix("").parts[0]
        if own := owner(place, NAMES):
            assert others_known(path.read_text(), own, NAMES) == set(), path.name


@pytest.mark.parametrize(
    "line",
    [
        "from .disk import report",
        "from . import disk",
        "import recovery.disk",
        "from recovery import disk",
        "from .disk_half import Query",
        "from ..disk.query import Query",
    ],
)
def test_a_mechanism_that_knows_another_is_found(line: str) -> None:
    """The rule above must see every form of the import, and no fault in one's own modules."""
    assert others_known(line, "thermal", {"thermal", "disk"}) == {"disk"}
    assert others_known(line, "disk", {"thermal", "disk"}) == set()


@pytest.mark.long
def test_imports_go_downward_only(tmp_path: Path) -> None:
    """The contracts in pyproject.toml hold, and an arrow drawn upward breaks them."""
    linter = Path(sys.executable).with_name("lint-imports")
    processes.run([linter, "--no-cache"], cwd=ROOT, check=True, capture_output=True)
    for package in ("edge", "physics", "recovery", "gateway"):
        shutil.copytree(ROOT / package, tmp_path / package)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "edge" / "planted.py").write_text("import recovery.maps.heatmap\n")
    ran = processes.run([linter, "--no-cache"], cwd=tmp_path, capture_output=True, text=True)

    assert ran.returncode == 1
    assert "edge.planted -> recovery.maps.heatmap" in ran.stdout


# What takes noise off is not in the service: not loaded, not imported, not in reach.

TAKES_OFF = {"gateway.devices.owner.keyring", "gateway.cli.devices.owner"}


def loaded(*modules: str) -> set[str]:
    """Return everything that a process has loaded once it has loaded these."""
    script = f"import sys, {', '.join(modules)}\nprint(*sys.modules)"
    ran = processes.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def opening(names: set[str]) -> set[str]:
    """Return those of these modules that take noise off."""
    return {
        name
        for name in names
        if name.startswith(("gateway.devices.owner", "gateway.cli.devices.owner"))
    }


@pytest.mark.long
def test_the_service_loads_nothing_that_takes_noise_off() -> None:
    """A gateway that could would one day be told to, by somebody else."""
    service = loaded("gateway.cli", "gateway.cli.serve", "gateway.mechanisms.thermal.demo")

    assert "gateway.service.intake.writer" in service
    assert opening(service) == set()
    assert opening(loaded("gateway.cli.devices.owner")) >= TAKES_OFF


def test_an_import_that_would_bring_it_there_is_found(tmp_path: Path) -> None:
    """The contract in pyproject.toml bites, however deep the import lies."""
    for package in ("edge", "physics", "recovery", "gateway", "heatveil"):
        shutil.copytree(ROOT / package, tmp_path / package)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    planted = tmp_path / "gateway" / "service" / "intake" / "judge.py"
    planted.write_text(
        planted.read_text() + "\n\ndef later():\n    import gateway.devices.owner.keyring\n"
    )
    linter = Path(sys.executable).with_name("lint-imports")
    ran = processes.run([linter, "--no-cache"], cwd=tmp_path, capture_output=True, text=True)

    assert ran.returncode == 1
    assert "The service does not know what takes noise off BROKEN" in ran.stdout
