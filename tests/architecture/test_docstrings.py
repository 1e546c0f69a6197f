"""Docstrings name what is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from keyword import kwlist
from pathlib import Path
from typing import Final

from docs.generators.imports import modules_in
from tests.architecture.checkout import ROOT

FOREIGN: Final = frozenset(
    "AgentStopReason CallDeferred FileSource Host HumanInTheLoop Origin RunnableConfig Threadid "
    "ToolCallRequest ag_ui ag_ui.encoder.EventEncoder as_tool baggage callback.go chat.postMessage "
    "conftest.py event.go "
    "context_schema create_agent executescript foreach gen_ai pydantic_ai require_confirmation "
    "requires_approval to.iban version_num".split()
)
"""Names of frameworks, of HTTP and of other programs, and examples."""

NAMED: Final = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`")
WIRE: Final = re.compile(r"[A-Z]{2}|^[a-z]+[A-Z]")
"""A constant, or a name of the wire or of JavaScript."""


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts that stand alone in a module, and their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def names(tree: ast.Module) -> Iterator[str]:
    """All that a module defines, uses or spells out."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.alias(name=name) | ast.Name(id=name):
                yield name.rpartition(".")[2]
            case ast.arg(arg=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.Constant(value=str(name)) if len(name) < 60:
                yield name
            case ast.Constant(value=bool() | None as value):
                yield str(value)


def test_what_a_docstring_names_is_there() -> None:
    modules = modules_in(ROOT)
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in modules.values()}
    known = {part for name in modules for part in name.split(".")} | {*kwlist}
    for tree in trees.values():
        known.update(names(tree))

    stale = [
        f"{path.relative_to(ROOT)}:{line}: `{name}`"
        for path, tree in trees.items()
        for line, text in docstrings(tree)
        for name in NAMED.findall(text)
        if not WIRE.search(name)
        and name.removesuffix(".py").rpartition(".")[2] not in known
        and name not in FOREIGN
    ]

    assert stale == [], "\n".join(stale)


def test_no_docstring_gives_a_source_that_readers_lack() -> None:
    paths: list[Path] = [*modules_in(ROOT).values()]
    named = [path.name for path in paths if re.search(r"\bseed 0", path.read_text("utf-8"), re.I)]

    assert named == []
