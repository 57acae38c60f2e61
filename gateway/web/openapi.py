"""The API's description for programs, OpenAPI 3.1: written from the table and its records."""

from importlib.metadata import version
from typing import Any

import msgspec

from .operations import OPERATIONS, Operation
from .requests import KIND, Problem

BASE = "/api/v1"
REF = "#/components/schemas/{name}"
STREAM = (
    "Server-sent events: one for each thing that the gateway tells, its kind as the event's name. "
    "Every one has an id; who comes back with it, in Last-Event-ID or as last_event_id, is told "
    "what was missed, and with the event `reset` that some of it is gone: it holds all that is."
)
COMMON = {
    "400": "A parameter or the request itself is wrong.",
    "401": "The token is missing or wrong.",
    "406": "Only JSON is answered.",
    "413": "The request has a body that is too long.",
    "429": "Too many wrong tokens.",
    "500": "A fault of the gateway's own.",
    "503": "The store cannot be read just now.",
}


def document(needs_token: bool) -> dict[str, Any]:
    """Return the description of the whole API."""
    records = [one.answers for one in OPERATIONS] + [Problem]
    schemas, components = msgspec.json.schema_components(records, ref_template=REF)
    written = dict(zip((record.__name__ for record in records), schemas, strict=True))
    paths = {BASE + one.path: {"get": _operation(one, written)} for one in OPERATIONS}
    paths[f"{BASE}/events"] = {"get": _stream()}
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "heatveil",
            "version": version("heatveil"),
            "description": "What a gateway may say: all of it has passed the veil.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }
    if needs_token:
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
    return made


def _operation(one: Operation, written: dict[str, Any]) -> dict[str, Any]:
    headers = {"ETag": {"schema": {"type": "string"}}} if one.tagged else {}
    answers: dict[str, Any] = {"200": _json(one.says, written[one.answers.__name__], headers)}
    if one.tagged:
        answers["304"] = {"description": "It is still what If-None-Match says."}
    codes = COMMON | ({"404": "There is none."} if one.missing else {})
    for code, says in sorted(codes.items()):
        answers[code] = _json(says, written["Problem"], {}, KIND)
    return {
        "operationId": one.name,
        "summary": one.says,
        "parameters": _parameters(one),
        "responses": answers,
    }


def _parameters(one: Operation) -> list[dict[str, Any]]:
    """Return what may be asked: what the path names is in it, and all else in the query."""
    (_,), components = msgspec.json.schema_components([one.asks], ref_template=REF)
    found = []
    for name, schema in components[one.asks.__name__]["properties"].items():
        within = f"{{{name}}}" in one.path
        says = {"description": schema.pop("description")} if "description" in schema else {}
        found.append(
            {"name": name, "in": "path" if within else "query", "required": within}
            | {"schema": schema}
            | says
        )
    return found


def _json(
    says: str, schema: dict[str, Any], headers: dict[str, Any], kind: str = "application/json"
) -> dict[str, Any]:
    made = {"description": says, "content": {kind: {"schema": schema}}}
    return made | ({"headers": headers} if headers else {})


def _stream() -> dict[str, Any]:
    return {
        "operationId": "events",
        "summary": "What happens, as it happens.",
        "description": STREAM,
        "parameters": [
            {"name": "last_event_id", "in": "query", "schema": {"type": "string", "maxLength": 64}}
        ],
        "responses": {
            "200": {
                "description": "It goes on until one of both hangs up.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            }
        },
    }
