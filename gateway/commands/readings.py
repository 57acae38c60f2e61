"""Published readings in their plainest form: a CSV file `sensor,reading`.

Sensors count from 0; a reading is in kelvin above the baseline, or in the unit of the model.
"""

import csv
import math
from fractions import Fraction
from pathlib import Path

from edge import thermal
from edge.records import Release
from edge.thermal import params_of
from recovery.thermal import Query

from ..faults import OperatorFault
from .choices_thermal import first_round
from .promise import ELSEWHERE
from .published_thermal import check_possible
from .settings import text


def read_csv(path: Path, query: Query) -> list[Release]:
    """Return the readings of a file as one Release of the query.

    Raises:
        OperatorFault: the file or a row of it is wrong, or a reading is impossible.
    """
    if query.sigma is None:
        raise OperatorFault(
            f"{path} came without --sigma; the noise on its readings must be known, for it says "
            "how near a map must come to them. Give its standard deviation, such as --sigma 1/10"
        )
    rows = list(csv.reader(text(path).splitlines()))
    if not rows or [word.strip().lower() for word in rows[0]] != ["sensor", "reading"]:
        raise OperatorFault(
            f"{path} line 1: the header must be sensor,reading, for the columns have no meaning "
            "without it. Write it above the readings"
        )
    round = first_round(query)
    exponent = params_of(round).exponent
    try:
        payloads = [
            _payload(row, exponent, f"{path} line {line}")
            for line, row in enumerate(rows[1:], 2)
            if row
        ]
        if not payloads:
            raise ValueError("it holds no reading, and a map needs one at least")
        release: Release = thermal.release(round, payloads, None)
    except ValueError as fault:
        raise OperatorFault(f"{path}: {fault}. Mend the file, or the flags") from fault
    check_possible(release, path)
    promise = round.guarantee._replace(trust=ELSEWHERE)
    return [release._replace(round=round._replace(guarantee=promise))]


def _payload(row: list[str], exponent: int, where: str) -> list[int]:
    try:
        sensor, reading = row
        if not math.isfinite(float(reading)):
            raise ValueError
        return [int(sensor), round(Fraction(float(reading)) * Fraction(2) ** exponent)]
    except ValueError as fault:
        raise OperatorFault(
            f"{where}: {','.join(row)!r} must be the whole number of a sensor and a finite "
            "reading, or one bad value would spoil the whole map. Correct the row or leave it out"
        ) from fault
