"""What may be asked of devices whose reports nobody can read: a pyramid's query, and shards."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

from ..fields import described
from ..noise import Ratio
from ..noise.sums import check_shards
from ..pyramid.query import EPSILON_MAX, Levels, epsilon_a_report, estimator_of, levels_of
from ..pyramid.query import Query as Trusted


@dataclass(frozen=True, slots=True)
class Query(Trusted):
    """A map of where devices are, from sums over shards of devices that nobody can see alone.

    Raises:
        ValueError: a field has no meaning, alone or beside the others.
    """

    # Less than a trusted gateway's: a sum of many must fit into 32 bits.
    units: int = field(
        default=16,
        metadata=described("Parts that one device's mass is divided into.", low=1, high=1 << 20),
    )
    shard: int = field(
        default=10_000, metadata=described("The most devices of one secure sum.", low=1)
    )
    dropout: Ratio = field(
        default=(0, 1),
        metadata=described(
            "The share of a shard that may be missing, such as 1/10.", served="1/10"
        ),
    )
    colluders: Ratio = field(
        default=(0, 1),
        metadata=described(
            "The share of a shard that may help the gateway, such as 1/20.", served="1/20"
        ),
    )

    def __post_init__(self) -> None:
        Trusted.__post_init__(self)
        if Fraction(*self.epsilon) > EPSILON_MAX:
            raise ValueError(
                f"epsilon is {Fraction(*self.epsilon)} for all reports but must be {EPSILON_MAX} "
                "at most, or nothing is hidden. Correct it in the query."
            )
        check_shards(self)


def measured(query: Query) -> Levels:
    """Return what is measured: the levels of a pyramid with half the epsilon.

    To hide where somebody is takes twice the noise that hides whether somebody is; what is chosen
    by epsilon and users is chosen for that. Of every level all squares are in the sum, and they
    cost nothing: `sparse` alone keeps fewer of them, for its estimate.
    """
    num, den = (Fraction(*query.epsilon) / 2).as_integer_ratio()
    found = levels_of(replace(query, epsilon=(num, den)))
    if estimator_of(query) == "sparse":
        return found
    return found._replace(kept=4 ** (found.first + found.levels - 1))


def epsilon_of(query: Query) -> Fraction:
    """Return the epsilon of one report of one device."""
    return epsilon_a_report(query)
