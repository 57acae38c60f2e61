"""What the writer says of itself: what was refused is seen, and a store that balks."""

from collections import Counter
from fractions import Fraction

import pytest
from sqlalchemy.exc import OperationalError

from gateway.service.intake.judge import Verdict
from gateway.service.intake.outcomes import Again, Alarm, DeadLetter, Kept, Receipt
from gateway.service.intake.writer import Counting
from gateway.service.ledger import Charge
from gateway.service.operate.health import Health
from gateway.service.operate.metrics import Metrics


def value(metrics: Metrics, name: str, **labels: str) -> float:
    """Return what a scrape reads."""
    for family in metrics.registry.collect():
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    raise AssertionError(name)


def test_a_verdict_is_counted_once_and_by_kind() -> None:
    """Refused with a row and only counted are one number: what was refused."""
    metrics = Metrics()
    verdict = Verdict(None, missing=4)
    verdict.kept = [Kept("a", 1, n, b"name", b"") for n in range(3)]
    verdict.letters = [DeadLetter("t", "why", b"", kind) for kind in ("late", "late", "future")]
    verdict.receipts, verdict.again = [Receipt("a", 1, 1, True)] * 5, [Receipt("a", 1, 1, True)]
    verdict.alarms = [Alarm("a", b"key!", "why")]
    verdict.extra = [Again(b"name", Charge(Fraction(1), "a"), b"")]

    Counting(metrics, None).stored(verdict, Counter({"flood": 7, "late": 1}), 0.01)

    assert value(metrics, "heatveil_reports_total") == 3
    kinds = ("late", "future", "flood", "forged")
    assert [value(metrics, "heatveil_refused_total", kind=one) for one in kinds] == [3, 1, 7, 0]
    assert value(metrics, "heatveil_missing_total") == 4
    assert value(metrics, "heatveil_duplicates_total") == 1
    assert value(metrics, "heatveil_receipts_total") == 6
    assert value(metrics, "heatveil_alarms_total") == 1


def test_a_store_that_balks_is_told_and_one_that_takes_again_too() -> None:
    """/readyz says why readings do not arrive, and stops saying so when they do."""
    metrics, health = Metrics(), Health("store")
    faults = [OperationalError("INSERT", {}, Exception("database is locked"))] * 2

    def keep() -> str:
        if faults:
            raise faults.pop()
        return "kept"

    watched = Counting(metrics, health).watched(keep)
    for _ in range(2):
        with pytest.raises(OperationalError):
            watched()
        part = health.parts()["store"]
        assert not part.ok
        assert "database is locked" in part.why
    assert watched() == "kept"

    assert health.parts()["store"].ok
    assert value(metrics, "heatveil_store_retries_total") == 2
