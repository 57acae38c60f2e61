"""What may be looked up, as pages: commands, deployment file, HTTP interface and Python names.

    python -m heatveil.reference dist/reference     what `make reference` does

Each page is made of what the program itself holds: nothing stands there that it does not do.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.cli import get_docs_for_click

import heatveil
from gateway.cli import load_program
from gateway.cli.config import make_schema
from gateway.web.app import describe_api

# What numpy has for ArrayLike would fill a page, and what it may be else comes last.
_ARRAY = re.compile(r"Union\[numpy\._typing.*?\[complex \| bytes \| str\]((?:, [\w.]+)*)\]")


def pages() -> dict[str, str]:
    """Return every page of the reference, in Markdown, by the name of its file."""
    return {
        "commands.md": _commands(),
        "deployment.md": "\n".join(_deployment()),
        "http.md": "\n".join(_http()),
        "python.md": "\n".join(_python()),
    }


def _commands() -> str:
    program = load_program()
    context = typer.Context(program, info_name="heatveil")
    return get_docs_for_click(obj=program, ctx=context, name="heatveil")


def _deployment() -> Iterator[str]:
    """Yield the tables of a deployment file, a row a key: the schema that editors are given."""
    schema = make_schema()
    yield "# The deployment file\n\n`heatveil config --sample` writes one to begin with."
    tables = [(f"[{name}]", _resolve(schema, one)) for name, one in schema["properties"].items()]
    for table, of in tables:
        yield f"\n## {table}\n\n| key | what | must be | without |\n| --- | --- | --- | --- |"
        for key, one in of.get("properties", {}).items():
            usual = one.get("default")
            without = "" if usual is None else f"`{usual}`"
            yield f"| `{key}` | {_cell(one.get('description', ''))} | {_kind(one)} | {without} |"
            if "$ref" in one.get("items", {}):
                tables.append((f"[[{table[1:-1]}.{key}]]", _resolve(schema, one["items"])))


def _resolve(schema: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """Return what a table holds, which is beside the schema and may be left out."""
    for one in (told, *told.get("anyOf", ())):
        if "$ref" in one:
            found: dict[str, Any] = schema["$defs"][one["$ref"].rpartition("/")[2]]
            return found
    return told


def _kind(one: dict[str, Any]) -> str:
    """Return of what type a value is, and between what it lies."""
    if "anyOf" in one:
        return " or ".join(dict.fromkeys(_kind(part) for part in one["anyOf"]))
    if "enum" in one:
        return ", ".join(f"`{value}`" for value in one["enum"])
    if one.get("type") == "array" and "$ref" in one.get("items", {}):
        return "tables, each as below"
    said = [str(one.get("type", one.get("$ref", "").rpartition("/")[2]))]
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "pattern": "like"}
    said += [f"{word} `{_cell(str(one[key]))}`" for key, word in words.items() if key in one]
    return " ".join(said)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _http() -> Iterator[str]:
    """Yield the operations of the page's interface, of which /api/v1/openapi.json says more."""
    yield "# The HTTP interface\n\nThe same for programs: `/api/v1/openapi.json` (OpenAPI 3.1)."
    for path, methods in describe_api(needs_token=True)["paths"].items():
        for method, one in methods.items():
            yield f"\n## {method.upper()} {path}\n\n{one['summary']}\n"
            for asked in one.get("parameters", ()):
                yield f"- `{asked['name']}` ({asked['in']}): {asked.get('description', '')}"
            for status, answer in one["responses"].items():
                yield f"- {status}: {answer.get('description', '')}"


def _python() -> Iterator[str]:
    """Yield each public name with what it takes and its docstring."""
    yield f"# import heatveil\n\n```\n{inspect.cleandoc(heatveil.__doc__ or '')}\n```"
    for name in sorted(heatveil.__all__, key=str.lower):
        found = getattr(heatveil, name)
        takes = ""
        if callable(found):
            try:
                takes = _ARRAY.sub(_shorten, str(inspect.signature(found)))
            except ValueError:  # a named tuple of C, or the like
                takes = "(...)"
        yield f"\n## {name}\n\n```python\n{name}{takes}\n```"
        if callable(found) and (said := inspect.getdoc(found)):
            yield f"\n```\n{said}\n```"


def _shorten(found: re.Match[str]) -> str:
    return "ArrayLike" + found[1].replace(", ", " | ").replace("NoneType", "None")


def main(folder: Path) -> None:
    """Write every page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text.rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
