"""The search of `table` in machine code, for boards whose Python can make some.

`table` takes it from here where it loads: on CPython there is no `micropython`, and where a port
has no emitter the decorator does not compile. Released as source, never as .mpy: machine code is
for one processor, and a board compiles this file for its own in a moment.
"""

import micropython


# Finds what `table.search` finds. Viper's numbers are single words, so no constant here is above
# 2**30, and four arguments are as many as any port takes.
@micropython.viper
def search(out: ptr32, drawn: ptr32, thresholds: ptr32, sizes: ptr32):  # type: ignore[name-defined]  # noqa: F821
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
