"""The OpenAPI document as a page: every route, what it takes, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from docs.site.shapes import member_table, said, type_of

_METHODS: Final = ("get", "post", "put", "patch", "delete")

_Document = Mapping[str, Any]


def operations_page(document: _Document) -> str:
    """The page, with the operations by tag and the shapes that they name."""
    parts = [
        "# HTTP\n",
        f"{said(document['info']['description'])}\n",
        "[`openapi.json`](openapi.json), also served as `GET /openapi.json`.\n",
    ]
    for tag in document["tags"]:
        parts += [f"## {tag['name']}\n", f"{said(tag.get('description', ''))}\n"]
        for path, item in document["paths"].items():
            for method in _METHODS:
                if tag["name"] in item.get(method, {}).get("tags", ()):
                    parts += _operation(document, path, method, item)
    parts.append("## Shapes\n")
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts += [f"### {name}\n", *_shape(schema)]
    return "\n".join(parts).rstrip() + "\n"


def _operation(document: _Document, path: str, method: str, item: _Document) -> Iterator[str]:
    operation = item[method]
    yield f"### {method.upper()} {path}\n"
    yield f"{operation['summary']}. {said(operation.get('description', ''))}\n"
    parameters = [*item.get("parameters", ()), *operation.get("parameters", ())]
    if parameters:
        yield "| parameter | in | type | |\n|---|---|---|---|"
        for each in parameters:
            name = f"`{each['name']}`{' (required)' if each.get('required') else ''}"
            told = " ".join(said(each.get("description", "")).split()).replace("|", "\\|")
            kind = type_of(each["schema"]).replace("|", "\\|")
            yield f"| {name} | {each['in']} | {kind} | {told} |"
        yield ""
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"Body, `{media}`: {type_of(content['schema'])}\n"
    yield "| status | answer |\n|---|---|"
    for status, given in operation["responses"].items():
        answer = _resolved(document, given)
        shapes = [
            f"`{media}`: {type_of(content['schema'].get('contentSchema', content['schema']))}"
            for media, content in answer.get("content", {}).items()
            if "schema" in content
        ]
        told = " ".join(said(answer["description"]).split()).replace("|", "\\|")
        yield f"| {status} | {' '.join([told, *shapes])} |"
    yield ""


def _shape(schema: _Document) -> Iterator[str]:
    if "description" in schema:
        yield said(schema["description"]) + "\n"
    yield member_table(schema) if schema.get("properties") else f"It is: {type_of(schema)}\n"


def _resolved(document: _Document, answer: _Document) -> _Document:
    if "$ref" not in answer:
        return answer
    found: _Document = document["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    return found
