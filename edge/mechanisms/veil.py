"""What a device does to thermal readings before they leave: clamp them, blur each with a Gaussian.

The guarantee, and what becomes of the blurred readings, is in `thermal`.
"""

from collections import namedtuple

from ..core.limits import price
from ..core.noise import dgauss, isqrt
from ..core.records import whole

NAME = "thermal"

# sensors in the round; a grain is 2**-exponent kelvin (or units of the unit interval's model);
# low and high clamp a reading, in grains; variance of the noise, in grains squared; step of the
# sensor's converter, in grains; keyholder 1 where a key holder can subtract the noise, else 0.
Params = namedtuple(
    "Params", ("sensors", "exponent", "low", "high", "variance", "step", "keyholder")
)

PARAMS = 7  # how many: MicroPython's namedtuple does not tell. One more asks for tables: `bulk`
MARGIN = 16  # standard deviations of noise that fit the frame: beyond, with 1e-57, it is clipped


def params_of(round):
    """Return what a Round says of clamp, grain and noise, whatever its noise is drawn from."""
    return Params(*round.params[:PARAMS])


def digits(round):
    """Return the bits of the tables that a Round's noise is from, or 0 where it is exact."""
    return round.params[PARAMS] if len(round.params) > PARAMS else 0


def like(round):
    """Return what the noise of a Round depends on: its variance, and the bits of its tables."""
    return params_of(round).variance, digits(round)


def cost(limits, round):
    """Return the nano-rho that a device of these limits pays for its answer to a Round."""
    params = params_of(round)
    return price(limits, params.exponent, params.variance)


def bits(round):
    """Return how wide a number of this Round's reports is, 16 or 32 bits, whatever is read."""
    params = params_of(round)
    reach = max(abs(params.low), abs(params.high)) + MARGIN * (isqrt(params.variance) + 1)
    for width in (16, 32):
        if reach < 1 << (width - 1):
            return width
    raise ValueError(
        "round %d has readings and noise up to %d grains, a report carries up to 2**31: numbers "
        "would be cut. Plan it with a coarser grain" % (round.number, reach)
    )


def draw(variance, count, rng, source=None):
    """Return the noise of `count` readings; it depends on no reading, so draw it ahead.

    source: tables of this variance, of `bulk.source`, or None for exact noise.
    """
    if source is not None:
        noise = [0] * count
        source.fill(noise, rng)
        return noise
    return [dgauss(variance, 1, rng) for _ in range(count)]


def veil(round, reading, noise):
    """Return the payload [first sensor, blurred reading, ...], in grains; a noise a reading.

    Clamping a reading brings two readings no further apart, and clipping the sum to the
    frame looks at public numbers only, so neither costs privacy.
    """
    params = params_of(round)
    values = whole(reading.values, len(noise))
    last = reading.sensor + len(values) - 1
    if not 0 <= reading.sensor <= last < params.sensors:
        raise ValueError(
            "sensor %d is not in round %d, which has sensors 0 to %d"
            % (last if reading.sensor >= 0 else reading.sensor, round.number, params.sensors - 1)
        )
    most = (1 << (bits(round) - 1)) - 1
    blurred = [
        min(max(min(max(value, params.low), params.high) + z, -most), most)
        for value, z in zip(values, noise)
    ]
    return [reading.sensor] + blurred
