"""Which module imports which, read from the source: for the picture of the house, and its tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path


def modules_in(root: Path) -> dict[str, Path]:
    """Every module of the package and of the adapter packages: dotted name to file."""
    trees = [(root, root / "agui_bridge")]
    trees += [(root / "adapters", path) for path in sorted(root.glob("adapters/agui_bridge_*"))]
    found = {}
    for base, tree in trees:
        for path in sorted(tree.rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(
    module: str, path: Path, tree: ast.Module, modules: Mapping[str, Path]
) -> Iterator[tuple[int, str]]:
    """The line and absolute name of all that a module imports, for types too, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".") if path.stem == "__init__" else module.split(".")[:-1]
            start = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*start, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                if (source, alias.name) == ("agui_bridge", "__version__"):
                    continue
                name = f"{source}.{alias.name}"
                yield node.lineno, name if name in modules else source


def arrows_between(root: Path) -> Iterator[tuple[str, str]]:
    """Every import from one module below a checkout to another: importer, imported."""
    modules = modules_in(root)
    for module, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        for _, target in imports_of(module, path, tree, modules):
            if target in modules and target != module:
                yield module, target


def shared_parts(here: str, there: str) -> int:
    """How many parts two dotted names begin with alike."""
    pairs = zip(here.split("."), there.split("."), strict=False)
    return next(
        (i for i, (a, b) in enumerate(pairs) if a != b), min(here.count("."), there.count(".")) + 1
    )
