"""A level that follows a sensor's readings slowly, taken away before the veil: it has a price.

    level(k + 1) = level(k) + min(max(reading(k) - level(k), -slew), slew)
    sent(k)      = reading(k) - round(level(k)), and then the noise

The level is made of private readings, so what is sent tells of earlier readings too. How much:
let one sensor have the readings x in one world and x' in another, never further apart than D
whole grains, at no answer; and let the levels L and L' begin alike. Then, exactly,

    |sent(k) - sent'(k)| <= D + min(round(k slew) - round(-k slew), D),   k = 0, 1, 2 ...

Proof. A step takes L to the middle one of L - slew, x and L + slew. That middle one rises with x
and with L, and by t where both rise by t; so after a step the levels are at most as far apart as
they were or as the readings are, whichever is more: never further than D, which is whole, so
rounded they are not either. And in k steps none gets further than k slew from where they began,
a whole grain. A sensor whose readings are the same in both worlds, always, has the same level.
The bound is reached: rise in one world and fall in the other, then change places.

So the promise rests on where a level begins. It begins at 0, the recorded and public empty room:
when the device starts, so after every power cut too, with a new key, with another grain, and after
`answers` answers, as many as share the promise. Those moments are public. Were it never to begin
again, whoever was here last week would show in what is sent today. `recovery.thermal.noise` makes
the noise for it, and `limits` hold the device to that noise.

It moves once for each Round that is answered (`node` sees to it): not for one that is refused, nor
for one that comes again, nor where the sensor fails. Else who asks could move it at will.

What it cannot do: it takes whoever stands still for the room, at most slew * answers of him; and
it leaves the room where that is too slow. The median of the frame itself, which needs no memory,
is not offered: it is private too, and one pixel that changes moves all of them.
"""

from .records import check_whole


class Follower:
    """The levels of a device's sensors. 4 bytes a sensor on a board, and no float.

    slew: the ratio (num, den) of a kelvin that a level moves by at most at one answer.
    answers: after how many it begins again.
    """

    def __init__(self, slew, answers):
        num, den = slew
        for number in (num, den, answers):
            if type(number) is not int or number < 1:
                raise ValueError(
                    "a level is to move by %s/%s K in each of %s answers but all must be whole, "
                    "at least 1: a level that never moves needs no follower. Leave the follower "
                    "out" % (num, den, answers)
                )
        self._slew = slew
        self._answers = answers
        self._moved = 0  # so many times since it began
        self._levels = [0]  # in whole parts of a grain, so that slew is a whole number of them
        self._for = (0, 0)  # the grain, and how many sensors
        self._seen = None  # readings that have moved nothing yet, and from where they would

    def subtract(self, values, exponent):
        """Return the readings less their levels, in grains of 2**-exponent kelvin; moves none."""
        values = check_whole(values, len(values))
        found, levels, moved = (exponent, len(values)), self._levels, self._moved
        if moved >= self._answers or self._for != found:
            levels, moved = [0] * len(values), 0
        self._seen = values, found, levels, moved
        part = self._parts(exponent)[1]
        return tuple([v - (2 * level + part) // (2 * part) for v, level in zip(values, levels)])

    def follow(self):
        """Move the levels towards the last readings of `subtract`: once, when it was answered."""
        if self._seen is None:
            return
        values, found, levels, moved = self._seen
        slew, part = self._parts(found[0])
        # All at once: a board that runs out of memory here has moved none.
        self._levels = [
            level + min(max(value * part - level, -slew), slew)
            for value, level in zip(values, levels)
        ]
        self._for, self._moved = found, moved + 1
        self._seen = None  # no reading moves a level twice

    def _parts(self, exponent):
        """Return the slew, and a grain, in the parts of a grain that levels are counted in."""
        num, den = self._slew
        if exponent >= 0:
            return num << exponent, den
        return num, den << -exponent
