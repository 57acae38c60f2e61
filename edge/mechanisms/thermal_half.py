"""What a device does to thermal readings before they leave: clamp them, blur each with a Gaussian.

The guarantee, and what becomes of the blurred readings, is in `thermal`.

Why a device will not answer a Round is looked at before anything is charged and before the sensor
is read, and from public numbers alone: the Round's, and the limits that the device was enrolled
with. What a forged Round cannot lower is the noise (`Limits.variance`), what it cannot understate
the price.
"""

from collections import namedtuple

from ..core.budget import NANO, price
from ..core.noise import dgauss, isqrt
from ..core.records import check_whole

NAME = "thermal"

# sensors in the round; a grain is 2**-exponent kelvin (or units of the unit interval's model);
# low and high clamp a reading, in grains; variance of the noise, in grains squared; step of the
# sensor's converter, in grains; keyholder 1 where a key holder can subtract the noise, else 0.
Params = namedtuple(
    "Params", ("sensors", "exponent", "low", "high", "variance", "step", "keyholder")
)

PARAMS = 7  # how many: MicroPython's namedtuple does not tell. One more asks for tables: `table`
# Where some stand: who needs one makes no Params.
_SENSORS, _EXPONENT, _LOW, _HIGH, _VARIANCE = 0, 1, 2, 3, 4
MARGIN = 16  # standard deviations of noise that fit the frame: beyond, with 1e-57, it is clipped
EXPONENTS = 64  # grains between 2**-64 and 2**64 kelvin; more is an attack on the memory


def params_of(round):
    """Return what a Round says of clamp, grain and noise, whatever its noise is drawn from."""
    params = round.params
    return Params(*(params if len(params) == PARAMS else params[:PARAMS]))


def table_bits(round):
    """Return the bits of the tables that a Round's noise is from, or 0 where it is exact."""
    return round.params[PARAMS] if len(round.params) > PARAMS else 0


def find_law(round):
    """Return what the noise of a Round depends on: its variance, and the bits of its tables."""
    return round.params[_VARIANCE], table_bits(round)


def cost(limits, round):
    """Return the nano-rho that a device of these limits pays for its answer to a Round."""
    return price(limits, round.params[_EXPONENT], round.params[_VARIANCE])


def make_meta(round):
    """Return what the device's `meta` says of its last Round, or of None."""
    if round is None:
        return {}
    return {"exponent": round.params[_EXPONENT], "variance": round.params[_VARIANCE]}


def bits(round):
    """Return how wide a number of this Round's reports is, 16 or 32 bits, whatever is read."""
    variance = round.params[_VARIANCE]
    reach = max(abs(round.params[_LOW]), abs(round.params[_HIGH]))
    for width in (16, 32):
        deviation = ((1 << (width - 1)) - 1 - reach) // MARGIN  # how wide one may be, to fit
        if deviation > 0 and variance < deviation * deviation:
            return width
    reach += MARGIN * (isqrt(variance) + 1)
    raise ValueError(
        "round %d has readings and noise up to %d grains, a report carries up to 2**31: numbers "
        "would be cut. Plan it with a coarser grain" % (round.number, reach)
    )


def draw(variance, count, rng, source=None):
    """Return the noise of `count` readings; it depends on no reading, so draw it ahead.

    source: tables of this variance, of `table.find_tables`, or None for exact noise.
    """
    noise = [0] * count
    if source is not None:
        source.fill(noise, rng)
    else:
        for i in range(count):
            noise[i] = dgauss(variance, 1, rng)
    return noise


def veil(round, reading, noise):
    """Return the payload [first sensor, blurred reading, ...], in grains; a noise a reading.

    Clamping a reading brings two readings no further apart, and clipping the sum to the
    frame looks at public numbers only, so neither costs privacy.
    """
    params = round.params
    values = check_whole(reading.values, len(noise))
    last = reading.sensor + len(values) - 1
    if not 0 <= reading.sensor <= last < params[_SENSORS]:
        raise ValueError(
            "sensor %d is not in round %d, which has sensors 0 to %d"
            % (last if reading.sensor >= 0 else reading.sensor, round.number, params[_SENSORS] - 1)
        )
    low, high, most = params[_LOW], params[_HIGH], (1 << (bits(round) - 1)) - 1
    least = -most
    payload = [reading.sensor] + noise
    for i in range(len(values)):
        payload[1 + i] = min(max(min(max(values[i], low), high) + noise[i], least), most)
    return payload


def objection(round, identity, limits, newest, step=None, tables=(False, None)):
    """Return why the device of this identity must not answer a thermal Round, or "".

    newest is the greatest number of a Round that it answered in this boot or an earlier one,
    step what the least move shows, its converter's step for most, (num, den) of a kelvin, or None
    for one finer than any grain.
    tables: whether it may draw noise from tables, if a Round asks for that, and what makes them of
    variance and bits, or None: they are there before anything is charged.
    """
    if not PARAMS <= len(round.params) <= PARAMS + 1:
        return "it has %d params instead of %d" % (len(round.params), PARAMS)
    params = params_of(round)
    if not -EXPONENTS <= params.exponent <= EXPONENTS:
        return "its grains of 2**%d kelvin are none that a sensor has" % -params.exponent
    if round.number <= newest:
        return "it is round %d, and round %d is already answered" % (round.number, newest)
    last = identity.sensor + identity.sensors - 1
    if not 0 <= identity.sensor <= last < params.sensors:
        return "sensor %d is not in round %d, which has sensors 0 to %d" % (
            last,
            round.number,
            params.sensors - 1,
        )
    if params.keyholder != (1 if identity.mode == "keyholder" else 0):
        return "its guarantee is not that of a %s device" % identity.mode
    bits(round)
    why = _too_quiet(params, limits) or _too_cheap(round, params, limits) or _coarse(params, step)
    if why or len(round.params) == PARAMS:
        return why
    try:
        from ..core import table  # much memory, for what few devices are asked

        wanted, allowed = table_bits(round), tables[0] or identity.sensors < table.ARRAY
        why = table.objection(round.number, params.variance, wanted, allowed)
        if not why and tables[1] is not None:
            tables[1](params.variance, wanted)
        return why
    except (ImportError, MemoryError) as fault:
        return "its noise is from tables, and there is no room here (%s)" % type(fault).__name__


def _too_quiet(params, limits):
    """Return a clause when the grain is coarser or the noise less than the limits allow."""
    finer = params.exponent - limits.exponent
    if finer < 0:
        return "its grains of 2**%d kelvin are coarser than this device's limit of 2**%d" % (
            -params.exponent,
            -limits.exponent,
        )
    if params.variance < limits.variance << (2 * finer):
        return (
            "it asks for less noise than this device's limit of %d grains of 2**%d K squared"
            % (
                limits.variance,
                -limits.exponent,
            )
        )
    return ""


def _too_cheap(round, params, limits):
    """Return a clause when the Round's promise states a smaller price than the device pays."""
    num, den = round.guarantee.rho or (0, 1)
    cost = price(limits, params.exponent, params.variance)
    if den < 1 or -(-NANO * num // den) < cost:
        return "its promise states less than the %d nano-rho that an answer costs" % cost
    return ""


def _coarse(params, step):
    """Return a clause when readings move further than the noise of the Round is made for.

    A step that divides the planned one does not. The planned one is rounded up to grains, so it is
    known here to within one; before there is a device `host.enrol.shows_more` has the exact one.
    """
    if step is None:
        return ""
    num, den = step
    if params.exponent >= 0:
        num <<= params.exponent
    else:
        den <<= -params.exponent
    if params.step >= 1 and (params.step * den % num == 0 or -(-num // den) == params.step):
        return ""
    return (
        "its noise is for converter steps of %d grains of 2**%d K, which this device's step of "
        "%d/%d K does not divide: a step flips on all sensors at once (of two converters in a "
        "row, the counts of both; edge/README has adc_step and adc_behind of each)"
        % (params.step, -params.exponent, step[0], step[1])
    )
