"""The load that `make bench` makes is one that both sides can take."""

import re
import sys
from pathlib import Path

import pytest

from tests import processes


@pytest.mark.long
def test_the_gateway_as_shipped_and_what_one_would_write_instead_take_the_same_load() -> None:
    """Both are run by one command at one broker, and nothing is lost."""
    bench = Path(__file__).with_name("bench_service.py")
    load = ["--rate", "50", "--seconds", "2", "--devices", "10"]
    ran = processes.run([sys.executable, bench, *load], capture_output=True, text=True)

    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^[1-9]\d* readings .*; lost 0$", ran.stdout, re.MULTILINE)
    assert re.search(r"^  maps of \d+ of [1-9]\d* rounds", ran.stdout, re.MULTILINE)
