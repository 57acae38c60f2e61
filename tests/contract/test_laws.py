"""The laws that every mechanism of the table keeps, seen through its record alone.

With them stands `tally`, which has the least that a record may hold: what a mechanism need not
give, nobody may ask for.
"""

import pickle
import sys
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.records import Reading
from gateway.faults import OperatorFault
from gateway.mechanisms import (
    MECHANISMS,
    Mechanism,
    find_for_query,
    find_mechanism,
    find_serving,
    play,
)
from gateway.service.ledger import compute_budget_rho
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap, Unresolved, from_npz
from tests import processes
from tests.contract import tally
from tests.contract.cases import CASES, Case

EVERY = (*MECHANISMS, tally.MECHANISM)
EACH = pytest.mark.parametrize("mechanism", EVERY, ids=lambda one: one.name)


def case_of(mechanism: Mechanism) -> Case:
    """Return the case of a mechanism, which it must bring."""
    assert mechanism.name in CASES, f"{mechanism.name} brings no case: tests/contract/cases.py"
    return CASES[mechanism.name]


@EACH
def test_length_and_range_of_a_report_depend_on_its_round_alone(mechanism: Mechanism) -> None:
    """Else who sees that a device answers, and how long, learns what it read."""
    case = case_of(mechanism)
    round = mechanism.plan(case.query, ())
    half, numbers = 1 << (mechanism.bits(round) - 1), mechanism.vector_length(round)
    least = 0 if mechanism.trust == "distributed" else -half  # sums are modulo a power of two
    for seed, truth in product(range(20), case.far):
        reading = case.readings(round, truth)[0]
        sensor, *answer = mechanism.report(round, reading, Tape(b"%d" % seed))

        assert (sensor, len(answer)) == (reading.sensor, numbers)
        assert all(type(one) is int and least <= one < least + 2 * half for one in answer)


@EACH
def test_the_same_tape_gives_the_same_report(mechanism: Mechanism) -> None:
    """And who trusts nobody gives another one on another tape, now and then."""
    case = case_of(mechanism)
    round = mechanism.plan(case.query, ())
    reading = case.readings(round, case.truth)[0]
    found = [mechanism.report(round, reading, Tape(b"%d" % (n // 2))) for n in range(80)]

    assert found[::2] == found[1::2]
    assert (len(set(map(tuple, found))) > 1) == (mechanism.trust != "central")


@EACH
def test_a_release_of_nobody_is_well_formed(mechanism: Mechanism) -> None:
    """Whole numbers or nothing, as many as of others; and a map or a reason comes of it.

    How long a release is may depend on how many answered, and on nothing that they said.
    """
    case = case_of(mechanism)
    round = mechanism.plan(case.query, ())
    full, one, other = (
        mechanism.release(
            round,
            [mechanism.report(round, told, Tape(b"all")) for told in case.readings(round, truth)],
            Tape(b"full"),
        )
        for truth in (case.truth, *case.far)
    )
    none = mechanism.release(round, [], Tape(b"none"))

    assert (none.round, none.reports) == (round, 0)
    assert full.reports >= one.reports == other.reports > 0
    assert len(one.values) == len(other.values)
    assert len(none.values) in (0, len(full.values))
    assert all(value is None or type(value) is int for value in (*none.values, *full.values))
    assert isinstance(mechanism.recover(case.query, [none]), Heatmap | Unresolved)


@EACH
def test_with_hardly_any_noise_the_truth_is_found(mechanism: Mechanism) -> None:
    """Within a hundredth of the side; with the usual noise it is not: the negative control."""
    case = case_of(mechanism)
    share = case.truth / case.truth.sum()
    off = []
    for query in (case.sharp, case.query):
        found = play(
            mechanism, query, lambda round: case.readings(round, case.truth), Tape(b"sharp")
        )
        assert isinstance(found, Heatmap)
        assert found.mass.shape == case.truth.shape
        assert found.mass.min() >= 0
        assert found.mass.sum() == pytest.approx(1)
        off.append(earth_movers(share, found.mass, "l1"))

    assert off[0] <= case.near < off[1]


@EACH
def test_rounds_share_one_promise(mechanism: Mechanism) -> None:
    """Three or more, each with the whole promise, which is the query's and pays for all."""
    query, rounds, releases = replace(case_of(mechanism).query, readings=3), [], []
    while (round := mechanism.plan(query, releases)) is not None:
        rounds.append(round)
        releases.append(mechanism.release(round, [], Tape(b"none")))
    one = mechanism.plan(case_of(mechanism).query, ()).guarantee

    assert [round.number for round in rounds] == list(range(1, len(rounds) + 1))
    assert len(rounds) == 3 or (len(rounds) > 3 and mechanism.trust == "distributed")
    assert len({round.guarantee._replace(rho=None) for round in rounds}) == 1
    promise = rounds[0].guarantee
    assert Fraction(*promise.epsilon) <= Fraction(*query.epsilon)
    prices = [Fraction(*round.guarantee.rho) for round in rounds]
    assert sum(prices) <= compute_budget_rho(promise, 3)
    assert max(prices) < compute_budget_rho(one, 1)  # each costs less than one alone would
    told = mechanism.promise(query, promise)[:2]  # who is trusted may come first
    assert any(line.startswith("Protected: ") for line in told)


@pytest.mark.parametrize(
    "mechanism", [one for one in EVERY if case_of(one).chances], ids=lambda one: one.name
)
def test_no_answer_is_likelier_than_epsilon_allows(mechanism: Mechanism) -> None:
    """All answers to all readings, in whole numbers; and epsilon is used, not only kept."""
    case = case_of(mechanism)
    round = mechanism.plan(case.query, ())
    columns, rows = round.grid.shape
    assert case.chances is not None
    law = case.chances(round)
    laws = [law(Reading(0, (x, y))) for x in range(columns) for y in range(rows)]
    answers = {answer for one in laws for answer in one}
    worst = max(
        Fraction(max(weights), min(weights))
        for weights in ([one.get(answer, 0) for one in laws] for answer in answers)
    )
    with localcontext(Context(prec=60)):
        allowed = Fraction((Decimal(case.query.epsilon[0]) / case.query.epsilon[1]).exp())

    assert len({sum(one.values()) for one in laws}) == 1
    assert allowed * Fraction(99, 100) < worst <= allowed


@EACH
def test_what_no_device_sends_is_refused(mechanism: Mechanism) -> None:
    """By what the service asks of a payload, or by the release itself."""
    if mechanism.serving is None or mechanism.subject is None:
        pytest.skip("its devices cannot be served yet")
    round = mechanism.plan(case_of(mechanism).query, ())
    if mechanism.trust == "distributed":  # nobody sees one; the secure sum's own tests are theirs
        for payload in ([0], [0, *[-1] * mechanism.vector_length(round)]):
            with pytest.raises(ValueError, match="a report to round"):
                mechanism.release(round, [payload], Tape(b""))
        return
    wrong = mechanism.serving.payload_fault(round)
    if mechanism.trust == "central":
        assert wrong([0])
        return  # the rest is `release`'s, which the audit asks
    for payload in mechanism.subject.asked.list_impossible(round, 0):
        if len(payload) != 2 or payload[0] != 0:
            continue  # of another length, or another's sensor: the wire refuses those
        assert wrong(payload), payload


INGEST = """
import pickle, sys
import gateway.cli.serve
from edge.core.entropy import Tape
from gateway.mechanisms import find_mechanism
for round, payloads in pickle.load(open(sys.argv[1], "rb")):
    mechanism = find_mechanism(round.mechanism)
    mechanism.release(round, payloads, Tape(b"release"))
    if mechanism.serving is not None:
        list(map(mechanism.serving.payload_fault(round), payloads))
        mechanism.serving.ledger_delta(round), mechanism.serving.page_values(round)
parts = "fft integrate interpolate linalg optimize signal sparse spatial special stats".split()
heavy = {"cvxpy", "matplotlib", "numba", "pandas", *("scipy." + part for part in parts)}
print(sorted(heavy & sys.modules.keys()))
"""


def test_a_gateway_releases_without_what_only_a_map_needs(tmp_path: Path) -> None:
    """Loaded by a round, it stays in the process that must never wait: seconds and 100 MB."""
    given = []
    for mechanism in MECHANISMS:
        case = case_of(mechanism)
        round = mechanism.plan(case.query, ())
        told = case.readings(round, case.truth)
        given.append((round, [mechanism.report(round, one, Tape(b"report")) for one in told]))
    (tmp_path / "given").write_bytes(pickle.dumps(given))
    command = [sys.executable, "-c", INGEST, str(tmp_path / "given")]
    done = processes.run(command, capture_output=True, text=True)

    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_every_mechanism_brings_its_case() -> None:
    """The table and the cases name the same mechanisms."""
    assert {one.name for one in MECHANISMS} == CASES.keys() - {tally.NAME}


def test_a_mechanism_that_nobody_knows_is_refused_everywhere() -> None:
    """By name and by query, and never taken for another."""
    for ask in (find_mechanism, find_serving):
        with pytest.raises(OperatorFault, match="nobody is not a mechanism"):
            ask("nobody")
    with pytest.raises(TypeError, match="of no mechanism"):
        find_for_query(tally.Query((4, 3), (1, 1)))


def _run(words: str) -> tuple[int, str]:
    done = processes.run(
        [sys.executable, "-m", "tests.contract.tally", *words.split()],
        cwd=Path(__file__).resolve().parents[2],  # where the package of tests is
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_the_least_record_is_enough_for_the_command_line(tmp_path: Path) -> None:
    """A mechanism that nobody has heard of is played, drawn again, explained, and not served."""
    out, public, file = (tmp_path / name for name in ("map.npz", "public.json", "g.toml"))
    words = f"--points mnormal --users 400 --seed 1 --set floor=2 --out {out} --published {public}"
    status, said = _run(f"play tally {words}")
    assert (status, "Earth mover's distance" in said) == (0, True)
    status, _ = _run(f"recover {public} --out {tmp_path / 'again.npz'}")
    assert status == 0
    assert np.array_equal(from_npz(out).mass, from_npz(tmp_path / "again.npz").mass)
    status, said = _run("calibrate --mechanism tally --epsilon 1/2")
    assert (status, said.startswith("NOT PROTECTED")) == (0, True)
    status, sample = _run("config --sample --mechanism tally")
    file.write_text(sample)
    assert "[tally]\n" in sample
    assert "floor = 0" in sample
    for command in ("check", "serve", "enrol"):
        status, said = _run(f"{command} --config {file}")
        assert (status, "tally cannot be served" in said) == (1, True)
    status, said = _run("play tally --sources-random 2")
    assert (status, "--sources-random came with tally" in said) == (1, True)
