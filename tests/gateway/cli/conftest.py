"""A deployment on the disk, enrolled, as an operator has it before the first start."""

import json
import math
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from edge.core.records import Release
from edge.mechanisms.thermal import Params
from gateway.devices.enrol.enrol import load_devices
from gateway.service import drawing, steps
from gateway.service.intake.outcomes import SecondAnswer
from gateway.service.ledger import Charge, compute_round_rho
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from gateway.store.store import Store
from recovery import thermal
from tests import processes, sites
from tests.processes import find_free_port

PROGRAM = Path(sys.executable).with_name("heatveil")


@pytest.fixture
def site(tmp_path: Path, heatveil: Callable[..., Any]) -> Path:
    """Return the deployment file of an enrolled site; nobody listens at its broker's port."""
    path = tmp_path / "site.toml"
    path.write_text(sites.small("seen", find_free_port(), find_free_port()))
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
    path.write_text(sites.small(name, mosquitto.port, find_free_port(), every_s=pause_s))
    return path


@pytest.fixture
def fleet(living: Path, heatveil: Callable[..., Any]) -> Iterator[subprocess.Popen[str]]:
    """Enrol and run the six devices of that site."""
    assert heatveil("enrol", "--config", living).status == 0
    command = [PROGRAM, "fleet", "--config", living, "--sources-random", "1"]
    with processes.Child(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout.readline().startswith("6 devices")
        yield process
        process.kill()


class Kept(NamedTuple):
    """A site whose store holds a closed round with its map, and one that is open."""

    path: Path
    rho: Fraction
    body: dict[str, Any]


@pytest.fixture(scope="session")
def kept_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the first such site is put, for the next tests: its map takes half a second."""
    return tmp_path_factory.mktemp("kept") / "site"


@pytest.fixture
def kept(tmp_path: Path, kept_before: Path, heatveil: Callable[..., Any]) -> Kept:
    """Return a site that has run; the map is recovery's own, of a warm place at 2.5 m."""
    path = tmp_path / "site.toml"
    if not kept_before.exists():
        path.write_text(sites.small("seen", find_free_port(), find_free_port()))
        assert heatveil("enrol", "--config", path).status == 0
        made = _live(path)
        shutil.copytree(tmp_path, kept_before)
        (kept_before / "body").write_text(json.dumps([str(made.rho), made.body]))
        return made
    shutil.copytree(kept_before, tmp_path, dirs_exist_ok=True)
    rho, body = json.loads((tmp_path / "body").read_text())
    (tmp_path / "body").unlink()
    return Kept(path, Fraction(rho), body)


def _live(site: Path) -> Kept:
    deployment = config.load_deployment(site)
    query, devices = config.make_query(deployment), load_devices(deployment.site.devices, "seen")
    store = Store.open_for(deployment)
    plan = thermal.plan(query, [])
    rho = compute_round_rho(plan.guarantee)
    asked = [steps.sign_round(plan._replace(number=n), n, devices) for n in (1, 2)]
    for one in asked:
        one = one._replace(planned=one.name)
        assert store.open_round(one, 3 * rho, keys=dict.fromkeys("abcdef", b"")) == ""
    scale = 2 ** Params(*plan.params).exponent
    values = [round(2 * scale * math.exp(-((x - 1.5) ** 2) / 4)) for x in range(6)]
    release = Release(asked[0].plan, values, 5)
    solver = SimpleNamespace(recover=lambda _name, q, rs: thermal.recover(q, rs))
    found = drawing.draw_map(solver, "seen", query, [release], drawing.Turnout(5, 6, 0, 1))
    store.close_round(asked[0].name, values, 5)
    store.keep_map(asked[0].name, found.body)
    store.keep_batch((), extra=[SecondAnswer(asked[0].name, Charge(rho / 2, "node-3"), b"frame")])
    store.close()
    return Kept(site, rho, json.loads(found.body))
