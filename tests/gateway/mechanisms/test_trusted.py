"""A gateway that is trusted with places, as it is typed: sample, enrol, fleet, serve, show."""

import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from edge.core.records import Reading
from edge.mechanisms import pyramid, ranks
from gateway.devices.broker.embedded import find_free_port
from gateway.mechanisms import find, first_round
from gateway.service import sealing
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from gateway.store.reader import Reader
from tests import processes

PROGRAM = Path(sys.executable).with_name("heatveil")
DEVICES = 12
# All but one stand in the first corner; where that one is, no other is and nothing else says.
PLANTED = (0.73, 0.41)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, str], Path]:
    """Return what writes a sample's deployment of twelve devices, on a broker of that port."""

    def written(port: int, mechanism: str) -> Path:
        monkeypatch.setenv("HEATVEIL_STORE__ROUND_KEYS", str(tmp_path / "run"))
        text = config.sample(mechanism)
        for old, new in (
            ("devices = 2000", f"devices = {DEVICES}"),
            ("length_m = 30.0", "# a unit square"),
            ("readings = 1", "readings = 2"),
            ("quorum = 20", "quorum = 2"),
            ("every_s = 3600", "every_s = 0"),
            ("port = 8883", f"port = {port}\ninsecure = true"),
            ("port = 8080", f"port = {find_free_port()}"),
            ('ca_file = "', '# ca_file = "'),
            ('password_file = "', '# password_file = "'),
            ('name = "lab"', f'name = "trusted-{port}"'),
        ):
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "site" / "gateway.toml"
        path.parent.mkdir()
        path.write_text(text)
        return path

    return written


@pytest.mark.parametrize(
    ("name", "peer"), [("pyramid", "adaptives Gitter"), ("ranks", "festen Quadraten")]
)
def test_where_a_peer_wins_the_page_says_so_under_what_it_is_not(name: str, peer: str) -> None:
    """An operator's check says it too, but visitors of the page see no check."""
    mechanism = find(name)
    english, german = mechanism.words.page["not"]

    (said,) = mechanism.cautions(None)
    assert said in english
    assert peer in german


@pytest.mark.long
def test_a_fleet_without_central_is_refused_before_anything_is_made(
    site: Callable[[int, str], Path], heatveil: Callable[..., Any]
) -> None:
    """That somebody reads what devices say is agreed to when they are enrolled, or not at all."""
    path = site(1, "ranks")
    for words in (("enrol",), ("fleet", "--enrol")):
        said = heatveil(words[0], "--config", path, *words[1:])
        assert said.status == 1
        assert "is not enrolled for ranks" in said.err
        assert "--central ranks" in said.err

    assert [one.name for one in path.parent.iterdir()] == ["gateway.toml"]


def of_ranks(plan: Any, payloads: Any) -> tuple[list[int], float]:
    """Return the exact sums of sorted places, and the scale of their noise."""
    params = ranks.params_of(plan)
    scale = ranks.sensitivity(plan) * params.den / params.num
    return ranks.sums(plan, [place for _, place in payloads]), scale


def of_pyramid(plan: Any, payloads: Any) -> tuple[list[int], float]:
    """Return the exact parts of all squares, none of which is left out here, and the scale."""
    added = [pyramid.levels(plan, payload) for payload in payloads]
    exact = pyramid.gather_values(
        plan, lambda k, squares: [sum(one[k].get(at, 0) for one in added) for at in squares]
    )
    levels = range(plan.params[3], plan.params[3] + len(plan.params) - 6)
    assert len(exact) == sum(len(pyramid.within(plan.grid, level)) for level in levels)
    return exact, max(plan.params[0] * den / num for num, den in pyramid.epsilons(plan))


@pytest.mark.long
@pytest.mark.parametrize(("mechanism", "exactly"), [("ranks", of_ranks), ("pyramid", of_pyramid)])
def test_places_arrive_sealed_and_leave_as_sums_with_noise(
    mechanism: str,
    exactly: Callable[[Any, Any], tuple[list[int], float]],
    mosquitto: Mqtt,
    site: Callable[[int, str], Path],
    heatveil: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Each sum is the exact one and noise, paid for once; nobody's place is in what is kept."""
    path, opened = site(mosquitto.port, mechanism), []
    unseal = sealing.RoundKey.unseal

    def unsealed(*given: Any) -> Any:
        found = unseal(*given)
        opened.append([report.payload for report in found[0].reports.values()])
        return found

    monkeypatch.setattr(sealing.RoundKey, "unseal", unsealed)
    places = [*[(0.1, 0.1)] * (DEVICES - 1), PLANTED]
    points = tmp_path / "points.csv"
    rows = (f"{user},{x},{y}\n" for user, (x, y) in enumerate(places))
    points.write_text("user,x,y\n" + "".join(rows))
    assert heatveil("enrol", "--config", path, "--central", mechanism).status == 0
    command = [PROGRAM, "fleet", "--config", path, "--points", points]
    with processes.Child(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as fleet:
        assert fleet.stdout
        assert fleet.stdout.readline().startswith(f"{DEVICES} devices")
        served = heatveil("serve", "--config", path, "--rounds", "2")
        fleet.terminate()
    shown, ledger = heatveil("show", "--config", path), heatveil("ledger", "--config", path)

    assert served.status == shown.status == ledger.status == 0, served.err
    assert shown.out.startswith("Trusted: the gateway.")
    assert f"Devices used: {DEVICES} of {DEVICES}." in shown.out
    assert "epsilon 3.5" in ledger.out
    deployment = config.load(path)
    plan = first_round(deployment, config.query(deployment))
    cell = tuple(int(part * side) for part, side in zip(PLANTED, plan.grid.shape, strict=True))
    planted = find(mechanism).report(plan, Reading(0, cell), None)[1]
    with closing(Reader(deployment.site.database)) as reader:
        for number, payloads in enumerate(opened, 1):
            assert len(payloads) == DEVICES
            assert planted in [payload[1] for payload in payloads]
            (exact, scale), found = exactly(plan, payloads), reader.release(number)
            assert found != exact
            assert all(abs(a - b) < 50 * scale for a, b in zip(found, exact, strict=True))
        assert len(opened) == 2
        assert [float(one.rho) for one in reader.ledger(10).charges] == [(3.5 / 2) ** 2 / 2] * 2
        assert reader.map(2)["guarantee"]["trust"].startswith("central")
    assert list((tmp_path / "run").iterdir()) == []
    if planted < 1 << 20:
        return  # stands in any file
    four = planted.to_bytes(4, "big")
    forms = four, four[::-1], b64encode(four)[:5], str(planted).encode(), four.hex().encode()
    kept = b"".join(one.read_bytes() for one in path.parent.glob("heatveil.sqlite*"))
    assert [one for one in forms if one in kept] == []
