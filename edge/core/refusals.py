"""Why a device will not answer a Round, in words for its log, or nothing where it will.

Looked at before anything is charged and before the sensor is read, and made of public numbers
alone: the Round's, and the limits that the device was enrolled with. What a forged Round cannot
lower is the noise (`Limits.variance`), what it cannot understate the price.
"""

from ..mechanisms import veil
from .limits import NANO, price

# The same words whatever was asked and seen, for everybody may hear them.
EXHAUSTED = (
    "its budget is spent, and with it what was promised for the life of its key; enrol the "
    "device again, with a new key and a new promise"
)
EXPONENTS = 64  # grains between 2**-64 and 2**64 kelvin; more is an attack on the memory


def objection(round, identity, limits, newest, step=None, tables=(False, None)):
    """Return why the device of this identity must not answer a thermal Round, or "".

    newest is the greatest number of a Round that it answered in this boot or an earlier one,
    step its converter's step, (num, den) of a kelvin, or None for one finer than any grain.
    tables: whether it may draw noise from tables, if a Round asks for that, and what makes them of
    variance and bits, or None: they are there before anything is charged.
    """
    if not veil.PARAMS <= len(round.params) <= veil.PARAMS + 1:
        return "it has %d params instead of %d" % (len(round.params), veil.PARAMS)
    params = veil.params_of(round)
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
    veil.bits(round)
    why = _too_quiet(params, limits) or _too_cheap(round, params, limits) or _coarse(params, step)
    if why or len(round.params) == veil.PARAMS:
        return why
    try:
        from ..mechanisms import bulk  # much memory, for what few devices are asked

        why = bulk.objection(round, tables[0] or identity.sensors < bulk.ARRAY)
        if not why and tables[1] is not None:
            tables[1](params.variance, veil.digits(round))
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

    A step that divides the planned one does not; the planned one is rounded up to grains.
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
        "%d/%d K does not divide: a step flips on all sensors at once"
        % (params.step, -params.exponent, step[0], step[1])
    )
