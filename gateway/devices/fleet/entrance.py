"""How virtual devices get in at a broker, and in whose words they say that it would not have them.

TLS and passwords are the gateway's own (`mqtt.access`): what verifies the broker's certificate for
one verifies it for all.
"""

from edge import tls

from ...faults import LinkFault
from ...mqtt import access
from ...mqtt.connection import Session
from ...operating import Mqtt


class Entrance(tls.Door):
    """TLS to the broker, as `edge.mqtt` wants it; `why` it was not trusted, or ""."""

    def __init__(self, broker: Mqtt) -> None:
        super().__init__(broker.host, access.tls(broker))
        self._broker, self.why, self.final = broker, "", False

    def judged(self, why: Exception) -> Exception:
        """Return the fault in words for the operator where it is one of trust."""
        if isinstance(why, OSError) and (said := access.distrust(self._broker, why)):
            self.why, self.final = said, access.proven(why)
            return LinkFault(said)
        return why


def entrance(broker: Mqtt) -> Entrance | None:
    """Return the way in for a whole fleet; None where [mqtt] is insecure.

    Raises:
        OperatorFault: there are no certificates in the file.
    """
    return None if broker.insecure else Entrance(broker)


def standing(broker: Mqtt, name: str, door: Entrance | None, trouble: str) -> Session:
    """Return how one device's link stands that is not up, by the trouble that it had."""
    session = Session(f"{broker.host}:{broker.port}", name)
    if door is not None and door.why:
        session.unwilling(door.why, final=door.final)
    elif trouble.startswith("the broker refuses"):
        session.refused(trouble)
    elif trouble:
        session.failed(trouble)
    return session
