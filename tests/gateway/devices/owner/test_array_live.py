"""An array and a gateway on one broker: enrolled for tables, asked once, drawn, opened again."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from edge.board.config import load
from edge.board.drivers import Held
from edge.linux import run
from edge.linux.enrol import enrol as settle
from edge.linux.notify import Notify
from edge.thermal import params_of
from gateway.devices.enrol import enrol, limitsfile
from gateway.devices.kit.siting import derive_settings
from gateway.mechanisms.thermal.granting import granted
from gateway.mechanisms.thermal.query import first_round
from gateway.settings import config
from tests import processes
from tests.gateway.devices.owner.conftest import written
from tests.gateway.devices.owner.test_unveiling import rows

PROGRAM = Path(sys.executable).with_name("heatveil")
SENSORS, WAIT_S = 16, 60


class Pixels:
    """An array that sees warmth in its middle."""

    step = None
    seen = tuple([20 * min(at, SENSORS - at) for at in range(SENSORS)])

    def read(self, params: Any) -> tuple[int, ...]:
        return self.seen


@pytest.fixture
def site(tmp_path: Path, mosquitto: Any) -> Path:
    """Return the deployment file of a site of one array, whose folder is `wall`."""
    path = written(tmp_path / "site.toml", sensors=SENSORS, readings=2, port=mosquitto.port)
    text = path.read_text().replace("[rounds]", '[rounds]\nsampler = "table"')
    path.write_text(text.replace("gather_s = 5", "gather_s = 30"))
    deployment = config.load(path)
    none = enrol.Devices(deployment.site.name, bytes(range(32)), {})
    made = enrol.enrol_device(none, "wall", 0, keyholder=True, sensors=SENSORS)
    fleet = enrol.Secrets(none.site, none.site_key, (made.secret,))
    devices = enrol.derive_devices(fleet)
    limits = granted(config.query(deployment), deployment.rounds.every_s)
    enrol.save_devices(devices, deployment.site.devices)
    enrol.save_roots(enrol.Enrolment(fleet, {"wall": made.root}), tmp_path / "keyholder.json")
    limitsfile.save_first(deployment.site.devices, devices, limits)
    link = enrol.make_link(deployment.mqtt, "wall", made.password, "wall-x")
    more = derive_settings(deployment)
    enrol.save_board(tmp_path / "wall.device.json", made, limits, link, more)
    settle(str(tmp_path / "wall.device.json"), str(tmp_path / "wall"), {"name": "yours"})
    return path


async def answering(home: str, gateway: "subprocess.Popen[str]") -> None:
    """Run the device in this process until the gateway has ended."""
    sensor = Held(Pixels, SENSORS, None)
    work = asyncio.create_task(run.live(load(home + "/heatveil.json"), home, Notify(), sensor))
    for _ in range(10 * WAIT_S):
        if gateway.poll() is not None or work.done():
            break
        await asyncio.sleep(0.1)
    work.cancel()
    await asyncio.wait([work])


@pytest.mark.long
def test_a_round_from_its_plan_to_the_owners_readings(heatveil: Any, site: Path) -> None:
    """The whole way: planned, signed, refused by nobody, charged, drawn, and taken off again."""
    asked = first_round(config.query(config.load(site)))
    with processes.Child(
        [PROGRAM, "once", "--config", site],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[4])},
    ) as gateway:
        asyncio.run(answering(str(site.with_name("wall")), gateway))
        said, complaints = gateway.communicate(timeout=WAIT_S)

    assert asked.params[7:] == (84,)
    assert gateway.returncode == 0, complaints
    assert said.startswith("round 1: 1 of 1 devices answered")
    told = heatveil("unveil", "--config", site, "--out", site.with_name("readings.sqlite"))
    assert told.status == 0, told.err
    found = rows(site.with_name("readings.sqlite"))
    assert [found[key][0] for key in sorted(found)] == list(Pixels.seen)
    assert max(Pixels.seen) < params_of(asked).high
