"""The deployment file: read, checked whole before anything starts, and turned into a query.

TOML. An unknown key is refused with the nearest name, a bad value with the place, the value
and the need. Environment variables such as HEATVEIL_MQTT__HOST stand above the file;
an unknown one is refused, for a misspelled one would leave the file's broker or promise in force.
"""

import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from ..faults import OperatorFault, suggest_name
from ..mechanisms import USUAL, find_for_deployment, find_mechanism, sections
from .deployment import Deployment
from .fields import Variable
from .roomfile import fill_from_room_file

PREFIX, BETWEEN = "HEATVEIL_", "__"
Environment = Mapping[str, str]


def check_variables(model: type[BaseModel], environment: Environment = os.environ) -> None:
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
                f"the environment has {given} but a deployment file has no table {table}, so it "
                f"would be silently ignored; {suggest_name(table, tables)} Correct it, or unset it"
            )
        if not between and (meant := _find_meant(table, tables)):
            raise OperatorFault(
                f"the environment has {given} but two underscores must separate a table from its "
                f"key, so it would be silently ignored. Name it {meant}, or unset it"
            )


def find_variable(place: Sequence[str], environment: Environment = os.environ) -> str | None:
    """Return the variable from which the value at this place comes, or None: from the file.

    >>> find_variable(["mqtt", "port"], {"HEATVEIL_MQTT__PORT": "x"})
    'HEATVEIL_MQTT__PORT'
    >>> find_variable(["mqtt", "port"], {"HEATVEIL_MQTT__HOST": "x"})
    """
    wanted = [PREFIX + BETWEEN.join(place[:depth]).upper() for depth in (2, 1)]
    return next((given for given in environment if given.upper() in wanted), None)


def overlay_environment(given: Mapping[str, Any], environment: Environment) -> dict[str, Any]:
    """Return what a file says, with what the environment says above it.

    Raises:
        OperatorFault: a table as a whole is not JSON.

    >>> overlay_environment({"mqtt": {"host": "a", "port": 1}}, {"HEATVEIL_MQTT__PORT": "2"})
    {'mqtt': {'host': 'a', 'port': '2'}}
    """
    made = dict(given)
    for variable in sorted(environment, key=str.upper):  # a table as a whole, then its keys
        table, between, key = variable.upper().removeprefix(PREFIX).lower().partition(BETWEEN)
        if not variable.upper().startswith(PREFIX) or table not in Deployment.model_fields:
            continue
        said: Any = environment[variable]
        try:
            if not between or said[:1] in ("[", "{"):
                said = json.loads(said)
            if not between and not isinstance(said, dict):
                raise ValueError("it is no table")
        except ValueError as fault:
            if not between:
                raise OperatorFault(
                    f"the environment has {variable}, which cannot be read ({fault}); a table as "
                    "a whole would have to be JSON. Set single keys instead, such as "
                    "HEATVEIL_MQTT__HOST"
                ) from fault
        before = made[table] if isinstance(made.get(table), dict) else {}
        said = _mark_texts(said)
        made[table] = {**before, key: said} if between else {**before, **said}
    return made


def _mark_texts(said: Any) -> Any:
    """Return what a variable says, every text in it a `Variable`."""
    if isinstance(said, dict):
        return {key: _mark_texts(one) for key, one in said.items()}
    if isinstance(said, list):
        return [_mark_texts(one) for one in said]
    return Variable(said) if isinstance(said, str) else said


def _find_meant(name: str, tables: Iterable[str]) -> str | None:
    for table in tables:
        if name.startswith(f"{table}_"):
            return f"{PREFIX}{table}{BETWEEN}{name.removeprefix(f'{table}_')}"
    return None


__all__ = ["Deployment", "load_deployment", "make_query", "make_sample"]


def make_sample(mechanism: str = USUAL) -> str:
    """Return a deployment file with every key explained; it loads as it stands.

    Raises:
        OperatorFault: there is no such mechanism.
    """
    whole = (Path(__file__).parents[1] / "sample.toml").read_text("utf-8")  # the usual one's
    if (chosen := find_mechanism(mechanism)).name == USUAL:
        return whole
    return sections.make_sample_tables(chosen) + whole[whole.index("[mqtt]") :]


def load_deployment(path: str | Path, environment: Environment = os.environ) -> Deployment:
    """Return the deployment in a file; relative paths in it count from the file's folder.

    Args:
        environment: what stands above the file.

    Raises:
        OperatorFault: there is no such file, it is not TOML, or something in it is wrong.
    """
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except OSError as fault:
        raise OperatorFault(
            f"the deployment file {path} cannot be read ({fault.strerror}); nothing can start "
            f"without it. Mend the path, or begin with: heatveil config --sample > {path.name}"
        ) from fault
    except ValueError as fault:  # a file that is not TOML, or not UTF-8
        raise OperatorFault(
            f"the deployment file {path} cannot be read ({fault}); it must be TOML in UTF-8, "
            'ratios such as "8/1" in quotes, and nothing can start without it. Mend it there; '
            "heatveil config --sample prints one that is right"
        ) from fault
    check_variables(Deployment, environment)
    given = overlay_environment(fill_from_room_file(given, path.resolve().parent), environment)
    try:
        deployment = Deployment(**given)
    except ValidationError as faults:
        said = "; ".join(_say(fault, environment) for fault in faults.errors())
        variables = {
            find_variable(list(map(str, fault["loc"])), environment) for fault in faults.errors()
        }
        where = " and ".join(["the file"] * (None in variables) + sorted(filter(None, variables)))
        raise OperatorFault(
            f"in {path}, {said}{'' if said.endswith('?') else '.'} Nothing was started, so that "
            f"no promise rests on a guess: mend {where}"
        ) from faults
    return _make_paths_absolute(deployment, path.resolve().parent)


def make_query(deployment: Deployment) -> Any:
    """Return what the analyst asks of this deployment, in its mechanism's own words.

    Raises:
        OperatorFault: the values are each well formed, but the mechanism cannot serve them.
    """
    try:
        return find_for_deployment(deployment).query_of(deployment)
    except ValueError as fault:
        raise OperatorFault(f"the deployment cannot be served: {fault}") from fault


def _make_paths_absolute(deployment: Deployment, folder: Path) -> Deployment:
    """Return the deployment with every path absolute."""
    changed: dict[str, Any] = {}
    for name in ("site", "room", "mqtt", "store", "page"):
        section = getattr(deployment, name)
        paths = {key: folder / value for key, value in section if isinstance(value, Path)}
        changed[name] = section.model_copy(update=paths)
    beside = tuple(
        one.model_copy(update={"settings": folder / one.settings}) for one in deployment.page.floor
    )
    changed["page"] = changed["page"].model_copy(update={"floor": beside})
    return deployment.model_copy(update=changed)


def _say(fault: Any, environment: Environment) -> str:
    """Return one fault of pydantic's as a clause: the place, the value, the need."""
    keys = [str(part) for part in fault["loc"]]
    if not keys:  # of the deployment as a whole, and it names its places itself
        return str(fault["msg"]).removeprefix("Value error, ")
    place = f"[{keys[0]}] {' '.join(keys[1:])}".strip()
    if variable := find_variable(keys, environment):
        place += f" (from the environment: {variable})"
    if fault["type"] == "extra_forbidden":
        model: Any = Deployment
        for key in keys[:-1]:
            model = model.model_fields[key].annotation
        return f"{place} is not a name known here; {suggest_name(keys[-1], model.model_fields)}"
    if fault["type"] == "missing" and keys[-1].isdigit():
        return (
            f"[{keys[0]}] {keys[1]} has too few values: it ends before number {int(keys[-1]) + 1}"
        )
    if fault["type"] == "missing":
        return f"{place} is missing and has no value to fall back on"
    if fault["type"] == "model_type":
        return f"{place} is {fault['input']!r} but must be a table of names and values"
    need = fault["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    if fault["type"] in ("int_type", "int_parsing", "int_from_float"):
        need = "it should be a whole number"
    if fault["type"] == "tuple_type":
        need = "it should be values in brackets, such as [1, 2], without quotes"
    if fault["type"] == "string_pattern_mismatch":
        need = "it should be 1 to 32 letters, digits, - or _, a level of a topic"
    return f"{place} is {fault['input']!r}: {need}" if len(keys) > 1 else f"{place}: {need}"
