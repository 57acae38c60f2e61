"""A deployment on the disk, enrolled, as an operator has it before the first start."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.brokers.broker import free_port

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
