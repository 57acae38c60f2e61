"""Layer `gateway`, second part: answers that no device gives, signed with the key of one.

Somebody who has stolen a device's key can say anything in its name. What counts then is an answer
that the device might have given, and one of them; for other sensors, for none, or beyond what can
be drawn nothing counts. What it cannot see: an answer that was chosen, and not drawn.
"""

from collections.abc import Iterator

from .claim import Claim, at_most, true
from .house import House, signed, topic_of


def claims(house: House, number: int) -> Iterator[Claim]:
    """Yield whether they count in the Round of this number, and whether another's answer does."""
    honest, device = house.devices
    counted = 0
    payloads = device.asked.impossible(house.round, device.identity.sensor)
    house.ask(number)
    report = device.opened(house.sent[-1].payload)
    for seq, payload in enumerate(payloads, report.seq + 1):
        other = report._replace(seq=seq, payload=payload)
        counted += house.deliver([signed(device, other)])[0]
    yield at_most(
        "no answer counts that no device gives: for others, for none, or beyond what can be drawn",
        0,
        counted,
        unit="answers",
        samples=len(payloads),
    )
    last = next(one for one in reversed(house.sent) if one.topic == topic_of(honest))
    yield true("and those of others count beside them", house.deliver([last])[0] == 1, samples=1)
