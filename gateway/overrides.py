"""Variables of the environment that stand above the deployment file, and those that nobody knows.

A misspelled variable would be passed over in silence, and a gateway would run with the file's
broker or promise while its operator believes in another.
"""

import os
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel

from .faults import OperatorFault, suggestion

PREFIX, BETWEEN = "HEATVEIL_", "__"
Environment = Mapping[str, str]


def check(model: type[BaseModel], environment: Environment = os.environ) -> None:
    """Check that every variable of ours that names a table names one that there is.

    Raises:
        OperatorFault: it does not, or puts one _ between table and key.
    """
    tables = [name.upper() for name in model.model_fields]
    for given in sorted(environment):
        name = given.upper()
        if not name.startswith(PREFIX):
            continue
        table, between, _ = name.removeprefix(PREFIX).partition(BETWEEN)
        if between and table not in tables:
            raise OperatorFault(
                f"the environment has {given} but {table} is no table of a deployment file, so "
                f"nobody would heed it; {suggestion(table, tables)} Mend it, or unset it"
            )
        if not between and (meant := _meant(table, tables)):
            raise OperatorFault(
                f"the environment has {given} but two _ stand between a table and its key, so "
                f"nobody would heed it. Name it {meant}, or unset it"
            )


def told(place: Sequence[str], environment: Environment = os.environ) -> str | None:
    """Return the variable from which the value at this place comes, or None: from the file.

    >>> told(["mqtt", "port"], {"HEATVEIL_MQTT__PORT": "x"})
    'HEATVEIL_MQTT__PORT'
    >>> told(["mqtt", "port"], {"HEATVEIL_MQTT__HOST": "x"})
    """
    wanted = [PREFIX + BETWEEN.join(place[:depth]).upper() for depth in (2, 1)]
    return next((given for given in environment if given.upper() in wanted), None)


def _meant(name: str, tables: Iterable[str]) -> str | None:
    for table in tables:
        if name.startswith(f"{table}_"):
            return f"{PREFIX}{table}{BETWEEN}{name.removeprefix(f'{table}_')}"
    return None
