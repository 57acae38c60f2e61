"""One noise everywhere: golden vectors and tables, bit for bit, on every interpreter."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import emulator, processes
from tests.interpreters.test_life import AS_A_BOARD

# One noise everywhere: golden vectors and tables of noise, bit for bit, on every interpreter.

# The table is the same everywhere, fits a small heap, and machine code finds the same noise.

ROOT = Path(__file__).resolve().parents[2]

# One text for what plain Python finds and what machine code does, in many small and odd tables.
BOTH = """
import sys
sys.path.insert(0, ".")
from edge.core import table
from edge.core.compat import sha256
from edge.core.entropy import Tape
for num, bits in ((1, 56), (7, 84), (2500, 56), (2500, 84), (6000, 56), (50, 112)):
    made = table.Table(num, 1, bits)
    one, other = [0] * 333, [0] * 333
    made.fill(one, Tape(b"both"))
    print(made._look_up is not table.look_up_noise and made._split is not table.split)
    made._look_up, made._split = table.look_up_noise, table.split
    made.fill(other, Tape(b"both"))
    print(one == other and len(set(one)) > 3)
"""

# What a table holds and what is drawn from it, as text: an array's bytes follow the processor.
GOLDEN = """
import sys
sys.path.insert(0, ".")
import binascii
from edge.core.compat import sha256
from edge.core.entropy import keyed
from edge.core.table import Sampler
from edge.core.table import Table
def digest(numbers):
    seen = b""
    for number in numbers:
        seen = sha256(seen + str(number).encode())
    return binascii.hexlify(seen).decode()[:24]
for num, den, bits in ((1, 1, 56), (9, 2, 84), (2500, 1, 56), (2500, 1, 84)):
    made, out = Table(num, den, bits), [0] * 200
    made.fill(out, keyed(bytes(range(32)), "node-007", 3, 41, 12))
    print(digest(made.thresholds), digest(out))
for variance, bits in ((16000, 56), (1618796, 84)):
    made = Sampler(variance, 1, bits)
    made.fill(out, keyed(bytes(range(32)), "node-007", 3, 41, 12))
    print(digest(made.parts[1][1].thresholds), digest(out))
"""
# A change here is one of what key holders can read: it goes under Privacy in CHANGELOG.md.
DIGESTS = """
3c44c23fc5117d93e04efb04 124a9687529c77987f993139
4fef590c371d334f7520fb87 687b4582d168d07d16ee2dc4
37340c38d9ab38987e2a6a56 2798f1759d036d90b230fe5f
4318e44aa5a6b315b0828cc0 255538f9cd6449af7c3a44de
51b6cfc3c71f989613a01657 fa8da07cedab790e5de2f538
c276da46087570976e759e9e 2151d554cd8228a77e96608d
"""


def test_one_digest_everywhere(interpreter) -> None:
    """Years later, on another Python, a key holder must draw the very same noise."""
    assert interpreter.run(GOLDEN).split() == DIGESTS.split()


# A device draws with the key of its chain, a key holder with that of the boot alone.
MANY = """
import sys
sys.path.insert(0, ".")
import binascii
from edge.core.compat import sha256
from edge.core.entropy import epoch_key, keyed, open_epoch, ratchet
from edge.core.noise import dgauss
key, seen = ratchet(bytes(range(32))), b""
for seq in range(100):
    rng = DRAWN
    for _ in range(10):
        drawn = ",".join([str(dgauss(1000000, 1, rng)) for _ in range(100)])
        seen = sha256(seen + drawn.encode())
print(binascii.hexlify(seen).decode())
"""


@pytest.mark.long
def test_a_device_and_its_key_holder_agree_on_a_hundred_thousand_values(interpreter) -> None:
    """On each interpreter, as a stream."""
    device = interpreter.run(MANY.replace("DRAWN", 'keyed(key, "node-007", 3, seq, 0)'))
    opened = 'open_epoch(epoch_key(key, 3), "node-007", 3, seq, 0)'
    holder = processes.run(
        [sys.executable, "-c", MANY.replace("DRAWN", opened)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert len(device.strip()) == 64
    assert device == holder.stdout


# On a board that runs a node: all that answers a Round is loaded before the table is built.
SMALL = """
import gc, sys
sys.path.insert(0, ".")
LOADED
from edge.core.table import Sampler
from edge.core.entropy import Tape
gc.collect()
before = gc.mem_alloc()
made, out = Sampler(VARIANCE), [0] * 64
made.fill(out, Tape(b"small"))
gc.collect()
print(sum([len(table) for _, table in made.parts]), gc.mem_alloc() - before, gc.mem_free())
"""


def ran(program: str, heap_kb: int, script: str) -> list[str]:
    """Return the words that a MicroPython with this heap prints."""
    command = [program, "-X", f"heapsize={heap_kb}k", "-c", script]
    done = processes.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.split()


@pytest.mark.parametrize("port", ["micropython", "micropython-i386"])
def test_machine_code_finds_the_same_noise(port: str, need: Callable[[str], str]) -> None:
    """An accelerator that differs in one sample would lose that reading for its key holder."""
    assert ran(need(port), 160, BOTH) == ["True"] * 12


def test_without_machine_code_plain_python_stays(interpreter) -> None:
    """CPython and WebAssembly have no viper; nothing breaks and nothing differs there."""
    words = interpreter.run(BOTH).split()

    assert words[1::2] == ["True"] * 6
    assert set(words[::2]) == {"True" if interpreter.name in ("unix", "i386") else "False"}


@pytest.mark.parametrize("sigma", [1, 10, 50, 127, 500, 1273, 4096, 1 << 20])
def test_tables_fit_the_heap_of_a_small_board(sigma: int, need: Callable[[str], str]) -> None:
    """64 KB with 32-bit words, eight bytes a threshold; every sigma that is not refused."""
    script = SMALL.replace("VARIANCE", str(sigma * sigma)).replace("LOADED", "")
    count, used, free = map(int, ran(need("micropython-i386"), 64, script))

    assert used < 8 * count + 5000
    assert free > 32000


@pytest.mark.parametrize("sigma", [50, 1273, 4096])
def test_tables_fit_beside_a_node(sigma: int, need: Callable[[str], str]) -> None:
    """In the heap that all of edge loads into, compiled on the board, tables still find room."""
    script = SMALL.replace("VARIANCE", str(sigma * sigma))
    script = script.replace("LOADED", "from edge.core import node\nfrom edge.net import ticker")
    count, used, _ = map(int, ran(need("micropython-i386"), 80, script))

    assert used < 8 * count + 5000


def test_one_table_of_fifty_grains_fits(need: Callable[[str], str]) -> None:
    """A single table of 440 thresholds, in one piece, in 64 KB."""
    script = SMALL.replace("VARIANCE", "2500").replace("LOADED", "")
    script = script.replace("Sampler(2500)", "Table(2500)").replace("sum(", "len(made) or sum(")
    script = script.replace("edge.core.table import Sampler", "edge.core.table import Table")
    count, used, _ = map(int, ran(need("micropython-i386"), 64, script))

    assert count == 440
    assert used < 5000


def test_a_heap_that_is_too_small_is_noticed(need: Callable[[str], str]) -> None:
    """The meter above must be able to say no."""
    script = SMALL.replace("VARIANCE", "1000000").replace("LOADED", "")
    with pytest.raises(RuntimeError, match="MemoryError"):
        ran(need("micropython-i386"), 20, script)


# The golden vectors come out the same, bit for bit, on every interpreter.

VECTORS = sorted(path.name for path in (ROOT / "tests" / "vectors").glob("*.json"))

# Prints how many cases there are, then every case that comes out differently.
REPLAY = f"""
{AS_A_BOARD}
import json, sys
from edge.core import budget  # the large ones first, where memory is short
sys.path.insert(0, "tests/vectors")
from replay import replay
with open("tests/vectors/NAME") as file:
    cases = json.load(file)
# BEFORE
wrong = replay(cases)
print(len(cases))
for name, expected, got in wrong:
    print(name, "should be", expected, "but is", got)
"""


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_replay_bit_for_bit(interpreter, name: str) -> None:
    """One bit of difference, and the holder of the key no longer gets the reading back."""
    count, *wrong = interpreter.run(REPLAY.replace("NAME", name)).splitlines()

    assert wrong == []
    assert int(count) > 0


def test_a_wrong_vector_is_noticed(interpreter) -> None:
    """A replay that agrees with anything would prove nothing."""
    spoilt = REPLAY.replace("# BEFORE", 'cases[0]["expect"] = cases[-1]["expect"]')
    _, *wrong = interpreter.run(spoilt.replace("NAME", "disk.json")).splitlines()

    assert len(wrong) == 1


def test_the_vectors_are_what_their_script_makes(tmp_path: Path) -> None:
    """They are made by one script and never edited, or they would prove somebody's typing."""
    (tmp_path / "edge").symlink_to(ROOT / "edge")
    vectors = tmp_path / "tests" / "vectors"
    vectors.mkdir(parents=True)
    for script in ("make.py", "replay.py"):
        shutil.copy(ROOT / "tests" / "vectors" / script, vectors)
    processes.run([sys.executable, "-S", vectors / "make.py"], check=True, capture_output=True)

    assert {path.name for path in vectors.glob("*.json")} == set(VECTORS)
    for name in VECTORS:
        made, kept = vectors / name, ROOT / "tests" / "vectors" / name
        assert made.read_bytes() == kept.read_bytes(), f"{name}: python tests/vectors/make.py"


# What a real firmware draws on an emulated RP2040 is what every other interpreter draws.

PATIENCE_S = 1200.0


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of an emulated Pico."""
    if why := emulator.lacking():
        pytest.skip(why)
    with emulator.emulated(tmp_path_factory.mktemp("rp2040") / "log") as address:
        yield address


def test_an_rp2040_has_the_same_tables_in_its_machine_code(board: str, tmp_path: Path) -> None:
    """32-bit words, big integers, and viper for its own processor."""
    script = tmp_path / "golden.py"
    script.write_text(
        GOLDEN
        + "from edge.core import table\nprint(made.parts[0][1]._look_up is table.look_up_noise)\n"
    )
    *told, plain = emulator.run(board, script, ROOT, PATIENCE_S).split()

    assert told == DIGESTS.split()
    assert plain == "False"


def test_an_rp2040_replays_the_vectors_bit_for_bit(board: str, tmp_path: Path) -> None:
    """Signed messages and readings sealed on one Python are opened on this one."""
    script = tmp_path / "replay.py"
    script.write_text(REPLAY.replace("NAME", "wire.json"))
    count, *wrong = emulator.run(board, script, ROOT, PATIENCE_S).splitlines()

    assert wrong == []
    assert int(count) > 0
