"""The golden vectors come out the same, bit for bit, on every interpreter.

They hold what a key holder must be able to repeat years later: draws of every sampler, signed
messages, and readings sealed on one Python and opened on another.
"""

import shutil
import sys
from pathlib import Path

import pytest

from tests import processes
from tests.interpreters.test_life import AS_A_BOARD

ROOT = Path(__file__).resolve().parents[2]
VECTORS = sorted(path.name for path in (ROOT / "tests" / "vectors").glob("*.json"))

# Prints how many cases there are, then every case that comes out differently.
REPLAY = f"""
{AS_A_BOARD}
import json, sys
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


@pytest.mark.parametrize("name", VECTORS)
def test_a_wrong_vector_is_noticed(interpreter, name: str) -> None:
    """A replay that agrees with anything would prove nothing."""
    spoilt = REPLAY.replace("# BEFORE", 'cases[0]["expect"] = cases[-1]["expect"]')
    _, *wrong = interpreter.run(spoilt.replace("NAME", name)).splitlines()

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
