"""What a device takes of a small board; and that what `make edge` writes is the same device."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.devices import bundle
from gateway.devices.broker.embedded import run_broker
from tests import processes
from tests.interpreters import heaps
from tests.interpreters.test_life import LIFE, SCRIPT
from tests.interpreters.test_table import REPLAY, VECTORS

# What a device's memory goes to: what it holds, the smallest heap that it lives in, and no drift.

# With MicroPython 1.25.0, i386, on 2026-11-26, in KB: held while it answers, and the heap for it.
HELD_KB = {"source": 65, "mpy": 65, "in place": 41}
HEAP_KB = {"source": 76, "mpy": 71, "in place": 47}
POOL = 256  # bits of the stream of noise that are drawn and not used differ from time to time
ANSWERS = 40


@pytest.fixture(scope="module")
def forms(need, tmp_path_factory) -> dict[str, str]:
    """Return the first lines of a script for each form of a device."""
    need("micropython-i386")
    need("mpy-cross")
    return heaps.built(tmp_path_factory.mktemp("forms"))


@pytest.fixture(scope="module")
def port(need) -> Iterator[int]:
    """Return the port of a mosquitto of its own."""
    need("mosquitto")
    with run_broker("mosquitto") as address:
        yield address.port


@pytest.fixture
def lives(need, forms: dict[str, str], port: int, tmp_path: Path):
    """Return what lets a device live in so many KB, and gives what it held at each mark."""

    def of(form: str, heap_kb: int, marks: list[int]) -> list[int]:
        script = forms[form] + heaps.enrolled(tmp_path) + heaps.living(form, port, 10, marks)
        with heaps.host(port) as came:
            _, *told = heaps.run(need("micropython-i386"), script, heap_kb, tmp_path)
        assert len(came) >= marks[-1] - 5, "all but the last ones are at the broker"
        return [held for _, held in told]

    return of


@pytest.mark.long
@pytest.mark.parametrize("form", heaps.FORMS)
def test_a_device_at_work_holds_little_and_lives_in_a_small_heap(lives, form: str) -> None:
    """A board has little; what is loaded is gone for good."""
    (held,) = lives(form, HEAP_KB[form], [ANSWERS])

    assert held <= HELD_KB[form] * 1024


@pytest.mark.long
@pytest.mark.parametrize("form", ["source", "in place"])
def test_a_heap_that_is_too_small_is_noticed(lives, form: str) -> None:
    """A heap that the interpreter enlarges by itself would prove nothing."""
    with pytest.raises(MemoryError):
        lives(form, HELD_KB[form] - 8, [ANSWERS])


@pytest.mark.long
@pytest.mark.parametrize("form", ["source", "in place"])
def test_nothing_drifts_over_a_broker(lives, form: str) -> None:
    """What is held after many answers is what was held after a few."""
    early, late = lives(form, 128, [100, 400])

    assert late - early <= POOL


def drift(need, start: str, folder: Path, kept: str = "") -> int:
    """Return how much more a device holds after 3000 frames."""
    script = start + heaps.frames(folder, 3000)
    if kept:
        script = script.replace("# KEPT", "kept = []").replace("# KEEP", kept)
    ((_, more),) = heaps.run(need("micropython-i386"), script, 128, folder)
    return more


@pytest.mark.parametrize("form", heaps.FORMS)
def test_no_frame_leaves_anything_behind(need, forms, tmp_path: Path, form: str) -> None:
    """Drawn, veiled, packed, kept and freed: thousands of times, in the memory of one."""
    assert drift(need, forms[form], tmp_path) <= POOL


def test_a_drift_is_noticed(need, forms, tmp_path: Path) -> None:
    """A few bytes that are kept of each frame must show, or the laws above say nothing."""
    kept = "if not noise.seq % 4: kept.append(frame[-1])"

    assert drift(need, forms["source"], tmp_path, kept) > 5 * POOL


def test_nothing_of_a_host_is_loaded_on_a_device(need, forms, tmp_path: Path) -> None:
    """One import too many brings the host's half back, and nothing else would show it."""
    script = forms["source"] + heaps.USED + heaps.LOAD
    script += "import sys\nfor name in sys.modules: print(1 if name in BARRED else 0)\n"
    barred = (
        "edge.host",
        "edge.mechanisms.thermal",
        "edge.core.tightening",
        "edge.core.grid",
        "edge.core.table",
        "edge.net.tls",
    )
    told = heaps.run(need("micropython-i386"), f"BARRED = {barred}\n" + script, 128, tmp_path)

    assert len(told) > 15
    assert [1] not in told


# Bytes of an answer of one sensor and of 64. How many bits it draws differs from time to time.
GARBAGE = {"micropython-i386": {1: 4400, 64: 9400}, "micropython": {1: 6600, 64: 13200}}


@pytest.mark.parametrize("sensors", [1, 64])
@pytest.mark.parametrize("program", GARBAGE)
def test_an_answer_leaves_little_to_collect(need, forms, tmp_path, program, sensors) -> None:
    """Collecting takes a board milliseconds, and a heap in pieces has no room for a frame."""
    script = forms["source"] + heaps.answers(tmp_path, sensors)
    ((allocated, _),) = heaps.run(need(program), script, 2048, tmp_path)

    assert allocated <= GARBAGE[program][sensors]


# The second time, for its names stay, and where they end a chunk of names it is a large one.
FORGET = """
import sys
from edge.core.compat import forget
for _ in range(2):
    before = used()
    import edge.core.tightening as made
    topic = made.topic("lab", "n")
    held = used()
    made = None
    forget("edge.core.tightening")
    print(held - before, used() - before, 1 if "edge.core.tightening" in sys.modules else 0)
import edge.core.tightening as made
print(1 if made.topic("lab", "n") == topic else 0)
"""


@pytest.mark.parametrize("form", heaps.FORMS)
def test_what_is_forgotten_gives_its_memory_back(need, forms, tmp_path: Path, form: str) -> None:
    """What is needed once is loaded for that, and can be loaded again."""
    script = forms[form] + heaps.USED + heaps.LOAD + FORGET
    told = heaps.run(need("micropython-i386"), script, 128, tmp_path)
    _, (held, left, there), again = told

    assert left < held // 8
    assert there == 0
    assert again == [1]


BROKEN_OFF = """
import sys
from edge.core.compat import forget
sys.path.append(FOLDER)
try:
    import pack.broken
except MemoryError:
    print(1)
sys.modules["pack.broken"] = sys.modules.get("pack.broken", sys)  # older ones leave it there
forget("pack.broken")
print(1 if "pack.broken" in sys.modules else 0)
"""


def test_a_module_whose_load_broke_off_is_forgotten(need, forms, tmp_path: Path) -> None:
    """Its package does not have it, and a board that is short of memory must not end by that."""
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/__init__.py").touch()
    (tmp_path / "pack/broken.py").write_text("held = 1\nraise MemoryError\n")
    script = f"FOLDER = {str(tmp_path)!r}\n" + forms["source"] + BROKEN_OFF

    assert heaps.run(need("micropython-i386"), script, 128, tmp_path) == [[1], [0]]


SAID = """
from edge.core.wire import Fault, open_message
try:
    open_message(bytes(40), bytes(32), "a/topic", 64)
except Fault as why:
    print(len(str(why)), 1 if "on a/topic: it was changed" in str(why) else 0)
"""


@pytest.mark.parametrize("form", heaps.FORMS)
def test_a_sentence_is_said_in_full(need, forms, tmp_path: Path, form: str) -> None:
    """Out of memory or from a file, in a folder or in an image."""
    script = forms[form] + heaps.USED + heaps.LOAD + SAID
    ((length, right),) = heaps.run(need("micropython-i386"), script, 128, tmp_path)

    assert length > 100
    assert right


# What `make edge` writes is the same device: to the last byte, and to the last word it says.

ROOT = Path(__file__).resolve().parents[2]
RELEASE_KB = {"micropython": 160, "micropython-i386": 96}


@pytest.fixture(scope="module")
def folder(need, tmp_path_factory) -> Path:
    """Return a folder with the release, and what a host has besides."""
    need("mpy-cross")
    made: Path = tmp_path_factory.mktemp("release")
    bundle.write_release(made, bundle.compile_sources(bundle.read_sources()))
    (made / "edge" / "host").mkdir()
    for file in (ROOT / "edge" / "host").glob("*.py"):
        (made / "edge" / "host" / file.name).write_bytes(file.read_bytes())
    (made / "tests").symlink_to(ROOT / "tests")
    return made


@pytest.fixture(params=RELEASE_KB)
def run(request, need, folder: Path):
    """Return what runs a script on the release, with nothing of the sources in reach."""
    program = need(request.param)

    def of(source: str) -> str:
        ran = processes.run(
            [program, "-X", f"heapsize={RELEASE_KB[request.param]}k", "-c", source],
            cwd=folder,
            env={"MICROPYPATH": ":.frozen"},
            capture_output=True,
            text=True,
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
