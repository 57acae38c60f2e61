"""The load that `make bench` makes is one that both sides can take."""

import sys
from pathlib import Path

import pytest

from tests import processes


@pytest.mark.long
def test_the_gateway_and_what_one_would_write_instead_take_the_same_load() -> None:
    """Both are run by one command, on a broker each, and commit all of it."""
    bench = Path(__file__).with_name("bench_ingest.py")
    load = ["--rate", "50", "--seconds", "1", "--devices", "10", "--peer"]
    ran = processes.run([sys.executable, bench, *load], capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("all committed") == 2
