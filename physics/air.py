"""Air in numbers: how much heat warms it, and what people give off."""

from dataclasses import dataclass

# Density 1.20 kg/m3 times 1005 J/(kg K), dry air at 20 C and one atmosphere.
AIR_J_PER_M3K = 1206.0


@dataclass(frozen=True, slots=True)
class Activity:
    """What one person gives off, in rooms at 24 C.

    Args:
        sensible_w: what warms the room, in watts; the table's own rounding is 5 W.
        latent_w: what leaves with moisture and warms nothing before it condenses, in watts.
        convective: the share of the sensible heat that warms the air at once, in nearly still
            air; the rest is radiated and warms walls and furniture first.
    """

    sensible_w: float
    latent_w: float
    convective: float

    @property
    def air_w(self) -> float:
        """What warms the air at once, in watts, where it is nearly still."""
        return self.sensible_w * self.convective


# Source: ASHRAE Handbook of Fundamentals (SI) 2009 and 2013, Chapter 18, Table 1, adjusted for
# men, women and children as usual there. Its radiant shares at low air velocity are given by group
# of rows: 60 per cent where people sit, 58 where they stand or stroll, 49 at light work, 54 at
# heavy work.
ACTIVITIES: dict[str, Activity] = {
    "seated": Activity(70.0, 35.0, 0.40),  # in a theatre, at night
    "office": Activity(70.0, 45.0, 0.40),  # seated, very light work
    "active": Activity(75.0, 55.0, 0.42),  # moderately active office work
    "standing": Activity(75.0, 55.0, 0.42),  # light work, strolling: a shop
    "strolling": Activity(75.0, 70.0, 0.42),  # walking and standing: a bank
    "walking": Activity(110.0, 185.0, 0.51),  # at 4.8 km/h
    "dancing": Activity(90.0, 160.0, 0.51),
    "heavy": Activity(170.0, 255.0, 0.46),
    "athletics": Activity(210.0, 315.0, 0.46),
}
