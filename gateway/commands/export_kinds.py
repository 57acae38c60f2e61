"""What can be exported: five kinds of rows, with their columns and the units of these."""

from functools import partial

from . import export_rows
from .export_own import OWN
from .export_rows import Kind

NAMES = ("reports", "releases", "maps", "messages", "ledger")
EPOCH = "seconds since 1970-01-01 UTC, of the gateway's clock"
MESSAGES = Kind(
    {"round": int, "at_s": float, "topic": str, "payload": str},
    {"at_s": EPOCH, "payload": "hex, as it came or went; empty where a round is taken back"},
    "rounds",
    export_rows.messages,
)
LEDGER = Kind(
    {"round": int, "device": str, "rho": str, "rho_decimal": float, "at_s": float},
    {"rho": "num/den, exact", "device": "empty: the whole fleet was asked", "at_s": EPOCH},
    "pages of charges",
    export_rows.ledger,
)


def kinds(mechanism: str) -> dict[str, Kind]:
    """Return what can be exported of a mechanism's store, by name."""
    own = OWN[mechanism]
    heard = {"epoch": "boots of the device", "seq": "its messages", "taken_s": EPOCH}
    ended = {"closed_s": EPOCH, "reports": "devices that answered"}
    cell = {"row": "from 0", "column": "from 0", "mass": "of the cell, as on the map topic"}
    sure = (
        {"sd": "of mass, one standard deviation; empty where it is not known"} if own.sure else {}
    )
    numbers = {"round": int, "device": str, "epoch": int, "seq": int, "taken_s": float}
    drawn = {"round": int, "opened_s": float, "row": int, "column": int, "mass": float}
    return {
        "reports": Kind(
            {**numbers, **own.report},
            {name: said for name, said in own.units.items() if name in own.report} | heard,
            "rounds",
            partial(export_rows.reports, own),
        ),
        "releases": Kind(
            {"round": int, "closed_s": float, "reports": int, **own.release},
            {name: said for name, said in own.units.items() if name in own.release} | ended,
            "rounds",
            partial(export_rows.releases, own),
        ),
        "maps": Kind(
            {**drawn, **dict.fromkeys(sure, float)},
            {**cell, **sure, "opened_s": EPOCH},
            "maps",
            partial(export_rows.maps, own),
        ),
        "messages": MESSAGES,
        "ledger": LEDGER,
    }
