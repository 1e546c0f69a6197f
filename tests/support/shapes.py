"""Whether what is on the wire is what `schemas/` says.

Two judges read the same schemas. jsonschema-rs is asked first, since it takes a twentieth
of the time. What it refuses jsonschema judges as well, and says what is wrong.
`tests/support/test_shapes.py` holds the two to the same verdicts.
"""

from __future__ import annotations

import contextlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import httpx
import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from agui_bridge.http.agui import views
from agui_bridge.http.app.openapi import VIEWS
from agui_bridge.shapes.readable_schema import within

__all__ = ["SCHEMAS", "check_event", "check_response", "fault_of", "quick_validator",
           "validator"]  # fmt: skip

SCHEMAS: Final = Path(__file__).parents[2] / "schemas"
OWN: Final = (
    {name for name in vars(views) if name[0].isupper()}
    | {title for _, title, _ in VIEWS.values()}
    | {"Error"}
) - {"Capabilities"}
"""Definitions in which nothing may stand that the schema does not name."""


@cache
def _document(file: str) -> dict[str, Any]:
    # To make them anew takes a second; tests/shapes holds the files to what is made.
    found: dict[str, Any] = json.loads((SCHEMAS / file).read_text(encoding="utf-8"))
    return found


@cache
def validator(file: str, pointer: str = "") -> Draft202012Validator:
    """The validator of a document, or of a part of it."""
    return Draft202012Validator(_schema(file, pointer))


@cache
def quick_validator(file: str, pointer: str = "") -> jsonschema_rs.Draft202012Validator:
    """The quick validator of a document, or of a part of it."""
    return jsonschema_rs.Draft202012Validator(_schema(file, pointer))


def _schema(file: str, pointer: str) -> dict[str, Any]:
    document = _document(file)
    if not pointer:
        return document
    named = {key: value for key, value in document.items() if key in ("$defs", "components")}
    return {**named, "$ref": f"#{pointer}"}


def fault_of(value: Any, file: str, pointer: str = "") -> str | None:
    """What is wrong with a value by a document, None if nothing is."""
    # What is no JSON for the quick one, such as half of a pair of surrogates, the other one judges.
    with contextlib.suppress(UnicodeEncodeError):
        if quick_validator(file, pointer).is_valid(value):
            return None
    error = best_match(validator(file, pointer).iter_errors(value))
    return None if error is None else f"{error.json_path}: {error.message:.300}"


def check_event(event: dict[str, Any], where: str) -> None:
    """Assert that an event is one of events.json; only its own branch is tried, to save time."""
    branch = _branches().get(event["type"])
    assert branch is not None, f"{where}: no such type in events.json"
    fault = fault_of(event, "events.json", branch)
    assert fault is None, f"{where}: {fault}"


@cache
def _branches() -> dict[str, str]:
    """By type of event the place of its definition."""
    document = _document("events.json")
    names = [choice["$ref"].removeprefix("#/$defs/") for choice in document["oneOf"]]
    return {
        document["$defs"][name]["properties"]["type"]["const"]: f"/$defs/{name}" for name in names
    }


Answers = dict[str, dict[int, dict[str, Draft202012Validator | None]]]
"""By method, status and kind of content what judges the body; None for a stream."""


@cache
def _answers() -> list[tuple[re.Pattern[str], str, Answers]]:
    """By path each method's answers."""
    document = json.loads(json.dumps(_document("openapi.json")))
    components = document["components"]
    for name, schema in components["schemas"].items():
        if name in OWN:
            for node in within(schema):
                if "properties" in node and node.get("type") == "object":
                    node["additionalProperties"] = False
    found = []
    for path, item in document["paths"].items():
        methods = {
            method.upper(): {
                int(status): _validators(answer, components)
                for status, answer in operation["responses"].items()
            }
            for method, operation in item.items()
            if method != "parameters"
        }
        # As in the table of routes, the particular stands before the general.
        found.append(
            (re.compile(path.replace("{agent}", "[^/]+").replace("{thread}", ".+")), path, methods)
        )
    return found


def _validators(
    answer: dict[str, Any], components: dict[str, Any]
) -> dict[str, Draft202012Validator | None]:
    if "$ref" in answer:
        answer = components["responses"][answer["$ref"].rpartition("/")[2]]
    content = answer.get("content", {"": {"schema": {"const": None}}})
    return {
        kind: None
        if kind == "text/event-stream"
        else Draft202012Validator({**body["schema"], "components": components})
        for kind, body in content.items()
    }


async def check_response(response: httpx.Response) -> None:
    """Assert that an answer is one that the OpenAPI document has for its operation.

    A stream, which is checked by its events, and what is no path of the bridge are left alone.
    """
    request = response.request
    for pattern, path, methods in _answers():
        if not pattern.fullmatch(request.url.path):
            continue
        if request.method not in methods:
            return
        where = f"{request.method} {path} with {response.status_code}"
        answers = methods[request.method]
        assert response.status_code in answers, f"undocumented: {where}"
        judges = answers[response.status_code]
        kind = response.headers.get("content-type", "").partition(";")[0]
        assert kind in judges, f"{where}: {kind}"
        if (judge := judges[kind]) is not None:
            error = best_match(judge.iter_errors(json.loads(await response.aread() or b"null")))
            assert error is None, f"{where}: {error.json_path}: {error.message:.300}"
        return
