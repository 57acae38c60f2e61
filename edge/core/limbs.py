"""The inner loops of `table` on numbers that no board holds in one word: limbs of 28 bits.

A difference of two limbs is a small int everywhere. `viper` has the same in machine code.
"""


def split(drawn, raw, sizes):
    """Cut bytes, sizes[0] numbers one after the other, into the limbs of each, lowest first.

    A number has a bit more than its limbs: the sign, which stays above the highest one.
    """
    count, limbs = sizes[0], sizes[2]
    value = int.from_bytes(raw, "big")
    for first in range((count - 1) * limbs, -1, -limbs):
        for place in range(first, first + limbs - 1):
            drawn[place] = value & 0xFFFFFFF
            value >>= 28
        drawn[first + limbs - 1] = value & 0x1FFFFFFF
        value >>= 29


def search(out, drawn, thresholds, sizes):
    """Write into out[i] the noise that drawn[i * limbs:][:limbs] stands for; sizes says how many.

    All limbs stand lowest first, the sign above the highest. How many steps, and what is done in
    each, follows from `sizes` alone.
    """
    count, entries, limbs = sizes[0], sizes[1], sizes[2]
    last = limbs - 1
    for i in range(count):
        first = i * limbs
        low, top = drawn[first], drawn[first + last]
        sign = -(top >> 28)
        top &= 0xFFFFFFF
        base = 0
        left = entries
        while left:  # of the thresholds from base on, 0 to left are not above what was drawn
            half = (left + 1) >> 1
            at = (base + half - 1) * limbs
            borrow = (low - thresholds[at]) >> 28
            for place in range(1, last):
                borrow = (drawn[first + place] - thresholds[at + place] + borrow) >> 28
            borrow = (top - thresholds[at + last] + borrow) >> 28
            base += half - (half & borrow)  # borrow is -1 where the threshold is above, else 0
            left >>= 1
        out[i] = (base ^ sign) - sign
