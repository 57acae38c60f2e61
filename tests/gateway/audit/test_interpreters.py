"""Pythons that are not here are named, and one that answers otherwise is noticed."""

import sys

import pytest

from gateway.audit.attacks import interpreters
from gateway.audit.claim import Effort, unmeasured

NOWHERE = interpreters.Port("a port of nobody's", ("no-such-micropython",))


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each script on CPython alone, once."""
    monkeypatch.setattr(interpreters, "PORTS", (NOWHERE,))


def test_a_python_that_is_not_here_was_not_measured() -> None:
    """Silence would look like agreement; somebody without MicroPython can audit all the same."""
    claims = list(interpreters.claims(None, Effort()))

    (absent,) = unmeasured(claims)
    assert "no-such-micropython" in absent.detail
    assert all(claim.holds for claim in claims if claim is not absent)


@pytest.mark.long
def test_a_python_that_answers_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one answer, and a key holder has lost a reading."""
    whole = interpreters.run

    def spoilt(command: list[str], script: str) -> list[str]:
        lines = whole(command, script)
        return [*lines[:-1], lines[-1][:-1] + "x"]

    port = interpreters.Port("a twin", ("python3",))
    monkeypatch.setattr(interpreters, "PORTS", (port,))
    claims = list(interpreters.claims(None, Effort()))
    assert all(claim.holds for claim in claims)
    monkeypatch.setattr(interpreters, "run", spoilt)
    failed = [claim.sentence for claim in interpreters.claims(None, Effort()) if not claim.holds]

    assert any("always was" in sentence for sentence in failed)


def test_a_script_that_breaks_off_is_no_answer() -> None:
    """Its traceback is what comes back, and that agrees with nothing."""
    (line,) = interpreters.run([sys.executable, "-S", "-"], "print(1)\nraise ValueError('odd')")

    assert "odd" in line
