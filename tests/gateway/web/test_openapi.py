"""The API against its own description, by a program that looks for what does not hold."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.web.app import document
from gateway.web.operations import OPERATIONS
from gateway.web.server import Page
from tests import processes

SEED, CASES = "20170601", "12"


def _searched(page: Page, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run schemathesis over a page that listens on loopback: every check, a fixed seed."""
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        pytest.skip("schemathesis is not here: install the extra `test`")
    words = f"--checks all --seed {SEED} --max-examples {CASES} --workers 1 --no-color"
    words += " --exclude-path /api/v1/events --request-timeout 20"  # events never end
    return processes.run(
        [program, "run", f"{page.url}api/v1/openapi.json", *words.split()],
        capture_output=True,
        text=True,
        timeout=180,
        cwd=folder,
    )


@pytest.mark.long
def test_the_api_is_as_described(stored: Page, tmp_path: Path) -> None:
    """Hundreds of requests, right ones and wrong ones: every answer is as the description says."""
    ran = _searched(stored, tmp_path)

    assert ran.returncode == 0, ran.stdout[-4000:]
    assert "No issues found" in ran.stdout
    assert f"Tested: {len(OPERATIONS)}\n" in ran.stdout
    assert int(ran.stdout.split(" generated, ")[0].split()[-1]) > 300


@pytest.mark.long
def test_a_planted_fault_is_found(live: Page, known: Any, tmp_path: Path) -> None:
    """The search would see an answer of another shape, and a fault that nobody caught."""
    good = known.round(3)
    known.round = lambda number: SimpleNamespace(**vars(good) | {"enrolled": "four"})
    known.refused_kinds = lambda: 1 // 0
    ran = _searched(live, tmp_path)

    assert ran.returncode == 1
    assert "Response violates schema" in ran.stdout
    assert "Server error" in ran.stdout
    assert "/rounds/{number}" in ran.stdout
    assert "/refused" in ran.stdout


def test_the_description_names_every_operation_once() -> None:
    """It is written from the table that routes are made from, so it cannot forget one."""
    written = document(needs_token=True)
    names = [one["get"]["operationId"] for one in written["paths"].values()]

    assert set(written["paths"]) == {f"/api/v1{one.path}" for one in OPERATIONS} | {
        "/api/v1/events"
    }
    assert len(set(names)) == len(names)
    assert written["security"] == [{"token": []}]
    assert "security" not in document(needs_token=False)
