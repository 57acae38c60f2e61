"""An owner takes the noise off what went over a real broker: of thermometers and of arrays."""

import hashlib
import json
import random
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core import table
from edge.host import rootkeys
from gateway.devices.enrol import enrol
from gateway.devices.fleet.crowd import Crowd
from gateway.mechanisms.thermal.deployment import plan_first_round
from gateway.service.serving import Service
from gateway.settings.deployment import Mqtt
from physics.fleet import Fleet
from physics.sensors import PointSensors
from tests import processes
from tests.gateway.devices.owner.conftest import Owned
from tests.gateway.devices.owner.test_unveiling import rows, unveil

# A real fleet, a real broker, the real gateway; and then the owner's key takes the noise off.

PROGRAM = Path(sys.executable).with_name("heatveil")
SENSORS, ROUNDS = 6, 3


class Witness(Fleet):
    """A fleet that notes what its sensors give, which no device ever says."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.gave: dict[str, list[int]] = {name: [] for name in self.names}

    def read(self, name: str, params: Any) -> tuple[int, ...]:
        """Read as every device does, and note it."""
        values = super().read(name, params)
        self.gave[name] += values
        return values


def unveiled(owned: Any, *words: object) -> subprocess.CompletedProcess[str]:
    """Run the command as the owner does: in a process of its own."""
    command = [PROGRAM, "unveil", "--config", owned.config, *words]
    return processes.run([str(word) for word in command], capture_output=True, text=True)


@pytest.mark.long
def test_the_owner_gets_what_the_sensors_gave_and_the_public_store_stays_as_it_was(
    mosquitto: Mqtt, site_of: Callable[..., Any]
) -> None:
    """Over two starts of the fleet: to the bit, and nobody else notices anything."""
    owned = site_of(site="end-to-end", port=mosquitto.port, sensors=SENSORS, readings=2 * ROUNDS)
    places = np.linspace(1, 9, SENSORS)
    sensors = PointSensors(places, 0.02, None)
    gave: dict[tuple[str, int], list[int]] = {}
    for epoch in (1, 2):
        world = np.random.default_rng(epoch)
        fleet = Witness(owned.started(), sensors, world)
        fleet.set_temperatures(np.linspace(0.1, 0.9, SENSORS) * epoch)
        with (
            Service(owned.deployment, owned.devices) as service,
            Crowd(owned.deployment.mqtt, fleet),
        ):
            service.run_rounds(ROUNDS)
        gave |= {(name, epoch): values for name, values in fleet.gave.items()}
    before = hashlib.sha256(owned.database.read_bytes()).hexdigest()
    files = {path.name for path in owned.folder.iterdir()}
    said = unveiled(owned, "--out", owned.folder / "readings.sqlite")

    assert said.returncode == 0, said.stderr
    with sqlite3.connect(owned.folder / "readings.sqlite") as file:
        rows = file.execute(
            "SELECT device, epoch, grains, note FROM readings ORDER BY device, epoch, seq"
        ).fetchall()
    found: dict[tuple[str, int], list[int]] = {}
    for device, epoch, grains, note in rows:
        assert note == ""
        found.setdefault((device, epoch), []).append(grains)
    assert found == gave
    assert {len(values) for values in gave.values()} == {ROUNDS}
    assert len({value for values in gave.values() for value in values}) > SENSORS
    assert hashlib.sha256(owned.database.read_bytes()).hexdigest() == before
    assert {path.name for path in owned.folder.iterdir()} == files | {"readings.sqlite"}
    released = sqlite3.connect(owned.database).execute('SELECT "values" FROM releases').fetchall()
    public = {value for row in released for value in json.loads(row[0])}
    assert len(public & {value for values in gave.values() for value in values}) < len(rows) // 2


@pytest.mark.long
def test_a_sealed_fleet_is_opened_by_nobody(mosquitto: Mqtt, site_of: Callable[..., Any]) -> None:
    """Not even with the root, had somebody kept it against all advice."""
    owned = site_of(
        site="end-to-end-sealed", port=mosquitto.port, sensors=SENSORS, keyholder="false"
    )
    fleet = Witness(
        owned.started(),
        PointSensors(np.linspace(1, 9, SENSORS), 0.0, None),
        np.random.default_rng(1),
    )
    with Service(owned.deployment, owned.devices) as service, Crowd(owned.deployment.mqtt, fleet):
        service.run_rounds(1)
    assert owned.holder.exists()  # roots that should have been forgotten
    said = unveiled(owned, "--out", owned.folder / "readings.csv")

    assert said.returncode == 1
    assert "enrolled as sealed" in said.stderr
    assert not (owned.folder / "readings.csv").exists()
    # The claim behind the refusal: even the right root does not repeat the noise.
    body = json.loads((owned.folder / "devices.json").read_text())
    for row in body["devices"]:
        row["mode"] = "keyholder"
    (owned.folder / "devices.json").write_text(json.dumps(body))
    unveiled(owned, "--out", owned.folder / "lie.sqlite")
    if (owned.folder / "lie.sqlite").exists():
        with sqlite3.connect(owned.folder / "lie.sqlite") as file:
            opened = dict(file.execute("SELECT device, grains FROM readings"))
        assert sum(opened[name] == fleet.gave[name][0] for name in opened) <= 1


@pytest.mark.long
def test_a_full_disk_leaves_no_half_of_the_readings(owned: Any) -> None:
    """Half of them would look like all of them, and lie about in the clear."""
    before = {path.name for path in owned.folder.iterdir()}
    for out in ("readings.sqlite", "readings.csv"):
        ran = processes.run(
            [PROGRAM, "unveil", "--config", owned.config, "--out", owned.folder / out],
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)),
        )

        assert ran.returncode == 1, ran.stderr
        assert "cannot be written" in ran.stderr
        assert ran.stderr.count("\n") == 1
        assert {path.name for path in owned.folder.iterdir()} == before


# A site of arrays whose noise is from tables: asked, charged, drawn and opened by its owner.

FIRST = {"left": (0, 12), "right": (12, 24), "door": (36, 1)}
PIXELS = 37


class Arrays(Owned):
    """Two arrays and a thermometer, which has few readings and draws exactly."""

    def enrolled(self) -> enrol.Enrolment:
        roots = {name: random.Random(name).randbytes(32) for name in FIRST}
        key = super().enrolled().secrets.site_key
        devices = tuple(
            enrol.Secret(
                rootkeys.identity("owned", name, roots[name], key, first, "keyholder", count),
                rootkeys.link_key(roots[name]),
            )
            for name, (first, count) in FIRST.items()
        )
        return enrol.Enrolment(enrol.Secrets("owned", key, devices), roots)


@pytest.fixture
def arrays(tmp_path: Path) -> Arrays:
    """Return the site after two boots and four rounds."""
    made = Arrays(tmp_path, sensors=PIXELS, sampler="table")
    numbers = random.Random(5)
    for _ in range(2):
        made.boot()
        for _ in range(2):
            made.ask([numbers.randrange(-900, 900) for _ in range(PIXELS)])
    return made


def test_the_owner_gets_every_reading_back(heatveil: Any, arrays: Arrays) -> None:
    """Of arrays, whose noise is from tables, and of the thermometer beside them."""
    assert len(plan_first_round(arrays.query).params) == 8
    said = unveil(heatveil, arrays)

    assert "12 frames, 148 in all" in said.success
    assert rows(arrays.folder / "readings.sqlite") == {
        key: (value, "") for key, value in arrays.seen.items()
    }


def test_other_noise_opens_nothing(
    heatveil: Any, arrays: Arrays, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above must be able to say no: an owner who draws exactly gets no reading back."""
    monkeypatch.setattr(table, "find_tables", lambda *_: None)
    unveil(heatveil, arrays)
    found = rows(arrays.folder / "readings.sqlite")
    right = {key: (value, "") for key, value in arrays.seen.items()}

    assert {key for key in found if found[key] == right[key]} <= {
        key for key in right if key[0] == "door"
    }
