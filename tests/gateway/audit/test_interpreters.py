"""Pythons that are not here are named, and one that answers otherwise is noticed."""

import sys

import pytest

from gateway.audit import interpreters
from gateway.audit.claim import Effort

NOWHERE = interpreters.Port("a port of nobody's", ("no-such-micropython",))


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each script on CPython alone, once."""
    monkeypatch.setattr(interpreters, "PORTS", (NOWHERE,))


def test_a_python_that_is_not_here_is_named_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence would look like agreement; somebody without MicroPython can audit all the same."""
    monkeypatch.delenv("CI", raising=False)
    claims = list(interpreters.claims(None, Effort()))

    (absent,) = [claim for claim in claims if "not measured here" in claim.sentence]
    assert absent.holds
    assert "no-such-micropython" in absent.detail
    assert all(claim.holds for claim in claims)


def test_on_a_build_server_it_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """There, what is not looked at would never be looked at."""
    monkeypatch.setenv("CI", "true")

    assert [claim.holds for claim in interpreters.claims(None, Effort())].count(False) == 1


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
