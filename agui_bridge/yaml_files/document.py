"""A YAML file as plain values, with the line of each, and nothing that YAML could do besides.

A key is the text that is written and occurs once, aliases are bounded, and no tag makes an object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from agui_bridge.errors import ConfigurationError

__all__ = ["LARGEST_FILE", "Document", "KeyPath", "dotted", "read_yaml", "scalar_of"]

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
