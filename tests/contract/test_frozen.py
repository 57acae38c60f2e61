"""What outsiders rely on is what was frozen, however the modules behind it are arranged.

Bytes of the wire, draws of the samplers and streams are frozen in `tests/vectors` and replayed by
`tests/interpreters/test_table.py`. `tests/gateway/store/test_migrations.py` opens a store of an
earlier schema, `tests/edge/core/test_budget.py` device slots of an earlier format.

A difference that is meant is frozen anew, by `python -m tests.contract.freeze`, and told in the
CHANGELOG.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.contract import freeze

SLOW = {"line", "plane", "places", "unknown spread"}  # what samples, or imports what others need
PLAYS = [
    pytest.param(name, one["words"], marks=[pytest.mark.long] * (name in SLOW), id=name)
    for name, one in freeze.frozen("play").items()
]
LAYERS = list(freeze.frozen("audit"))


@pytest.fixture(scope="module")
def enrolled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Return the folder of an enrolled site that never ran, and its page's port."""
    folder = tmp_path_factory.mktemp("enrolled")
    return folder, freeze.site(folder)


@pytest.fixture
def site(enrolled: tuple[Path, int], tmp_path: Path) -> tuple[Path, int]:
    """Return the same in a folder of its own, for what changes it."""
    return shutil.copytree(enrolled[0], tmp_path / "site"), enrolled[1]


def check(found: Any, name: str, part: str | None = None) -> None:
    """See that something is what was frozen under a name, or a part of it."""
    meant = freeze.frozen(name)
    differences = list(freeze.differences(found, meant if part is None else meant[part], name))

    assert differences == [], "\n".join(differences[:20])


@pytest.mark.parametrize(("name", "words"), PLAYS)
def test_a_seeded_run_sends_and_draws_what_it_did(name: str, words: str, tmp_path: Path) -> None:
    """Every number on the wire, the promise, the map and its scores."""
    check(freeze.played(words, tmp_path), "play", name)


def test_the_store_has_the_tables_that_it_had(site: tuple[Path, int]) -> None:
    """Other tables need a migration, and a store of this schema to try it on."""
    check(freeze.stored(site[0]), "store")


def test_the_page_serves_the_api_that_it_served(site: tuple[Path, int]) -> None:
    """Paths, methods, parameters and fields; and the gateway ends well when it is asked to."""
    found, said = freeze.served(*site)

    assert (said.status, len(found)) == (0, 1), said.err
    check(found[0], "api")


def test_the_command_takes_what_it_took() -> None:
    """Every command, argument and option: scripts and units are written with them."""
    check(freeze.commands(), "commands")


@pytest.mark.parametrize("words", list(freeze.frozen("statuses")))
def test_a_list_of_arguments_leaves_with_the_status_that_it_left_with(
    words: str, enrolled: tuple[Path, int]
) -> None:
    """0 done; 1 the operator's fault, in one line; 2 a wrong usage; 4 has its own tests.

    `check` and `health` say what is wrong as their answer, so not on standard error.
    """
    found = freeze.status(words, enrolled[0])

    check(found, "statuses", words)
    answers = words in ("check none.toml", "health --config site.toml")
    assert found[1] == ("" if answers else {0: "", 1: "one line", 2: "usage"}[found[0]])


@pytest.mark.parametrize("name", list(freeze.frozen("names")))
def test_a_name_that_outside_checks_use_is_called_as_it_was(name: str) -> None:
    """It is imported from where it stands, with these arguments and defaults."""
    check(freeze.called(name), "names", name)


def test_the_layers_of_the_audit_are_those(tmp_path: Path) -> None:
    """None is forgotten below, and none is gone."""
    assert freeze.layers(tmp_path) == LAYERS


@pytest.mark.long
@pytest.mark.timeout(1200)  # finite and device take a minute and a half of CPU each
@pytest.mark.parametrize("layer", LAYERS)
def test_the_audit_claims_what_it_claimed(layer: str, tmp_path: Path) -> None:
    """And all of it holds. A promise that nobody looks at any more is missed by nobody else."""
    check(freeze.claimed(layer, tmp_path), "audit", layer)


def test_a_difference_is_seen() -> None:
    """The control: a number, a name, a length or a kind that is another one."""
    meant = {"a": [1, 2.0], "b": {"c": "x"}}
    others = [
        {"a": [1, 2.0 + 1e-6], "b": {"c": "x"}},
        {"a": [2, 2.0], "b": {"c": "x"}},
        {"a": [1.0, 2.0], "b": {"c": "x"}},
        {"a": [1, 2.0, 3], "b": {"c": "x"}},
        {"a": [1, 2.0], "b": {"d": "x"}},
        {"a": [1, float("nan")], "b": {"c": "x"}},
    ]

    assert list(freeze.differences({"a": [1, 2.0 + 1e-12], "b": {"c": "x"}}, meant)) == []
    assert all(list(freeze.differences(other, meant)) for other in others)
