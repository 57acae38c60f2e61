"""Which tables and keys of a deployment file belong to which mechanism.

A table that is needed and missing, or one that its mechanism does not read, is refused with a
sentence: what is written down and heeded by nobody would be taken for a promise.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Own(NamedTuple):
    """What one mechanism reads: its tables and keys with what they say, and what it cannot."""

    tables: Mapping[str, str]
    keys: Mapping[tuple[str, str], str]
    never: Mapping[tuple[str, str], str]


OWN = {
    "thermal": Own(
        {
            "heat": "how far warmth has spread, which the noise is made for",
            "sensors": "how many thermometers there are",
        },
        {("privacy", "delta"): "the chance by which the promise may fail"},
        {},
    ),
    "disk": Own(
        {"disk": "how many devices there are, and how they answer"},
        {},
        {
            ("room", "plan"): "no warmth is followed through a room",
            ("room", "walls"): "no warmth spreads between walls",
            ("room", "furniture"): "every cell can be answered",
            ("privacy", "delta"): "its promise is epsilon alone and never fails",
            ("privacy", "protect_distance_m"): "it hides one place among all, however far",
            ("privacy", "keyholder"): "a device whose draws somebody can repeat hides no place",
            ("rounds", "estimator"): "who draws the map stands under [disk] estimator",
            ("rounds", "calibration"): "there is no noise to calibrate",
            ("rounds", "sampler"): "it draws from the weights that its Round carries",
        },
    ),
}
# The tables that some mechanism reads and another does not.
SPECIAL = tuple(dict.fromkeys(table for own in OWN.values() for table in own.tables))


def check(deployment: Any) -> None:
    """Check that a deployment has what its mechanism reads, and nothing beside it.

    A mechanism that nobody knows is left to `mechanisms`, which names those that there are.

    Raises:
        ValueError: a table or key is missing, or is of no use to the mechanism.
    """
    mechanism = deployment.rounds.mechanism
    if mechanism not in OWN:
        return
    own = OWN[mechanism]
    said = [*_needless(deployment, mechanism, own), *_missing(deployment, mechanism, own)]
    if said:
        raise ValueError("; ".join(said))


def _needless(deployment: Any, mechanism: str, own: Own) -> list[str]:
    said = [
        f"[{table}] {key} is given and the mechanism is {mechanism}, for which {why}; remove it"
        for (table, key), why in own.never.items()
        if _given(getattr(deployment, table), key)
    ]
    if not deployment.room.plan:  # a room file brings tables of its own
        said += [
            f"[{table}] is given and the mechanism is {mechanism}, which does not read it: it "
            f"would do nothing unnoticed. Remove it, or set [rounds] mechanism to one that does"
            for table in SPECIAL
            if table not in own.tables and getattr(deployment, table) is not None
        ]
    return said


def _missing(deployment: Any, mechanism: str, own: Own) -> list[str]:
    said = [
        f"[{table}] is missing and has no value to fall back on; the mechanism {mechanism} must "
        f"know {why}. Add it: heatveil config --sample --mechanism {mechanism}"
        for table, why in own.tables.items()
        if getattr(deployment, table) is None
    ]
    return said + [
        f"[{table}] {key} is missing and has no value to fall back on; the mechanism {mechanism} "
        f"must know {why}. Add it"
        for (table, key), why in own.keys.items()
        if getattr(getattr(deployment, table), key) is None
    ]


def _given(section: Any, key: str) -> bool:
    """Return whether a key says something else than it would by itself."""
    return bool(getattr(section, key) != type(section).model_fields[key].default)
