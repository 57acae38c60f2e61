"""Mechanisms of a trusted gateway: played, and a crowd of them at a real service."""

import json
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading
from edge.mechanisms import pyramid, quadtree, ranks
from edge.mechanisms.quadtree import params_of, sensitivity
from gateway.faults import OperatorFault
from gateway.mechanisms import find_mechanism, plan_first_round
from gateway.mechanisms.pyramid.crowd import load_crowd
from gateway.mechanisms.worlds import Inputs
from gateway.service import sealing
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from gateway.store.reader import Reader
from recovery.pyramid import Query, plan
from tests import processes
from tests.processes import find_free_port

# A gateway that is trusted with places, as it is typed: sample, enrol, fleet, serve, show.

PROGRAM = Path(sys.executable).with_name("heatveil")
DEVICES = 12
# All but one stand in the first corner; where that one is, no other is and nothing else says.
PLANTED = (0.73, 0.41)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, str], Path]:
    """Return what writes a sample's deployment of twelve devices, on a broker of that port."""

    def written(port: int, mechanism: str) -> Path:
        monkeypatch.setenv("HEATVEIL_STORE__ROUND_KEYS", str(tmp_path / "run"))
        text = config.make_sample(mechanism)
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


@pytest.mark.long
def test_a_fleet_without_central_is_refused_before_anything_is_made(
    site: Callable[[int, str], Path], heatveil: Callable[..., Any]
) -> None:
    """That somebody reads what devices say is agreed to when they are enrolled, or not at all."""
    path = site(1, "ranks")
    said = heatveil("enrol", "--config", path)

    assert "is not enrolled for ranks" in said.refusal
    assert "--central ranks" in said.err
    assert [one.name for one in path.parent.iterdir()] == ["gateway.toml"]


def of_ranks(plan: Any, payloads: Any) -> tuple[list[int], float]:
    """Return the exact sums of sorted places, and the scale of their noise."""
    params = ranks.params_of(plan)
    scale = ranks.sensitivity(plan) * params.den / params.num
    return ranks.sum_groups(plan, [place for _, place in payloads]), scale


def of_pyramid(plan: Any, payloads: Any) -> tuple[list[int], float]:
    """Return the exact parts of all squares, none of which is left out here, and the scale."""
    added = [pyramid.unpack_levels(plan, payload) for payload in payloads]
    exact = pyramid.gather_values(
        plan, lambda k, squares: [sum(one[k].get(at, 0) for one in added) for at in squares]
    )
    levels = range(plan.params[3], plan.params[3] + len(plan.params) - 6)
    assert len(exact) == sum(len(pyramid.list_squares(plan.grid, level)) for level in levels)
    return exact, max(plan.params[0] * den / num for num, den in pyramid.epsilons(plan))


def served(path: Path, places: list[Any], heatveil: Callable[..., Any], *words: str) -> list[Any]:
    """Enrol, let people stand there, and serve two rounds; return what serve, show, ledger say."""
    points = path.with_name("points.csv")
    rows = (f"{user},{x},{y}\n" for user, (x, y) in enumerate(places))
    points.write_text("user,x,y\n" + "".join(rows))
    assert heatveil("enrol", "--config", path, *words).status == 0
    command = [PROGRAM, "fleet", "--config", path, "--points", points]
    with processes.Child(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as fleet:
        assert fleet.stdout.readline().startswith(f"{DEVICES} devices")
        said = [heatveil("serve", "--config", path, "--rounds", "2")]
        fleet.terminate()
    said += [heatveil(command, "--config", path) for command in ("show", "ledger")]
    assert [one.status for one in said] == [0, 0, 0], said[0].err
    assert f"Devices that answered: {DEVICES} of {DEVICES}." in said[1].out
    assert "epsilon 3.5" in said[2].out
    return said


@pytest.mark.long
def test_places_of_who_trusts_nobody_are_counted_and_paid_for(
    mosquitto: Mqtt, site: Callable[[int, str], Path], heatveil: Callable[..., Any]
) -> None:
    """Every answer of each round and none beside; then all of epsilon is spent."""
    path = site(mosquitto.port, "disk")
    _, show, _ = served(path, [(0.1, 0.1)] * DEVICES, heatveil)

    assert not show.out.startswith("Trusted")
    with closing(Reader(config.load_deployment(path).site.database)) as reader:
        assert [sum(reader.read_release(number) or []) for number in (1, 2)] == [DEVICES] * 2
        assert [float(one.rho) for one in reader.read_ledger(10).charges] == [
            (3.5 / 2) ** 2 / 2
        ] * 2


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
    unseal = sealing.RoundKey.unseal_reports

    def unsealed(*given: Any) -> Any:
        found = unseal(*given)
        opened.append([report.payload for report in found[0].reports.values()])
        return found

    monkeypatch.setattr(sealing.RoundKey, "unseal_reports", unsealed)
    places = [*[(0.1, 0.1)] * (DEVICES - 1), PLANTED]
    _, show, _ = served(path, places, heatveil, "--central", mechanism)

    assert show.out.startswith("Trusted: the gateway.")
    deployment = config.load_deployment(path)
    plan = plan_first_round(deployment, config.make_query(deployment))
    cell = tuple(int(part * side) for part, side in zip(PLANTED, plan.grid.shape, strict=True))
    planted = find_mechanism(mechanism).report(plan, Reading(0, cell), None)[1]
    with closing(Reader(deployment.site.database)) as reader:
        for number, payloads in enumerate(opened, 1):
            assert len(payloads) == DEVICES
            assert planted in [payload[1] for payload in payloads]
            (exact, scale), found = exactly(plan, payloads), reader.read_release(number)
            assert found != exact
            assert all(abs(a - b) < 50 * scale for a, b in zip(found, exact, strict=True))
        assert len(opened) == 2
        assert [float(one.rho) for one in reader.read_ledger(10).charges] == [
            (3.5 / 2) ** 2 / 2
        ] * 2
        assert reader.read_map(2)["guarantee"]["trust"].startswith("central")
    assert list((tmp_path / "run").iterdir()) == []
    if planted < 1 << 20:
        return  # stands in any file
    four = planted.to_bytes(4, "big")
    forms = four, four[::-1], b64encode(four)[:5], str(planted).encode(), four.hex().encode()
    kept = b"".join(one.read_bytes() for one in path.parent.glob("heatveil.sqlite*"))
    assert [one for one in forms if one in kept] == []


# People in several places each, as `heatveil play pyramid --points` reads them.

MECHANISM = find_mechanism("pyramid")
WORLD = np.random.default_rng(0)


def a_file(folder: Path, rows: str, head: str = "user,x,y,weight") -> Inputs:
    path = folder / "points.csv"
    path.write_text(f"{head}\n{rows}\n")
    return Inputs(points=str(path))


def test_several_rows_of_a_user_are_one_mass(tmp_path: Path) -> None:
    """Two of weight 3 share one mass; one of weight a quarter has no more than that."""
    inputs = a_file(tmp_path, "a,0.1,0.1,3\nb,0.6,0.6,0.25\na,0.9,0.1,3")

    crowd = load_crowd(Query(Grid((2, 2), 0), (1, 1)), inputs, WORLD)

    np.testing.assert_allclose(crowd.truth, [[0.5, 0.5], [0, 0.25]])
    assert (crowd.query.users, crowd.query.places) == (2, 2)
    assert (
        "more than one mass, a row without a weight being one: 1;" in crowd.describe_exceptions()
    )
    assert "all of them at once, 2 places a report" in crowd.describe_exceptions()
    round = plan(crowd.query, ())
    payloads = [MECHANISM.report(round, one, None) for one in crowd.read_devices(round)]
    assert [sum(payload[2::2]) for payload in payloads] == [1024, 256]


@pytest.mark.parametrize(
    ("name", "more"), [("pyramid", {}), ("ranks", {}), ("ranks", {"points": 2})]
)
def test_points_beyond_the_grid_count_or_are_refused_and_never_dropped(
    tmp_path: Path, name: str, more: Any
) -> None:
    """Whichever was chosen is said."""
    inputs = a_file(tmp_path, "a,0.1,0.1\nb,1.6,0.6", "user,x,y")
    mechanism = find_mechanism(name)
    query = mechanism.query(Grid((4, 4), 0), (1, 1), **more)

    crowd = mechanism.world(query, inputs, WORLD)

    assert crowd.truth.sum() == 2
    assert "1 of the points stands beyond the grid" in crowd.describe_exceptions()
    with pytest.raises(OperatorFault, match=r"1 of 2 points beyond the grid, the first at 1\.6"):
        mechanism.world(replace(query, outside="refuse"), inputs, WORLD)


def test_points_over_time_are_told_one_after_the_other(tmp_path: Path) -> None:
    """Two points at a time: the first two, then the third; who has no more is said to repeat."""
    rows = "a,0.1,0.1\na,0.9,0.1\na,0.1,0.9\na,0.1,0.9\nb,0.9,0.9"
    ranks = find_mechanism("ranks")
    query = ranks.query(Grid((2, 2), 0), (1, 1), points=2, readings=2)

    crowd = ranks.world(query, a_file(tmp_path, rows, "user,x,y"), WORLD)

    np.testing.assert_allclose(crowd.truth, [[0.5, 0.5], [1, 2]])
    assert "told before: 1;" in crowd.describe_exceptions()


SIX = "\n".join(f"{user},0.{row},0.{row}" for user in "ab" for row in range(1, 7))


def test_rows_that_a_report_has_no_room_for_are_told_of(tmp_path: Path) -> None:
    """Four of six rows are left out for each of two users, or the play is refused."""
    inputs, ranks = a_file(tmp_path, SIX, "user,x,y"), find_mechanism("ranks")
    query = ranks.query(Grid((4, 4), 0), (1, 1), points=2)

    found = [
        ranks.world(replace(query, points=many), inputs, WORLD).describe_exceptions()
        for many in (2, 6)
    ]
    assert ["holds 2: 8;" in found[0], "points=6" in found[0], found[1]] == [True, True, ""]
    with pytest.raises(OperatorFault, match=r"readings=6,.*points=6"):
        ranks.world(replace(query, points=1), inputs, WORLD)
    for places in (1, 2):
        with pytest.raises(OperatorFault, match="places=6"):
            load_crowd(Query(Grid((4, 4), 0), (1, 1), places=places), inputs, WORLD)


@pytest.mark.parametrize(
    ("name", "more", "rows", "why"),
    [
        (
            "quadtree",
            {"adjacency": "zero-out", "readings": 3},
            "a,0.1,0.1,1\na,0.9,0.9,1",
            "row 2",
        ),
        ("ranks", {"points": 2}, "a,0.1,0.1,1\na,0.9,0.9,2", "line 3: the weight is 2"),
        ("ranks", {}, "a,0.1,0.1,3", "line 2: the weight is 3"),
    ],
)
def test_what_a_play_would_leave_out_of_a_file_is_refused(
    tmp_path: Path, name: str, more: Any, rows: str, why: str
) -> None:
    """Rows of who moves, where all rounds ask the same crowd; weights, where a row counts one."""
    mechanism = find_mechanism(name)

    with pytest.raises(OperatorFault, match=why):
        mechanism.world(
            mechanism.query(Grid((4, 4), 0), (1, 1), **more), a_file(tmp_path, rows), WORLD
        )


@pytest.mark.parametrize("kind", ["systematic", "stochastic"])
def test_who_is_in_several_places_counts_as_one_among_them(tmp_path: Path, kind: str) -> None:
    """Each by its weight, on average; no report marks more than the noise is made for."""
    mechanism = find_mechanism("quadtree")
    rows = "a,0.1,0.1,3\na,0.9,0.1,1\nb,0.9,0.9,7\na,0.1,0.9,2"
    query = mechanism.query(Grid((2, 2), 0), (1, 1), "zero-out", kind=kind, scale=5)
    crowd = mechanism.world(query, a_file(tmp_path, rows), WORLD)
    round, tape, runs = mechanism.plan(crowd.query, ()), Tape(kind.encode()), 2000
    total = np.zeros(4)
    for _ in range(runs):
        for reading in crowd.read_devices(round):
            marks = quadtree.make_marks(round, reading, tape)
            assert sum(count for _, count in marks) <= sensitivity(params_of(round))
            for place, count in marks:
                total[place] += count

    np.testing.assert_allclose(crowd.truth, [[3 / 6, 1 / 6], [2 / 6, 1]])
    np.testing.assert_allclose(total / runs / 5, crowd.truth.ravel(), atol=0.01)
    with pytest.raises(OperatorFault, match="places=3"):
        mechanism.world(replace(query, places=2), a_file(tmp_path, rows), WORLD)


def test_a_map_says_first_who_is_trusted(tmp_path: Path) -> None:
    """A reader must not take it for a promise against the gateway; one user is enough."""
    crowd = load_crowd(Query(Grid((4, 4), 0), (1, 1)), a_file(tmp_path, "a,0.1,0.1,1"), WORLD)
    round = plan(crowd.query, ())
    payloads = [MECHANISM.report(round, one, None) for one in crowd.read_devices(round)]

    released = MECHANISM.release(round, payloads, Tape(b"one"))
    found = MECHANISM.recover(crowd.query, [released])
    assert MECHANISM.format_lines(found)[0].startswith("Trusted: the gateway")
    with pytest.raises(OperatorFault, match="whole number for every square"):
        MECHANISM.check_possible(released._replace(values=released.values[1:]), tmp_path)


def test_what_a_level_is_off_by_can_be_asked_before() -> None:
    """sqrt(2) / epsilon_i users, and the shares of epsilon add up."""
    query: Any = Query(Grid((256, 256), 0), (1, 2), estimator="sparse")
    given = {"every_s": None, "plot": None, "inputs": (), "stage": print}

    (line,) = MECHANISM.calibrate(query, as_json=True, **given).lines
    levels = json.loads(line)["levels"]

    assert sum(Fraction(*one["epsilon"]) for one in levels) == Fraction(1, 2)
    assert levels[0]["noise_sd_users"] == pytest.approx(
        2**0.5 / float(Fraction(*levels[0]["epsilon"]))
    )
