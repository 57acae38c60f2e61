"""`import heatveil`: what is public, that it is there at once, and that it is ours."""

import ast
import doctest
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

import heatveil
from gateway import mechanisms
from recovery.estimators import table
from tests import processes

# `import heatveil`: what is public, that it is there at once, and that it is ours.

ROOT = Path(__file__).parents[1]

# What may be relied on. A name that joins is a promise; one that goes is told in the CHANGELOG.
# fmt: off
PUBLIC = {
    "__version__", "ESTIMATORS", "MECHANISMS",
    "DiskQuery", "PyramidQuery", "PyramidSumQuery", "QuadtreeQuery", "RanksQuery", "ThermalQuery",
    "Estimate", "Grid", "Guarantee", "Heatmap", "Mechanism", "OperatorFault",
    "Prior", "Reading", "Seen", "Tape", "Unresolved",
    "find_mechanism", "plan", "report", "release", "recover", "play", "simulate",
    "study", "estimate", "register_estimator", "register_mechanism",
    "heat_kernel", "forward", "sensitivity", "minimise_l1", "from_npz", "to_npz",
    "earth_movers", "wasserstein2", "similarity", "pearson", "kl",
    "coin", "exp_coin", "geometric", "dlaplace", "dgauss", "polya", "keyed", "sealed",
}
# fmt: on


@pytest.fixture
def _forget() -> Iterator[None]:
    """Take out again what the examples register."""
    tables = (table._TABLE, mechanisms.TABLE, mechanisms._OWN)
    before = [dict(one) for one in tables]
    yield
    for one, was in zip(tables, before, strict=True):
        one.clear()
        one.update(was)
    mechanisms.find_mechanism.cache_clear()


def test_the_public_names_are_these_and_all_are_there() -> None:
    """Whoever writes a script against them must not find them gone."""
    assert sorted(heatveil.__all__) == sorted(PUBLIC)
    assert [name for name in PUBLIC if getattr(heatveil, name) is None] == []
    assert PUBLIC <= set(dir(heatveil))
    with pytest.raises(AttributeError):
        heatveil.no_such_name  # noqa: B018


def test_what_is_renamed_is_listed_for_type_checkers() -> None:
    """They take a name that is another at home for private, unless it is listed."""
    tree = ast.parse((ROOT / "heatveil" / "__init__.pyi").read_text("utf-8"))
    given = [one for node in tree.body if isinstance(node, ast.ImportFrom) for one in node.names]
    (listed,) = [node.value for node in tree.body if isinstance(node, ast.Assign)]

    assert ast.literal_eval(listed) == sorted(
        str(one.asname) for one in given if one.asname != one.name
    )


def test_every_public_name_has_an_example() -> None:
    """One that is not shown is not understood."""
    examples = doctest.DocTestParser().get_examples(heatveil.__doc__ or "")
    trees = [ast.parse(example.source) for example in examples]
    shown = {
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "heatveil"
    }

    assert PUBLIC - shown == set()


def test_help_says_what_is_to_be_given() -> None:
    """Of the verbs, of what is drawn, and of records that are bare on a board."""
    for name in ("Grid", "Reading", "plan", "release", "recover", "dgauss", "polya", "study"):
        assert "Args:" in (getattr(heatveil, name).__doc__ or ""), name
    assert "(columns, rows)" in heatveil.Grid.__doc__
    assert "2**round.params[1]" in heatveil.Reading.__doc__


@pytest.mark.long
@pytest.mark.usefixtures("_forget")
def test_the_examples_are_true() -> None:
    """They are what most people will read of all this."""
    ran = doctest.testmod(heatveil)

    assert ran.attempted > 40
    assert ran.failed == 0


@pytest.mark.usefixtures("_forget")
def test_a_query_is_of_one_mechanism_alone() -> None:
    """It is found by its class: a second one with the same would never be asked."""
    of_disk = dict(vars(heatveil.find_mechanism("disk")), name="mine")
    with pytest.raises(ValueError, match="which is the query of disk"):
        heatveil.register_mechanism(heatveil.Mechanism(**of_disk))
    with pytest.raises(ValueError, match="must be a Mechanism"):
        heatveil.register_mechanism("mine")  # type: ignore[arg-type]


def test_importing_it_loads_no_library() -> None:
    """What is not used is not waited for."""
    script = "import sys, heatveil; print(*sys.modules)"
    ran = processes.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)

    assert not {"numpy", "scipy", "edge", "gateway", "recovery"} & set(ran.stdout.split())


@pytest.mark.parametrize("kind", ["physics.py", "physics/__init__.py"])
@pytest.mark.parametrize("first", ["", "import physics; "])
def test_beside_a_stranger_of_a_room_it_refuses(tmp_path: Path, kind: str, first: str) -> None:
    """It would compute with whatever that has under our names, or fail without a reason."""
    path = tmp_path / kind
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    script = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; {first}import heatveil"
    )
    ran = processes.run(
        [sys.executable, "-c", script], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )

    assert ran.returncode == 1
    assert f"ImportError: the package physics was found at {path}" in ran.stderr


# `pip install .` leaves no folder of the program behind.

PROGRAM = ("heatveil", "edge", "physics", "recovery", "gateway")


def test_every_folder_with_code_is_installed() -> None:
    """A checkout finds a package that has no __init__, or that pyproject.toml leaves out."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    included = settings["packages"]["find"]["include"]
    folders = {path.parent for name in PROGRAM for path in (ROOT / name).rglob("*.py")}

    assert [one for one in folders if not (one / "__init__.py").is_file()] == []
    assert all(any(fnmatch(name, one) for one in included) for name in PROGRAM)
    assert [name for name in PROGRAM if not (ROOT / name / "py.typed").is_file()] == []
