"""A thermal array on its device: from counts of its converter to grains above the empty room.

The baseline is recorded once, when nobody is there, and is public: taking a constant away
brings no two frames nearer or further apart, so it costs no privacy. A baseline that follows
the room by itself, a running mean or the frame's own median, would be made of private
readings, and so is left to whoever draws the map: see `recovery.thermal.frames`.
"""

from .records import check_whole


def find_baseline(frames):
    """Return the middle count of each pixel over frames of an empty room.

    frames is a list of frames, each a list of whole counts, pixel by pixel. The middle one,
    the upper of two, is a count that was really read and no outlier moves it.
    """
    if not frames or not frames[0]:
        raise ValueError(
            "there are no frames of the empty room but at least one is needed: nothing else "
            "tells a person from a warm wall. Record some while nobody is there"
        )
    return [sorted(counts)[len(counts) // 2] for counts in zip(*frames)]


def subtract_baseline(counts, empty, exponent, step):
    """Return each pixel's warmth above the empty room, in grains of 2**-exponent kelvin.

        floor((count - empty) * step * 2**exponent + 1/2)

    counts and empty are whole steps of the converter, as many of one as of the other, step the
    ratio (num, den) of a kelvin. ValueError where a count is not whole.

    Counts first, then grains: the noise is scaled for that order.
    """
    counts = check_whole(counts, len(empty))
    num, den = step
    if exponent >= 0:
        num <<= exponent
    else:
        den <<= -exponent
    return tuple([(2 * (c - e) * num + den) // (2 * den) for c, e in zip(counts, empty)])
