"""A deployment on the disk, enrolled, as an operator has it before the first start."""

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.brokers.broker import free_port
from gateway.operating import Mqtt

PROGRAM = Path(sys.executable).with_name("heatveil")

SITE = """
[site]
name = "seen"
[room]
cells = 40
length_m = 10.0
[heat]
spread_m2 = 1.0
[sensors]
count = 6
[privacy]
epsilon = "8/1"
delta = "1/100000"
readings = 3
[rounds]
gather_s = 5
every_s = 60
[mqtt]
port = {port}
insecure = true
[page]
port = {page}
"""


@pytest.fixture
def site(tmp_path: Path, heatveil: Callable[..., Any]) -> Path:
    """Return the deployment file of an enrolled site; nobody listens at its broker's port."""
    path = tmp_path / "site.toml"
    path.write_text(SITE.format(port=free_port(), page=free_port()))
    assert heatveil("enrol", "--config", path).status == 0
    return path


@pytest.fixture
def pause_s() -> float:
    """Return the pause of the `living` site; a module that wants another has its own fixture."""
    return 60


@pytest.fixture
def living(tmp_path: Path, mosquitto: Mqtt, pause_s: float) -> Path:
    """Return the deployment file of a site of its own on the tests' broker, not enrolled yet."""
    path, name = tmp_path / "site.toml", f"site-{uuid.uuid4().hex[:8]}"
    text = SITE.format(port=mosquitto.port, page=free_port())
    text = text.replace('"seen"', f'"{name}"')
    path.write_text(text.replace("every_s = 60", f"every_s = {pause_s}"))
    return path


@pytest.fixture
def fleet(living: Path) -> Iterator[subprocess.Popen[str]]:
    """Enrol and run the six devices of that site."""
    command = [PROGRAM, "fleet", "--config", living, "--enrol", "--sources-random", "1"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("6 devices")
        yield process
        process.kill()
