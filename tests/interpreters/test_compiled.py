"""What `make edge` writes is the same device: to the last byte, and to the last word it says."""

from pathlib import Path

import pytest

from gateway.devices import bundle
from tests import processes
from tests.interpreters.test_life import LIFE, SCRIPT
from tests.interpreters.test_table import REPLAY, VECTORS

ROOT = Path(__file__).resolve().parents[2]
HEAP_KB = {"micropython": 160, "micropython-i386": 96}


@pytest.fixture(scope="module")
def folder(need, tmp_path_factory) -> Path:
    """Return a folder with the release, and what a host has besides."""
    need("mpy-cross")
    made: Path = tmp_path_factory.mktemp("release")
    bundle.write_release(made, bundle.build(bundle.read_sources()))
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
@pytest.mark.parametrize("left", [None, b""])
def test_without_its_words_it_does_the_same_and_says_less(
    run, folder: Path, left: bytes | None
) -> None:
    """A file that is lost or cut short must not turn a refusal into an answer."""
    words = folder / "edge" / "words.txt"
    kept = words.read_bytes()
    words.unlink() if left is None else words.write_bytes(left)
    try:
        said = run(SCRIPT).splitlines()
    finally:
        words.write_bytes(kept)

    assert (said[0], said[-1]) == (LIFE.splitlines()[0], LIFE.splitlines()[-1])
    assert said[1].startswith("3 9 ready fault ")


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
def test_nothing_of_a_host_and_no_source_but_machine_code_is_in_a_release(folder: Path) -> None:
    """A source beside its .mpy would be loaded in its place."""
    found = {file.relative_to(folder).as_posix() for file in (folder / "edge").rglob("*.py")}

    assert {path for path in found if not path.startswith("edge/host/")} == {"edge/core/viper.py"}
