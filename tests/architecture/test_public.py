"""What is public says what it is, and pages and examples import nothing else."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from itertools import pairwise
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final

import pytest
from pydantic import BaseModel

from docs.generators.imports import modules_in
from docs.generators.public import PACKAGES
from tests.architecture.checkout import ROOT
from tests.docs.pages import snippets_of

OWN: Final = ("agui_bridge", "public_case")
"""How the modules begin whose words are judged; what a framework's class has is its own."""


# --- every name is there and described ---


def faults_of(module: ModuleType) -> Iterator[str]:
    """What a public module's names lack."""
    names = getattr(module, "__all__", None)
    if not names:
        yield f"{module.__name__} has no __all__"
        return
    for name in names:
        where = f"{module.__name__}.{name}"
        value = getattr(module, name, None)
        if not hasattr(module, name):
            yield f"{where} does not exist"
        elif inspect.isclass(value):
            yield from faults_of_class(where, value)
        elif inspect.isfunction(value):
            yield from faults_of_function(where, value, value.__doc__ or "")
        elif not name.startswith("__") and not is_constant_described(module, name):
            yield f"{where} has no docstring below it"


def faults_of_class(where: str, kind: type) -> Iterator[str]:
    """What a class lacks: a docstring that names what it is made of, and its methods'."""
    own = [base for base in kind.__mro__ if base.__module__.startswith(OWN)]
    if not kind.__doc__ or kind.__doc__.startswith(f"{kind.__name__}("):
        yield f"{where} has no docstring"
    words = "\n".join(text for base in own for text in (base.__doc__ or "", attribute_words(base)))
    parts = parts_of(kind)
    for part in parts:
        if not re.search(rf"\b{part}\b", words):
            yield f"{where} does not say what `{part}` is"
    members = {name: value for base in reversed(own) for name, value in vars(base).items()}
    for name, member in members.items():
        function = inspect.unwrap(
            getattr(member, "fget", None) or getattr(member, "__func__", member)
        )
        field = name in parts
        if field or name.startswith("_") or not isinstance(function, FunctionType):
            continue
        overridden = [getattr(base, name) for base in kind.__mro__ if name in vars(base)]
        if all(each.__module__.startswith(OWN) for each in overridden if inspect.isfunction(each)):
            told = "\n".join(each.__doc__ or "" for each in overridden)
            yield from faults_of_function(f"{where}.{name}", function, told)


def parts_of(kind: type) -> Collection[str]:
    """What a class is made of: its fields, or the arguments of a constructor of ours."""
    if dataclasses.is_dataclass(kind):
        return [each.name for each in dataclasses.fields(kind) if each.init]
    if issubclass(kind, BaseModel):
        return kind.model_fields
    if issubclass(kind, Enum):
        return kind.__members__
    make = kind.__init__
    if not isinstance(make, FunctionType) or not make.__module__.startswith(OWN):
        return ()
    return parameters_of(make)


def parameters_of(function: FunctionType) -> list[str]:
    """What a caller passes; a name with an underscore is nothing to choose."""
    names = [name for name in inspect.signature(function).parameters if name[0] != "_"]
    return [name for name in names if name not in ("self", "cls")]


def faults_of_function(where: str, function: FunctionType, words: str) -> Iterator[str]:
    """What a function's docstring lacks: every argument, and every exception that it makes."""
    if not words:
        yield f"{where} has no docstring"
        return
    for name in parameters_of(function):
        if not re.search(rf"\b{name}\b", words):
            yield f"{where} does not say what `{name}` is"
    for name in sorted(exceptions_made_in(function)):
        if name not in words:
            yield f"{where} does not say when it raises {name}"


def exceptions_made_in(function: FunctionType) -> set[str]:
    """The classes after `raise` in a function's own body, not in what it calls."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    found, waiting = set(), list(ast.iter_child_nodes(tree.body[0]))
    while waiting:
        match waiting.pop():
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                pass
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name))) if name[0].isupper():
                found.add(name)
            case node:
                waiting += ast.iter_child_nodes(node)
    return found


def attribute_words(kind: type) -> str:
    """The fields of a class that have a docstring below them."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    return "\n".join(name for name in described_in(body.body))


def is_constant_described(module: ModuleType, name: str) -> bool:
    """Whether a value has a docstring below it, in the module that makes it."""
    tree = ast.parse(inspect.getsource(module))
    # The names of the package itself are imported for checkers only.
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
            return is_constant_described(sys.modules[str(node.module)], name)
    return name in set(described_in(tree.body))


def described_in(body: list[ast.stmt]) -> Iterator[str]:
    """The names that are assigned in a body and have a docstring below them."""
    for node, below in pairwise(body):
        match node, below:
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str())),
            ):
                yield name


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_described(package: str) -> None:
    assert list(faults_of(importlib.import_module(package))) == []


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("x = 1", "has no __all__"),
        ('__all__ = ["gone"]', ".gone does not exist"),
        ('__all__ = ["LIMIT"]\nLIMIT = 3', ".LIMIT has no docstring below it"),
        ('__all__ = ["f"]\ndef f(): pass', ".f has no docstring"),
        ('__all__ = ["f"]\ndef f(size):\n    "Cut."', ".f does not say what `size` is"),
        (
            '__all__ = ["f"]\ndef f():\n    "Cut."\n    if f: raise ValueError("no")',
            ".f does not say when it raises ValueError",
        ),
        ('__all__ = ["C"]\nclass C: pass', ".C has no docstring"),
        (
            '__all__ = ["C"]\nclass C:\n    "A cut."\n    def __init__(self, size): ...',
            ".C does not say what `size` is",
        ),
        (
            "from dataclasses import dataclass\n"
            '__all__ = ["C"]\n@dataclass\nclass C:\n    "A cut."\n    size: int',
            ".C does not say what `size` is",
        ),
        ('__all__ = ["C"]\nclass C:\n    "A cut."\n    def f(self): ...', ".C.f has no docstring"),
        (
            '__all__ = ["C"]\nclass B:\n    def f(self, size):\n        "Cut."\n'
            'class C(B):\n    "A cut."',
            ".C.f does not say what `size` is",
        ),
    ],
)
def test_a_public_name_that_says_too_little_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, complaint: str
) -> None:
    (fault,) = faults_of(written(code, tmp_path, monkeypatch))

    assert fault == f"public_case{complaint}" or fault == f"public_case {complaint}"


@pytest.mark.parametrize(
    "code",
    [
        '__all__ = ["LIMIT"]\nLIMIT = 3\n"""Pieces."""',
        '__all__ = ["f"]\ndef f(size):\n    "Cut to a `size` in bytes; ValueError if it is none."\n'
        '    raise ValueError("no")',
        '__all__ = ["C"]\nclass B:\n    "A."\n    def f(self, size):\n        "Cut to a size."\n'
        'class C(B):\n    "Yes."\n    def f(self, size): ...',
        'import json\n__all__ = ["C"]\nclass C(json.JSONEncoder):\n    "For JSON."\n'
        "    def default(self, o): ...",
    ],
)
def test_a_public_name_that_says_enough_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    assert list(faults_of(written(code, tmp_path, monkeypatch))) == []


def written(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of its own, imported."""
    (folder / "public_case.py").write_text(f"{code}\n")
    monkeypatch.syspath_prepend(folder)
    # Its classes look their source up there; it is taken away at the end.
    monkeypatch.setitem(sys.modules, "public_case", ModuleType("public_case"))
    del sys.modules["public_case"]
    return importlib.import_module("public_case")


# --- pages and examples ---


def private_imports(root: Path, public: Mapping[str, Collection[str]]) -> list[str]:
    """What README, pages and examples below a checkout import that is not public."""
    sources = [
        (path, line, code)
        for pattern in ("README.md", "docs/*.md", "examples/**/*.md")
        for path in sorted(root.glob(pattern))
        for line, code in snippets_of(path)
        # Others are signatures, which are no programs.
        if "import " in code
    ]
    sources += [(path, 1, path.read_text()) for path in sorted(root.glob("examples/**/*.py"))]
    own = {path.parent.name for path in root.glob("examples/**/__init__.py")}
    return [
        f"{path.relative_to(root).as_posix()}:{start + line - 1}: {name} is not public"
        for path, start, code in sources
        if "node_modules" not in path.parts
        for line, name in private_in(ast.parse(code), public)
        if name.partition(".")[0] not in own
    ]


def private_in(
    tree: ast.Module, public: Mapping[str, Collection[str]]
) -> Iterator[tuple[int, str]]:
    """The line and name of every import of ours that is not public."""
    for node in ast.walk(tree):
        wanted: list[tuple[str, str]] = []
        if isinstance(node, ast.Import):
            wanted = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            wanted = [(str(node.module), alias.name) for alias in node.names]
        for module, name in wanted:
            whole = f"{module}.{name}".rstrip(".")
            known = whole in public or name in public.get(module, ())
            if module.startswith("agui_bridge") and not known:
                yield node.lineno, whole  # type: ignore[attr-defined]  # an import has a line


def test_pages_and_examples_import_public_names_only() -> None:
    public: dict[str, Any] = {name: importlib.import_module(name).__all__ for name in PACKAGES}

    assert private_imports(ROOT, public) == []


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("README.md", "\n```python\nfrom agui_bridge import Store\n```\n", ":3: agui_bridge.Store"),
        ("docs/x.md", "```python\nimport agui_bridge.engine\n```\n", ":2: agui_bridge.engine"),
        ("docs/x.md", "```python\nfrom agui_bridge import engine\n```\n", "agui_bridge.engine is"),
        (
            "examples/a/x.py",
            "def f():\n    from agui_bridge.http import serve",
            ":2: agui_bridge.h",
        ),
        ("examples/x.py", "import agui_bridge_mine", "agui_bridge_mine is not public"),
    ],
)
def test_a_private_import_is_found(tmp_path: Path, file: str, text: str, complaint: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

    (fault,) = private_imports(tmp_path, {"agui_bridge": ["Bridge"], "agui_bridge.client": []})

    assert fault.startswith(f"{file}:")
    assert complaint in fault


def test_an_import_of_what_is_public_or_the_examples_own_is_left_alone(tmp_path: Path) -> None:
    package = tmp_path / "examples" / "src" / "agui_bridge_mine"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from agui_bridge_mine.adapter import Mine\n")
    (tmp_path / "examples" / "x.py").write_text(
        "import json, agui_bridge.client\nfrom agui_bridge import Bridge, client\n"
    )

    assert private_imports(tmp_path, {"agui_bridge": ["Bridge"], "agui_bridge.client": []}) == []


def test_only_what_is_public_says_what_it_exports() -> None:
    """A module's names are its own affair; `__all__` is the promise of docs/public.md."""
    listing = {
        name
        for name, path in modules_in(ROOT).items()
        if re.search(r"^__all__\b", path.read_text(encoding="utf-8"), re.M)
    }

    assert listing == {*PACKAGES}
