"""What a real firmware draws on an emulated RP2040 is what every other interpreter draws.

    HEATVEIL_UF2=.tools/pico.uf2 make test \\
        ARGS="tests/interpreters/test_rp2040.py -rs -o faulthandler_timeout=0"

The emulator is fifty times slower than the chip, so this is run by who asks for it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import emulator
from tests.interpreters.test_table import DIGESTS, GOLDEN, REPLAY

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 1200.0


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of an emulated Pico."""
    if why := emulator.lacking():
        pytest.skip(why)
    with emulator.emulated(tmp_path_factory.mktemp("rp2040") / "log") as address:
        yield address


def test_tables_are_the_same_in_its_machine_code(board: str, tmp_path: Path) -> None:
    """32-bit words, big integers, and viper for its own processor."""
    script = tmp_path / "golden.py"
    script.write_text(
        GOLDEN + "from edge.core import table\nprint(made.parts[0][1]._search is table.search)\n"
    )
    *told, plain = emulator.run(board, script, ROOT, PATIENCE_S).split()

    assert told == DIGESTS.split()
    assert plain == "False"


def test_the_vectors_replay_bit_for_bit(board: str, tmp_path: Path) -> None:
    """Signed messages and readings sealed on one Python are opened on this one."""
    script = tmp_path / "replay.py"
    script.write_text(REPLAY.replace("NAME", "wire.json"))
    count, *wrong = emulator.run(board, script, ROOT, PATIENCE_S).splitlines()

    assert wrong == []
    assert int(count) > 0
