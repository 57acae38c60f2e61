"""Air in numbers: how much heat warms it, how fast it mixes, and what people give off.

From joules to the units of the kernels. Heat Q, in joules, released where a kernel has been
divided by what it does not describe (the cross-section of a corridor along a line, the height of
a room in a plan) leaves Q / (AIR_J_PER_M3K x that) in K m, K m2 or K m3: see `warmth`.
"""

import math
from dataclasses import dataclass

# Density 1.20 kg/m3 times 1005 J/(kg K), dry air at 20 C and one atmosphere.
AIR_J_PER_M3K = 1206.0

# Of air that nothing stirs; indoors it is always stirred, a hundred times as strong.
# Source: Incropera and DeWitt 2007, Table A.4, air at 293 K.
STILL_AIR_M2_PER_S = 2.1e-5


@dataclass(frozen=True, slots=True)
class Activity:
    """What one person gives off, in rooms at 24 C.

    Args:
        sensible_w: what warms the room, in watts; the table's own rounding is 5 W.
        latent_w: what leaves with moisture and warms nothing before it condenses, in watts.
        convective: the share of the sensible heat that warms the air at once, in nearly still
            air; the rest is radiated and warms walls and furniture first.
        convective_moving: the same share where air moves fast, by fans or by walking.
    """

    sensible_w: float
    latent_w: float
    convective: float
    convective_moving: float

    @property
    def air_w(self) -> float:
        """What warms the air at once, in watts, where it is nearly still."""
        return self.sensible_w * self.convective


# Source: ASHRAE Handbook of Fundamentals (SI) 2009 and 2013, Chapter 18, Table 1, adjusted for
# men, women and children as usual there. Its radiant shares are given by group of rows: 60 and
# 27 per cent where people sit, 58 and 38 where they stand or stroll, 49 and 35 at light work, 54
# and 19 at heavy work, for low and for high air velocity.
ACTIVITIES: dict[str, Activity] = {
    "seated": Activity(70.0, 35.0, 0.40, 0.73),  # in a theatre, at night
    "office": Activity(70.0, 45.0, 0.40, 0.73),  # seated, very light work
    "active": Activity(75.0, 55.0, 0.42, 0.62),  # moderately active office work
    "standing": Activity(75.0, 55.0, 0.42, 0.62),  # light work, strolling: a shop
    "strolling": Activity(75.0, 70.0, 0.42, 0.62),  # walking and standing: a bank
    "walking": Activity(110.0, 185.0, 0.51, 0.65),  # at 4.8 km/h
    "dancing": Activity(90.0, 160.0, 0.51, 0.65),
    "heavy": Activity(170.0, 255.0, 0.46, 0.81),
    "athletics": Activity(210.0, 315.0, 0.46, 0.81),
}


def warmth(joules: float, beyond: float = 1.0, capacity_factor: float = 1.0) -> float:
    """Return the heat in the kernels' unit: kelvin times metres, square or cubic metres.

        M = Q / (AIR_J_PER_M3K x beyond x capacity_factor)

    From watts it is the same by the second, in K m/s and so on, for `physics.kernels.continuous`.

    Args:
        joules: Q, sensible and convective; below nought for what cools.
        beyond: what the kernel does not describe: the cross-section in square metres along a
            line, the height in metres in a plan, 1 in a room of three axes.
        capacity_factor: how many times the capacity of its air a room has, with walls and
            furniture; 1 for the first seconds, 10 to 15 over hours. Of a person of 75 W the bare
            air of 47 m3 would warm by 4.7 K/h; in offices we measured 0.1 to 0.4.

    Raises:
        ValueError: a number that is not finite, or an extent or capacity that is not positive.

    >>> round(warmth(75 * 60, beyond=2.5), 3)
    1.493
    """
    for name, value, least in (
        ("joules", joules, -math.inf),
        ("beyond", beyond, 0.0),
        ("capacity_factor", capacity_factor, 0.0),
    ):
        if not least < value < math.inf:
            raise ValueError(
                f"{name} is {value:g} but must be finite{' and positive' if least == 0 else ''}, "
                "for heat is shared among the air that it warms. Give SI units: joules, metres."
            )
    return joules / (AIR_J_PER_M3K * beyond * capacity_factor)


def loss_per_s(air_changes_per_h: float) -> float:
    """Return the rate at which ventilation takes warmth away, in 1/s: ACH / 3600.

    Raises:
        ValueError: fewer changes than none, or not finite.

    >>> loss_per_s(1.8)
    0.0005
    """
    if not 0 <= air_changes_per_h < math.inf:
        raise ValueError(
            f"air_changes_per_h is {air_changes_per_h:g} but must be 0 or more and finite: it is "
            "how often in an hour the room's air is replaced. Give 0 for a closed room."
        )
    return air_changes_per_h / 3600


def remaining(loss_per_s: float, elapsed_s: float) -> float:
    """Return the share of an instantaneous source's warmth that ventilation has left: exp(-l t).

    The kernels of heat given off at once take it as a factor, for all heat is equally old; those
    of heat given off over time take the loss itself.

    Raises:
        ValueError: a rate or a time below nought or not finite.

    >>> round(remaining(loss_per_s(1.0), 1800), 4)
    0.6065
    """
    if not (0 <= loss_per_s < math.inf and 0 <= elapsed_s < math.inf):
        raise ValueError(
            f"loss_per_s is {loss_per_s:g} and elapsed_s {elapsed_s:g} but both must be 0 or more "
            "and finite, for warmth is only taken away, and after it was brought. Give seconds."
        )
    return math.exp(-loss_per_s * elapsed_s)


def mixing_m2_per_s(air_changes_per_h: float, volume_m3: float) -> float:
    """Return the turbulent diffusivity of a naturally ventilated room, in m2/s.

        a = volume**(2/3) x (0.52 ACH + 0.31) / 3600

    Fitted to eleven experiments in two homes, 0.2 to 5 changes an hour, where it was 0.001 to
    0.013; good to about half of it. Corridors that are ventilated mix faster: 0.06, and 0.12
    where the air flows at 0.04 m/s (Lidwell 1975, Airborne infection in a fully air-conditioned
    hospital, III).

    Raises:
        ValueError: fewer changes than none, or a volume that is not positive.

    Source: Cheng, Acevedo-Bolton, Jiang, Klepeis, Ott, Fringer and Hildemann 2011, Environmental
    Science and Technology 45, 4016.

    >>> round(mixing_m2_per_s(1.0, 47.0), 4)
    0.003
    """
    changes = 3600 * loss_per_s(air_changes_per_h)
    if not 0 < volume_m3 < math.inf:
        raise ValueError(
            f"volume_m3 is {volume_m3:g} but must be positive and finite, for larger rooms have "
            "larger eddies. Give length times width times height in metres."
        )
    return float(volume_m3 ** (2 / 3) * (0.52 * changes + 0.31) / 3600)
