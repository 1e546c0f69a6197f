"""From pydantic's JSON Schemas to ones that people read: titles, descriptions, no false nulls.

Pydantic titles a field `Threadid`, leaves the docstrings of fields out, and admits null wherever
a field may be absent. What the bridge sends never has null in the place of absent.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ag_ui.core import RunAgentInput
from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from agui_bridge.errors import CODES
from agui_bridge.protocol.json_values import NOT_IN_IDS
from agui_bridge.protocol.threads.content_parts import KNOWN_PARTS
from agui_bridge.protocol.versions import BESIDE

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
REF: Final = "#/$defs/"
OF_IDS: Final[Schema] = {"not": {"type": "string", "pattern": NOT_IN_IDS}}
"""The rule of ids that clients choose, besides that they are text."""

_LATER_PART: Final[Schema] = {
    "type": "object",
    "title": "Part of a later version",
    "description": "A part of a type that AG-UI 1.0 does not have is kept as it is.",
    "required": ["type"],
    "properties": {
        "type": {
            "type": "string",
            "title": "Type",
            "description": "Any other type.",
            "not": {"enum": sorted(KNOWN_PARTS)},
        }
    },
}

_PARTED: Final = frozenset({"UserMessage", "ToolMessage", "ToolCallResultEvent"})

_BESIDE: Final[Mapping[str, Schema]] = {
    "encryptedValueType": {
        "title": "Encrypted value type",
        "description": "The producer's name for what kind of artefact the encrypted value is. "
        "Since AG-UI 1.1.",
    }
}

_AG_UI: Final = RunAgentInput.__module__
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TAG: Final = "The value that tells this shape from its siblings."


@dataclass(frozen=True)
class ShapedAs:
    """JSON that has the shape of a type, without being one."""

    kind: Any

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema of that type."""
        return handler.generate_schema(self.kind)


def schema_of(kind: Any, *, modules: Iterable[str] = (), nullable: Collection[str] = ()) -> Schema:
    """Make the schema of a type, with its `$defs`.

    Args:
        kind: whatever pydantic can make a schema of.
        modules: names of modules, besides AG-UI's, whose docstrings describe fields.
        nullable: names of definitions in which null counts as absent: those that clients fill.
            `*` means all.
    """
    made = TypeAdapter(kind).json_schema(by_alias=True, ref_template=REF + "{model}")
    defs: dict[str, Schema] = made.pop("$defs", {})
    tagged = _tagged([made, *defs.values()])
    told = _field_docs([_AG_UI, *modules])
    root = made.get("title", "")
    for name, schema in [*defs.items(), (root, made)]:
        for key in tagged.get(name, ()):
            schema["required"] = sorted({*schema.get("required", ()), key})
        _describe(schema, told.get(name, {}))
        if name not in nullable and "*" not in nullable:
            for key, value in schema.get("properties", {}).items():
                schema["properties"][key] = _without_null(value)
    for schema in (made, *defs.values()):
        _drop_noise(schema)
        members = schema.get("properties", {})
        for one, more in BESIDE.items():
            if one in members and more not in members:
                members[more] = {"type": "string", **_BESIDE[more]}
        for key in ("id", "interruptId") if {"role", "interruptId"} & members.keys() else ():
            if key in members:
                members[key] |= OF_IDS
    for name in _PARTED & defs.keys():
        [parts] = (c for c in defs[name]["properties"]["content"]["anyOf"] if "items" in c)
        parts["items"] = {"anyOf": [parts["items"], _LATER_PART]}
    return {**made, "$defs": dict(sorted(defs.items()))} if defs else made


def document(name: str, title: str, description: str, schema: Mapping[str, Any]) -> Schema:
    """Put a document's head on a schema.

    Args:
        name: of the file, without its suffix; the `$id` is made of it.
        title: a few words.
        description: what it describes, and how it is used.
        schema: its title and description give way to these.
    """
    head = {"$schema": DIALECT, "$id": f"urn:agui-bridge:schema:{name}"}
    rest = {key: value for key, value in schema.items() if key not in ("title", "description")}
    return {**head, "title": title, "description": description, **rest}


def within(schema: Any) -> Iterator[Schema]:
    """Every schema object within a schema, itself first."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from within(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from within(item)


def _tagged(schemas: list[Schema]) -> dict[str, set[str]]:
    """By definition the member by which it is chosen, which so can't be absent."""
    found: dict[str, set[str]] = {}
    for node in within(schemas):
        chosen = node.pop("discriminator", None)
        if isinstance(chosen, dict):
            for reference in chosen["mapping"].values():
                found.setdefault(reference.removeprefix(REF), set()).add(chosen["propertyName"])
    return found


def _describe(schema: Schema, told: Mapping[str, str]) -> None:
    if "description" in schema:
        schema["description"] = _flowing(schema["description"])
    for name, value in schema.get("properties", {}).items():
        value["title"] = title_of(name)
        if name in told:
            value["description"] = told[name]
        elif "const" in value:
            value.setdefault("description", _TAG)


def _without_null(schema: Schema) -> Schema:
    """The schema of a member that is absent rather than null."""
    if "default" not in schema or schema["default"] is not None:
        return schema
    others = [other for other in schema.get("anyOf", ()) if other != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    if len(others) == 1:
        return {**others[0], **rest}
    return {**rest, "anyOf": others} if others else rest


def _drop_noise(schema: Schema) -> None:
    """Absent is the default of whatever may be absent; an open object needs no word."""
    for node in within(schema):
        if node.get("default", ...) is None or "const" in node:
            node.pop("default", None)
        if node.get("additionalProperties") is True:
            del node["additionalProperties"]


def title_of(name: str) -> str:
    """A member's name in words: `threadId` is `Thread id`."""
    words = _WORDS.sub(" ", name).lower()
    return words[:1].upper() + words[1:]


def _flowing(text: str) -> str:
    return " ".join(inspect.cleandoc(text).split())


@cache
def _docs_in(module: str) -> dict[str, tuple[list[str], dict[str, str]]]:
    """By class its bases, and by field the text that stands below it in the source."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, KeyError):  # installed without sources
        return {}
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            told = {}
            for field, text in zip(node.body, node.body[1:], strict=False):
                match field, text:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(said))),
                    ):
                        # Some shapes keep the names as they are, most have them in camel case.
                        plain = name.rstrip("_")
                        told[plain] = told[to_camel(plain)] = _flowing(said)
            bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
            found[node.name] = (bases, told)
    return found


def _field_docs(modules: Iterable[str]) -> dict[str, dict[str, str]]:
    classes = {name: entry for module in modules for name, entry in _docs_in(module).items()}

    def of(name: str) -> dict[str, str]:
        bases, told = classes.get(name, ([], {}))
        return {**{key: text for base in bases for key, text in of(base).items()}, **told}

    return {name: of(name) for name in classes}


# --- error codes as schemas: RUN_ERROR's `code`, and the body of an HTTP error ---


def code_schema(codes: Iterable[str] | None = None, *, stream: bool = False) -> Schema:
    """A choice of codes, each with its cause and remedy.

    Args:
        codes: which; None means all.
        stream: leave out the codes that never travel as RUN_ERROR.
    """
    chosen = [code for code in codes or CODES if CODES[code].stream or not stream]
    return {
        "type": "string",
        "oneOf": [
            {"const": code, "description": f"{CODES[code].cause} {CODES[code].remedy}"}
            for code in chosen
        ],
    }


def error_body(codes: Iterable[str] | None = None) -> Schema:
    """`{"error": {"code", "message", "details"?}, "message"}`, of some codes or of all."""
    code = {
        "title": "Code",
        "description": "A stable code, by which a program can tell what happened.",
        **code_schema(codes),
    }
    message = {
        "type": "string",
        "title": "Message",
        "description": "What was wrong, where, and what to do about it, for people.",
    }
    details = {"title": "Details", "description": "Particulars, such as the field. Any JSON value."}
    return {
        "type": "object",
        "title": "Error",
        "description": "Why a request was not carried out.",
        "required": ["error", "message"],
        "properties": {
            "error": {
                "type": "object",
                "title": "Error",
                "description": "What happened.",
                "required": ["code", "message"],
                "properties": {"code": code, "message": message, "details": details},
            },
            "message": {**message, "description": "The same message, for those who look here."},
        },
    }


def error() -> Schema:
    """The body of every HTTP answer that is no success."""
    return document(
        "error",
        "Error",
        "The body of every HTTP answer that is no success. Errors of a run that has a stream are "
        "RUN_ERROR events instead.",
        error_body(),
    )
