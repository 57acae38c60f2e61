"""The inner loops of `table` in machine code, for boards whose Python can make some.

`table` takes it from here where it loads: on CPython there is no `micropython`, and where a port
has no emitter the decorator does not compile. Released as source, never as .mpy: machine code is
for one processor, and a board compiles this file for its own in a moment.
"""

import micropython


# Finds what `table.look_up_noise` finds. Viper's numbers are single words, so no constant here is
# above 2**30, and four arguments are as many as any port takes.
@micropython.viper
def look_up_noise(out: ptr32, drawn: ptr32, thresholds: ptr32, sizes: ptr32):  # type: ignore[name-defined]  # noqa: F821
    """Write into out[i] the noise that drawn[i * limbs:][:limbs] stands for."""
    count = int(sizes[0])
    entries = int(sizes[1])
    limbs = int(sizes[2])
    i = 0
    while i < count:
        first = i * limbs
        top = int(drawn[first + limbs - 1])
        sign = 0 - (top >> 28)
        drawn[first + limbs - 1] = top & 0xFFFFFFF
        base = 0
        left = entries
        while left > 0:
            half = (left + 1) >> 1
            at = (base + half - 1) * limbs
            borrow = 0
            place = 0
            while place < limbs:
                borrow = (int(drawn[first + place]) - int(thresholds[at + place]) + borrow) >> 28
                place += 1
            base += half - (half & borrow)
            left = left >> 1
        out[i] = (base ^ sign) - sign
        i += 1


# Cuts what `table.split` cuts. Of a byte at a time: with more, a word would overflow.
@micropython.viper
def split(drawn: ptr32, raw: ptr8, sizes: ptr32):  # type: ignore[name-defined]  # noqa: F821
    """Cut bytes, sizes[0] numbers one after the other, into the limbs of each, lowest first."""
    count = int(sizes[0])
    limbs = int(sizes[2])
    have = (((28 * limbs + 1) * count - 1) & 7) + 1  # bits of the first byte that are drawn
    byte = 0
    i = 0
    while i < count:
        place = limbs - 1
        need = 29
        while place >= 0:
            value = 0
            while need > 0:
                if have == 0:
                    byte += 1
                    have = 8
                take = need
                if have < take:
                    take = have
                have -= take
                need -= take
                value = (value << take) | ((int(raw[byte]) >> have) & ((1 << take) - 1))
            drawn[i * limbs + place] = value
            place -= 1
            need = 28
        i += 1
