"""The deployment file by mechanism: what one needs the other refuses, and each in a sentence."""

from pathlib import Path

import pytest

from edge.core.records import Grid
from gateway.faults import OperatorFault
from gateway.mechanisms import TABLE, find, find_service, first_limits, first_round
from gateway.service.ledger import check_terms, terms
from gateway.settings import config
from recovery.disk.query import Query


def written(folder: Path, text: str) -> Path:
    path = folder / "gateway.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("mechanism", [name for name in TABLE if find(name).serving])
def test_the_sample_of_each_loads_and_can_be_asked(tmp_path: Path, mechanism: str) -> None:
    """It is what everybody begins with; what is asked can be paid for as often as is promised."""
    deployment = config.load(written(tmp_path, config.sample(mechanism)))
    query = config.query(deployment)

    plan = first_round(deployment, query)
    assert plan.mechanism == mechanism
    said = find(mechanism).promise(query, plan.guarantee)
    assert said[find(mechanism).trust == "central"].startswith("Protected: ")
    if find(mechanism).serving is None:
        with pytest.raises(OperatorFault, match="cannot be served"):
            first_limits(deployment, query)
        return
    limits = first_limits(deployment, query)
    assert limits.budget >= deployment.privacy.readings
    find_service(mechanism).check_held(query, {"a": 1}, {"a": limits})


def test_the_sample_of_people_says_what_its_query_is(tmp_path: Path) -> None:
    """Nothing of the file is passed over on the way to the plan."""
    text = config.sample("disk").replace("# radius = 3", "radius = 2.5")
    text = text.replace('estimator = "auto"', 'estimator = "em"').replace("= 0.9", "= 0.8")

    found = config.query(config.load(written(tmp_path, text)))
    assert found == Query(Grid((15, 15), 2000), (7, 2), radius=2.5, estimator="em", level=0.8)


@pytest.mark.parametrize(
    ("mechanism", "old", "new", "words"),
    [
        ("thermal", "[heat]\n", "[disk]\ndevices = 4\n[heat]\n", ["[disk] is given", "thermal"]),
        ("thermal", 'delta = "1/100000"\n', "", ["[privacy] delta is missing", "thermal"]),
        ("thermal", 'mechanism = "thermal"', 'mechanism = "disk"', ["[heat] is given", "[disk]"]),
        ("disk", "[privacy]\n", "[heat]\nspread_m2 = 1\n[privacy]\n", ["[heat] is given", "disk"]),
        ("disk", "[privacy]\n", "[sensors]\ncount = 9\n[privacy]\n", ["[sensors] is given"]),
        ("disk", "[privacy]\n", '[privacy]\ndelta = "1/9"\n', ["[privacy] delta", "never fails"]),
        ("disk", "[privacy]\n", "[privacy]\nkeyholder = true\n", ["keyholder", "hides no place"]),
        (
            "disk",
            "[privacy]\n",
            "[privacy]\nprotect_distance_m = 2\n",
            ["protect_distance_m", "remove it"],
        ),
        ("disk", "solve_s = 10", 'estimator = "lasso"', ["[rounds] estimator", "under [disk]"]),
        ("disk", '# scheme = "auto"', 'scheme = "damn"', ["[disk] scheme is 'damn'", "dam-ns"]),
        ("disk", 'estimator = "auto"', 'estimator = "posterior"', ["[disk] estimator", "'ems'"]),
        ("disk", "# radius = 3", "radius = -1", ["[disk] radius is -1", "greater than or equal"]),
        ("disk", "level = 0.9", "level = 1.5", ["[disk] level is 1.5", "or equal to 1"]),
        ("disk", "devices = 2000", "", ["[disk] devices is missing"]),
        ("disk", "devices = 2000", "devices = 0", ["[disk] devices is 0"]),
        ("disk", "cells = [15, 15]", "cells = [15, 15]\nwalls = 'insulated'", ["[room] walls"]),
        ("disk", "[disk]", "[disc]", ["[disc]", "did you mean disk?"]),
    ],
)
def test_a_table_of_another_mechanism_is_refused_in_a_sentence(
    tmp_path: Path, mechanism: str, old: str, new: str, words: list[str]
) -> None:
    """What is written down and heeded by nobody would be taken for a promise."""
    assert old in config.sample(mechanism)
    path = written(tmp_path, config.sample(mechanism).replace(old, new, 1))
    with pytest.raises(OperatorFault) as caught:
        config.load(path)

    said = str(caught.value)
    assert "\n" not in said
    for word in [str(path), *words]:
        assert word in said


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('epsilon = "7/2"', 'epsilon = "170/1"', "epsilon of one report is 170"),
        ("readings = 1", "readings = 100000", "epsilon of one report is 3.5e-05"),
        ('# scheme = "auto"', 'scheme = "krr"\nradius = 3', "radius is 3"),
        ("# radius = 3", "radius = 400", "a device reads at most"),
    ],
)
def test_a_promise_that_cannot_be_asked_for_is_the_operators_fault(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    """Also a Round that no device could read: it is known before the first is charged."""
    assert old in config.sample("disk")
    path = written(tmp_path, config.sample("disk").replace(old, new, 1))
    with pytest.raises(OperatorFault, match="cannot be served") as caught:
        config.query(config.load(path))

    assert words in str(caught.value)


def test_a_mechanism_that_nobody_knows_is_named(tmp_path: Path) -> None:
    """With the nearest that there is."""
    text = config.sample().replace('mechanism = "thermal"', 'mechanism = "thermos"')
    with pytest.raises(OperatorFault, match="thermos is not a mechanism.*thermal"):
        config.query(config.load(written(tmp_path, text)))


def test_prices_of_two_mechanisms_are_never_added(tmp_path: Path) -> None:
    """A database that was charged for warmth takes no charge for people, nor the other way."""
    paid_for = {}
    for mechanism in TABLE:
        deployment = config.load(written(tmp_path, config.sample(mechanism)))
        paid_for[mechanism] = terms(first_round(deployment, config.query(deployment)).guarantee)
        check_terms(paid_for[mechanism], paid_for[mechanism])

    for paid, asked in (("thermal", "disk"), ("disk", "thermal")):
        with pytest.raises(OperatorFault, match="promises something else than its database"):
            check_terms(paid_for[paid], paid_for[asked])
