"""The deployment file explained: `heatveil config`, to people and to their editors."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from recovery.estimators import HOMES

from ..faults import OperatorFault
from ..mechanisms import TABLE, USUAL
from ..settings import config as deployments
from ..settings.deployment import Deployment

_KEY = re.compile(r"^(?:# )?([a-z0-9_]+) = .*?\s# +(.*)$")
_MORE = re.compile(r"^#\s{8,}(.*)$")  # a comment that goes on in the next line


def config(
    sample: Annotated[
        bool,
        typer.Option("--sample", help="A file, every key explained; also without any option."),
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Its JSON Schema, for editors.")
    ] = False,
    mechanism: Annotated[str, typer.Option(help=f"Whose sample: {' or '.join(TABLE)}.")] = USUAL,
) -> None:
    """Print a deployment file to begin with, or what may stand in one.

    heatveil config --sample > gateway.toml; heatveil config --schema > gateway.schema.json
    """
    if sample and schema:
        raise OperatorFault(
            "--sample and --schema both came, and what is printed goes into one file: they would "
            "spoil each other. Give one at a time"
        )
    if schema:
        typer.echo(json.dumps(make_schema(), indent=2))
    else:
        typer.echo(deployments.make_sample(mechanism).removesuffix("\n"))


def make_schema() -> dict[str, Any]:
    """Return the JSON Schema of a deployment file, each key with the sample's own words.

    A room that has a file of its own says itself what else must be said, so there the tables
    may lack it: what really is missing is for `heatveil check` to say.
    """
    found = Deployment.model_json_schema(by_alias=False)
    tables, words = found["$defs"], collect_key_explanations()
    for name, table in found["properties"].items():
        table.pop("default", None)
        said = tables[_name(table)]
        said.pop("required", None)
        said.pop("description", None)  # for readers of the code
        for key, value in said["properties"].items():
            value.pop("title", None)  # the key again, in capitals
            if text := words.get((name, key)):
                value["description"] = text
    tables["Rounds"]["properties"]["estimator"]["enum"] = list(HOMES)
    del found["description"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **found,
        "title": "A deployment of heatveil",
        "required": ["room", "privacy"],
    }


def collect_key_explanations() -> Mapping[tuple[str, str], str]:
    """Return what the samples of all mechanisms say of each key; the first that has it counts."""
    found: dict[tuple[str, str], str] = {}
    for mechanism in TABLE:
        found = {**read_key_explanations(deployments.make_sample(mechanism)), **found}
    return found


def read_key_explanations(sample: str) -> Mapping[tuple[str, str], str]:
    """Return what the sample says of each key, by table and key.

    >>> read_key_explanations('[site]\\nname = "lab"   # part of every topic')
    {('site', 'name'): 'part of every topic'}
    """
    found: dict[tuple[str, str], str] = {}
    table, last = "", None
    for line in sample.splitlines():
        if line.startswith("["):
            table, last = line.strip("[] "), None
        elif key := _KEY.match(line):
            last = table, key[1]
            found[last] = key[2]
        elif last is not None and (more := _MORE.match(line)):
            found[last] += " " + more[1]
        else:
            last = None
    return found


def _name(reference: Mapping[str, Any]) -> str:
    """Return the name of the table that a property refers to."""
    inner = reference if "$ref" in reference else reference["allOf"][0]
    return str(inner["$ref"]).rpartition("/")[2]
