"""What takes noise off is not in the service: not loaded, not imported, not in reach."""

import shutil
import sys
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).resolve().parents[2]
TAKES_OFF = {
    "gateway.devices.owner.keyring",
    "gateway.cli.owner",
}


def loaded(*modules: str) -> set[str]:
    """Return everything that a process has loaded once it has loaded these."""
    script = f"import sys, {', '.join(modules)}\nprint(*sys.modules)"
    ran = processes.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def opening(names: set[str]) -> set[str]:
    """Return those of these modules that take noise off."""
    return {
        name for name in names if name.startswith(("gateway.devices.owner", "gateway.cli.owner"))
    }


@pytest.mark.long
def test_the_service_loads_nothing_that_takes_noise_off() -> None:
    """A gateway that could would one day be told to, by somebody else."""
    service = loaded("gateway.cli", "gateway.cli.serve", "gateway.mechanisms.thermal.demo")

    assert "gateway.service.intake.writer" in service
    assert opening(service) == set()
    assert opening(loaded("gateway.cli.owner")) >= TAKES_OFF


@pytest.mark.parametrize("module", ["service/intake/judge.py", "web/app.py", "cli/serve.py"])
def test_an_import_that_would_bring_it_there_is_found(tmp_path: Path, module: str) -> None:
    """The contract in pyproject.toml bites, however deep the import lies."""
    for package in ("edge", "physics", "recovery", "gateway"):
        shutil.copytree(ROOT / package, tmp_path / package)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    planted = tmp_path / "gateway" / module
    planted.write_text(
        planted.read_text() + "\n\ndef later():\n    import gateway.devices.owner.keyring\n"
    )
    linter = Path(sys.executable).with_name("lint-imports")
    ran = processes.run([linter, "--no-cache"], cwd=tmp_path, capture_output=True, text=True)

    assert ran.returncode == 1
    assert "The service does not know what takes noise off BROKEN" in ran.stdout
