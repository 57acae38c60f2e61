"""Devices that draw their answers: what they say beside them is heard."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import recovery.disk.cases
from edge.mechanisms.disk_limits import make_limits
from gateway.audit.attacks import side_channels
from gateway.audit.claim import Effort
from gateway.mechanisms import Mechanism, find

LINE = dict(recovery.disk.cases.rooms())["line"]


def places(**changed: Any) -> Mechanism:
    """Return the mechanism with one room, and some of what the audit knows of it changed."""
    known = {name: getattr(recovery.disk.cases, name) for name in dir(recovery.disk.cases)}
    subject: Any = SimpleNamespace(**known | {"rooms": lambda: [("line", LINE)]} | changed)
    return replace(find("disk"), subject=subject)


def failed(mechanism: Mechanism) -> list[str]:
    return [
        claim.sentence
        for claim in side_channels.words_claims(mechanism, Effort())
        if not claim.holds
    ]


def test_a_device_enrolled_for_more_than_was_promised_is_found() -> None:
    """One answer more than epsilon is for."""

    def generous(round: Any, answers: int) -> Any:
        num, den = round.params[3:5]
        return make_limits(num, den, answers + 1)

    assert any("adds up to epsilon" in words for words in failed(places(limits=generous)))
