"""What is loaded ahead is what a map wants, or its first one would be late."""

import sys

import pytest

from tests import processes

SCRIPT = """
import sys
from edge.records import Grid, Release
from recovery import ahead, thermal
query = thermal.Query(Grid((20, 1), 0), (10,), 0.05, (1, 1), (1, 1000), 0.1)
release = Release(thermal.plan(query, []), [0] * 10, 10)
if sys.argv[1] == "ahead":
    ahead.load()
before = {name for name in sys.modules if name.startswith("scipy.")}
print(type(thermal.recover(query, [release])).__name__)
print(len({name for name in sys.modules if name.startswith("scipy.")} - before) > 20)
"""


@pytest.mark.long
def test_a_map_loads_hardly_anything_more() -> None:
    """With a control: without it, the first map loads a good part of scipy."""
    for words, more in ((["ahead"], "False"), (["late"], "True")):
        ran = processes.run(
            [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=False
        )
        assert ran.stdout.split()[1:] == [more], ran.stdout + ran.stderr
