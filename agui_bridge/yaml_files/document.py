"""A YAML file as plain values, with the line of each, and nothing that YAML could do besides.

A key is the text that is written and occurs once, aliases are bounded, and no tag makes an object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from agui_bridge.errors import ConfigurationError

LARGEST_FILE: Final = 1024 * 1024
"""Bytes."""

_MOST_VALUES: Final = 20_000
_DEEPEST: Final = 30
_MERGE: Final = "tag:yaml.org,2002:merge"

KeyPath = tuple[str | int, ...]
"""Where a value stands: keys of mappings, and numbers in lists."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says.

    Attributes:
        path: the file.
        values: its mapping, of plain values.
        lines: the line of each value, by where it stands; a key's is its own line.
    """

    path: Path
    values: dict[str, Any]
    lines: Mapping[KeyPath, int]

    def line_of(self, where: KeyPath) -> int:
        """The line of a value, or of what surrounds it: what is merged has none of its own."""
        while where and where not in self.lines:
            where = where[:-1]
        return self.lines.get(where, 1)


def read_yaml(path: Path) -> Document:
    """Read a file.

    Raises:
        ConfigurationError: it can't be read, is too large, or is not the YAML that is allowed.
    """
    text = _text_of(path)
    try:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            walk = _Walk(loader, path)
            values = {} if node is None else walk.value(node, ())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        said = f"{where}: this is not valid YAML: {error.problem}."
        if error.problem and "mapping values" in error.problem:
            said += " Write text that has a colon at its end, or before a space, in quotes."
        elif error.problem and "block end" in error.problem:
            said += " Look at the indentation of this line and of those above it."
        raise ConfigurationError(said) from None
    except yaml.YAMLError as error:
        fault = getattr(error, "reason", "it has a character that is not allowed")
        raise ConfigurationError(f"{path}: this is not valid YAML: {fault}.") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: it nests too deep.") from None
    if not isinstance(values, dict):
        raise ConfigurationError(
            f"{path}: the file must be a mapping of keys to values, such as `agents: …`."
        )
    return Document(path, values, walk.lines)


def scalar_of(text: str) -> Any:
    """What a text means when it stands in a file without quotes: a number, true, null, or text."""
    loader = yaml.SafeLoader("")
    try:
        # Its stubs lack the types of this method.
        tag = loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        kinds = ("int", "float", "bool", "null")
        if tag not in {f"tag:yaml.org,2002:{kind}" for kind in kinds}:
            return text
        return loader.construct_object(yaml.ScalarNode(tag, text))
    except ValueError:
        return text
    finally:
        loader.dispose()


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise ConfigurationError(f"{path}: it is larger than {LARGEST_FILE} bytes.")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: it is not UTF-8 (byte {error.start}).") from None
    except FileNotFoundError:
        raise ConfigurationError(
            f"There is no file {str(path)!r}.\nName one, or a bridge as module:variable."
        ) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigurationError(f"{path}: it can't be read: {reason}.") from None


class _Walk:
    """Makes values of nodes, and counts them: an alias counts for all that it stands for."""

    def __init__(self, loader: yaml.SafeLoader, path: Path) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._loader = loader
        self._path = path
        self._count = 0

    def value(self, node: yaml.Node, where: KeyPath) -> Any:
        self._count += 1
        if self._count > _MOST_VALUES:
            raise self._fault(node, f"there are more than {_MOST_VALUES} values, aliases expanded")
        if len(where) > _DEEPEST:
            raise self._fault(node, f"it nests deeper than {_DEEPEST} levels")
        self.lines.setdefault(where, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, where)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*where, number)) for number, item in enumerate(node.value)]
        try:
            return self._loader.construct_object(node)
        except (ValueError, OverflowError):
            raise self._fault(node, "this value can't be read; write it in quotes") from None

    def _mapping(self, node: yaml.MappingNode, where: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                # What is written here goes before what is merged, wherever it stands.
                merged |= self._merged(value_node, where)
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._fault(key_node, "a key must be text")
            # As it is written: YAML would take `yes` and `on` for true.
            key = str(key_node.value)
            if key in values:
                raise self._fault(key_node, f"the key {key!r} stands here a second time")
            self.lines[(*where, key)] = key_node.start_mark.line + 1
            values[key] = self.value(value_node, (*where, key))
        return {**merged, **values}

    def _merged(self, node: yaml.Node, where: KeyPath) -> dict[str, Any]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for source in reversed(sources):
            if not isinstance(source, yaml.MappingNode):
                raise self._fault(node, "`<<` takes a mapping, or a list of them")
            # One level deeper, so that a mapping that merges itself comes to an end.
            merged |= self.value(source, (*where, "<<"))
        return merged

    def _fault(self, node: yaml.Node, what: str) -> ConfigurationError:
        return ConfigurationError(f"{self._path}:{node.start_mark.line + 1}: {what}.")


def dotted(where: KeyPath) -> str:
    """A place for people: keys and numbers with dots between."""
    return ".".join(map(str, where))


class Section(BaseModel):
    """A mapping with the keys that it names, and no others."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False
    )


class FieldSection(Section):
    """A field of a form."""

    name: str = Field(min_length=1, description="The key of its value in the answer.")
    type: Literal["text", "confirm", "select"] = Field("text", description="What is filled in.")
    label: str = Field("", description="What people read.")
    required: bool = Field(False, description="Whether it must be filled in.")
    options: list[str] = Field(default_factory=list, description="What a select offers.")

    @model_validator(mode="after")
    def _choice(self) -> Self:
        if (self.type == "select") != bool(self.options):
            raise ValueError("a select has options, and nothing else has")
        return self


# --- environment variables within the values of a file, written as in Compose files ---
#
# `${NAME}`, `${NAME:-default}`, and `${NAME:?what to do if it is not set}`.

_REFERENCE: Final = re.compile(
    r"\$(?:(?P<escaped>\$)(?=\{)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"(?::-(?P<default>[^}]*)|:\?(?P<missing>[^}]*))?\}"
    r"|(?P<broken>\{))"
)


class Filled(str):
    """A string from the environment: where a number is expected, it is read as one."""


def fill_in(document: Document, environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Put the environment's values in the place of `${NAME}` and what else begins with `${`.

    `$${` stands for `${` itself. A default is taken for a variable that is empty, too, and so is
    what `:?` says.

    Returns:
        The values, and what is wrong with them, one line each: a file's faults are told at once.
    """
    faults: list[str] = []

    def filled(value: Any, where: KeyPath) -> Any:
        if isinstance(value, dict):
            return {key: filled(item, (*where, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [filled(item, (*where, number)) for number, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        place = f"{document.path}:{document.line_of(where)}: {dotted(where)}"
        text = _REFERENCE.sub(lambda match: _meaning(match, environment, place, faults), value)
        return Filled(text) if text != value else text

    return filled(document.values, ()), faults


def _meaning(
    match: re.Match[str], environment: Mapping[str, str], place: str, faults: list[str]
) -> str:
    name, default = match["name"], match["default"]
    if match["escaped"]:
        return "$"
    if match["broken"]:
        faults.append(
            f"{place}: `${{` begins no ${{NAME}}, ${{NAME:-default}} or ${{NAME:?message}}; "
            "write `$${`."
        )
        return ""
    found = environment.get(name)
    if not found and match["missing"] is not None:
        state = "not set" if found is None else "empty"
        said = match["missing"].strip() or "Set it."
        faults.append(f"{place}: the environment variable {name} is {state}: {said}")
        return ""
    if found is None and default is None:
        faults.append(
            f"{place}: the environment variable {name} is not set. "
            f"Set it, or give a default: ${{{name}:-value}}."
        )
        return ""
    return found or default or ""


def read_filled(value: object) -> object:
    """A scalar for text from the environment, where a number or the like is expected."""
    return scalar_of(value) if isinstance(value, Filled) else value


def unfilled(value: Any) -> Any:
    """Plain strings for those from the environment, where nobody knows what is expected."""
    if isinstance(value, dict):
        return {key: unfilled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unfilled(item) for item in value]
    return str(value) if isinstance(value, Filled) else value
