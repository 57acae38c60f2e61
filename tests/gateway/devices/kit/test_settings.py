"""What a board is told of an array: whether it may draw from tables, and how long its tick is."""

from pathlib import Path
from typing import Any

import pytest

from edge.board.config import load
from gateway.devices.enrol import enrol
from gateway.devices.kit import boardfile, provisioning, settings, siting
from gateway.devices.kit.boardfile import Held
from gateway.faults import OperatorFault
from gateway.mechanisms.thermal.granting import granted
from gateway.mechanisms.thermal.query import first_round
from gateway.settings import config
from gateway.settings.deployment import Deployment

OWN: dict[str, Any] = {"driver": {"name": "yours"}}


def enrolled(folder: Path, asks: bool) -> tuple[Deployment, Any, Held]:
    """Return a deployment, the Round that it asks first, and the file of an array of it."""
    path = folder / "gateway.toml"
    text = config.sample().replace("ca_file", "# ca_file").replace("# insecure", "insecure")
    text = text.replace('adc_step = "1/128"', "")
    path.write_text(text.replace("# sampler", "sampler") if asks else text)
    deployment = config.load(path)
    query = config.query(deployment)
    none = enrol.Devices(deployment.site.name, bytes(range(32)), {})
    made = enrol.enrol_device(none, "wall", 0, keyholder=False, sensors=16)
    link = enrol.make_link(deployment.mqtt, "wall", made.password, "wall-x")
    limits, more = granted(query, 0.0), siting.derive_settings(deployment)
    enrol.save_board(folder / "wall.device.json", made, limits, link, more)
    held = boardfile.load(folder / "wall.device.json", deployment.site.name, "wall")
    assert held is not None
    return deployment, first_round(query), held


@pytest.mark.parametrize("asks", [True, False])
def test_the_boards_config_says_what_its_enrolment_says(tmp_path: Path, asks: bool) -> None:
    """And stays so when its keys go to a board, and when its chain is gone."""
    _, _, held = enrolled(tmp_path, asks)
    (tmp_path / "heatveil.json").write_bytes(settings.make_config(held, OWN))

    assert load(str(tmp_path / "heatveil.json")).tables is asks
    assert boardfile.bind_to_chip(held, "chip").tables is asks
    done = boardfile.hand_over(boardfile.bind_to_chip(held, "chip"))
    again = boardfile.load(done.path, "lab", "wall")
    assert again is not None
    assert again.tables is asks


def test_a_board_that_would_refuse_tables_is_not_made(tmp_path: Path) -> None:
    """It is found out at the desk, not by rounds that are paid for nothing."""
    deployment, asked, held = enrolled(tmp_path, True)
    provisioning.check_device(deployment, asked, held, None)

    with pytest.raises(OperatorFault, match="from tables, which this device was not set up for"):
        provisioning.check_device(deployment, asked, held._replace(more={}), None)


def test_a_tick_that_is_shorter_than_an_answer_is_refused(tmp_path: Path) -> None:
    """One of an older config becomes longer; what somebody writes now is told to be wrong."""
    held, path = enrolled(tmp_path, False)[2], tmp_path / "heatveil.json"
    path.write_bytes(settings.make_config(held, OWN | {"tick_ms": 100}))
    needed = load(str(path)).tick_ms
    settings.check_tick(held, OWN | {"tick_ms": needed})

    assert needed > 215  # what an emulated RP2040 takes for less
    with pytest.raises(OperatorFault, match=f"settings is {needed - 1} and .*it is {needed} then"):
        settings.check_tick(held, OWN | {"tick_ms": needed - 1})
