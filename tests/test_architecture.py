"""The imports point the way that the design says, and files stay small."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
LONGEST_FILE: Final = 400

ANYTHING: Final = "*"
ADAPTER_PACKAGE: Final = "agui_bridge_*"

CONCRETE_STORES: Final = (
    "stores.memory",
    "stores.postgres",
    "stores.redis",
    "stores.sqlite",
)
CHOICE_OF_STORE: Final = (*CONCRETE_STORES, "stores", "stores.open")
PURE: Final = ("errors", "policy", "protocol")
ENGINE_SIDE: Final = (*PURE, "adapters", "engine", "stores.base")
SURFACE: Final = (*ENGINE_SIDE, "shapes")

ARROWS: Final[Mapping[str, tuple[str, ...]]] = {
    "errors": (),
    "protocol": ("errors",),
    "policy": ("errors", "protocol"),
    "adapters": PURE,
    "agents": (*PURE, "adapters"),
    ADAPTER_PACKAGE: (*PURE, "adapters", "client"),
    "stores.base": PURE,
    "stores.memory": (*PURE, "stores", "stores.base"),
    "stores.open": (*PURE, *CONCRETE_STORES, "stores", "stores.base"),
    "stores.postgres": (*PURE, "stores", "stores.base", "stores.sql"),
    "stores.redis": (*PURE, "stores", "stores.base"),
    "stores.sql": (*PURE, "stores", "stores.base"),
    "stores.sqlite": (*PURE, "stores", "stores.base", "stores.sql"),
    "stores": (*PURE, "stores.base"),
    "engine": (*PURE, "adapters", "stores.base"),
    "registry": (*PURE, "adapters", "agents", "engine"),
    "client": PURE,
    "conformance": (*PURE, "client", "files", "terminal"),
    "shapes": PURE,
    "http": (*SURFACE, "http.chat"),
    "http.chat": (*SURFACE, "agents", "http"),
    "http.app": (*SURFACE, *CHOICE_OF_STORE, "http", "http.telemetry", "registry"),
    "http.telemetry": (*SURFACE, "otel"),
    "otel": ENGINE_SIDE,
    "stdio": ENGINE_SIDE,
    "testing": (*ENGINE_SIDE, "http.app"),
    "files": PURE,
    "agent_file": (*ENGINE_SIDE, "agents", "files", "http", "http.app"),
    "terminal": (),
    "logs": ("engine",),
    "config": (*ENGINE_SIDE, "agent_file", "agents", "files", "http", "http.app", "logs"),
    "documents": (*PURE, "config", "http", "shapes"),
    "cli": (ANYTHING,),
    "": (ANYTHING,),
}
"""Who may import what, as groups of modules below `agui_bridge`.

A module belongs to the row with the longest name that its own begins with (`http.chat_api` to
`http.chat`, `stores.sql.rows` to `stores.sql`), and may import its own row and those listed. `""`
is `agui_bridge/__init__.py`, which nothing below imports but for `__version__`.
"""

IMPURE: Final = frozenset(
    """
    anyio asyncio asyncpg concurrent httpx io logging multiprocessing os pathlib
    queue random redis secrets select selectors shutil signal socket sqlite3 ssl
    starlette subprocess tempfile threading time urllib.request uuid uvicorn
    """.split()
)
"""What `protocol/` may not import: loops, IO, clocks, randomness, logging, storage."""

IMPURE_CALLS: Final = frozenset({"open", "print", "input"})
CLOCK_READS: Final = frozenset({"now", "utcnow", "today"})


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


def group_of(module: str) -> str | None:
    """The row of ARROWS that a module belongs to; None when it is ours and has none."""
    top, _, below = module.partition(".")
    if top.startswith("agui_bridge_"):
        return ADAPTER_PACKAGE
    if below in ("", "__main__"):
        return "cli" if below else ""
    rows = [row for row in ARROWS if row and (below + ".").startswith((row + ".", row + "_"))]
    return max(rows, key=len, default=None)


def imports_of(
    module: str, path: Path, tree: ast.Module, modules: Mapping[str, Path]
) -> Iterator[tuple[int, str]]:
    """The line and absolute name of all that a module imports, wherever in the file it does."""
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


def impurities_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The calls in pure code that read a clock or touch the outside."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id=name) if name in IMPURE_CALLS:
                yield node.lineno, f"{name}()"
            case ast.Attribute(value=ast.Name(id="datetime" | "date" as owner), attr=name) | (
                ast.Attribute(value=ast.Attribute(attr="datetime" | "date" as owner), attr=name)
            ) if name in CLOCK_READS:
                yield node.lineno, f"{owner}.{name}()"


def fault_of(module: str, target: str) -> str | None:
    """What is wrong with a module importing a target; None when it may."""
    group = group_of(module)
    if group is None:
        return f"{module} has no row in ARROWS: give it one"
    top = target.partition(".")[0]
    if group == "protocol" and (top in IMPURE or target in IMPURE):
        return f"protocol is pure and may not import {target}"
    if top == "adapters" or (top.startswith("agui_bridge_") and group != ADAPTER_PACKAGE):
        return f"nothing imports from adapters/, {module} imports {target}"
    if top.startswith("agui_bridge_"):
        own = module.partition(".")[0]
        return None if top == own else f"{own} may not import another adapter, {target}"
    if top != "agui_bridge":
        return None
    wanted = group_of(target)
    if wanted == group or wanted in ARROWS[group] or ANYTHING in ARROWS[group]:
        return None
    return f"{group or 'agui_bridge'} may not import {target}"


def find_faults(root: Path) -> list[str]:
    """Every import below a checkout that the table does not allow, as `file:line: what`."""
    modules = modules_in(root)
    faults = []
    for module, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        where = path.relative_to(root).as_posix()
        for line, target in imports_of(module, path, tree, modules):
            if fault := fault_of(module, target):
                faults.append(f"{where}:{line}: {fault}")
        if group_of(module) == "protocol":
            faults += [
                f"{where}:{line}: protocol is pure and may not call {call}"
                for line, call in impurities_of(tree)
            ]
    return faults


def test_every_import_follows_the_arrows() -> None:
    assert len(modules_in(ROOT)) > 10, "the walk found next to nothing: is the layout another?"
    assert find_faults(ROOT) == []


@pytest.mark.parametrize(
    ("file", "code", "complaint"),
    [
        ("agui_bridge/protocol/x.py", "import asyncio", "may not import asyncio"),
        ("agui_bridge/protocol/x.py", "from time import time", "may not import time"),
        ("agui_bridge/protocol/x.py", "import os.path as p", "may not import os.path"),
        ("agui_bridge/protocol/x.py", "def f():\n    import uuid", "may not import uuid"),
        ("agui_bridge/protocol/x.py", "t = datetime.now(UTC)", "may not call datetime.now()"),
        ("agui_bridge/protocol/x.py", "t = datetime.date.today()", "may not call date.today()"),
        ("agui_bridge/protocol/x.py", "print(1)", "may not call print()"),
        ("agui_bridge/protocol/x.py", "from ..engine import runner", "agui_bridge.engine.runner"),
        ("agui_bridge/protocol/x.py", "from agui_bridge import Bridge", "may not import agui_b"),
        ("agui_bridge/adapters.py", "from .engine.runner import run", "agui_bridge.engine.runner"),
        ("agui_bridge/agents/x.py", "import agui_bridge.engine.runner", "agents may not import"),
        ("agui_bridge/engine/runner.py", "from ..http import app", "engine may not import"),
        ("agui_bridge/engine/x.py", "from ..stores import sqlite", "may not import agui_bridge.st"),
        ("agui_bridge/engine/x.py", "from ..stores.sql.rows import r", "engine may not import"),
        ("agui_bridge/engine/x.py", "from ..stores.open import open_store", "engine may not"),
        ("agui_bridge/http/agui.py", "from ..stores.open import open_store", "http may not"),
        ("agui_bridge/stores/sqlite/store.py", "from .. import redis", "stores.sqlite may not"),
        ("agui_bridge/stores/base.py", "from .memory import M", "stores.base may not import"),
        ("agui_bridge/http/agui.py", "from ..stores.sqlite import S", "http may not import"),
        ("agui_bridge/conformance/x.py", "from ..engine import runner", "conformance may not"),
        ("agui_bridge/http/app.py", "import agui_bridge_mine", "nothing imports from adapters/"),
        ("agui_bridge/cli.py", "from adapters.agui_bridge_mine import A", "nothing imports from"),
        ("adapters/agui_bridge_mine/x.py", "from agui_bridge.engine import runner", "may not"),
        ("adapters/agui_bridge_mine/x.py", "import agui_bridge_other", "another adapter"),
        ("agui_bridge/brand_new.py", "import json", "has no row in ARROWS"),
    ],
)
def test_an_import_against_the_arrows_is_found(
    tmp_path: Path, file: str, code: str, complaint: str
) -> None:
    lay_out(tmp_path)
    path = tmp_path / file
    path.write_text(f"{code}\n")

    (fault,) = find_faults(tmp_path)

    assert fault.startswith(f"{file}:")
    assert complaint in fault


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("agui_bridge/protocol/x.py", "from datetime import datetime\nfrom . import y"),
        ("agui_bridge/protocol/x.py", "from ..errors import BridgeError"),
        ("agui_bridge/engine/runner.py", "from agui_bridge.stores import base"),
        ("agui_bridge/stores/sqlite/store.py", "from agui_bridge.stores.sql.rows import r"),
        ("agui_bridge/stores/sql/rows.py", "from agui_bridge.stores.base import Store"),
        ("agui_bridge/http/app.py", "from ..stores.sqlite import S\nfrom ..engine import runner"),
        ("agui_bridge/client.py", "import httpx\nfrom agui_bridge import __version__"),
        ("agui_bridge/__main__.py", "from agui_bridge.cli import main"),
        ("adapters/agui_bridge_mine/x.py", "from agui_bridge_mine import y\nimport asyncio"),
    ],
)
def test_an_import_along_the_arrows_is_left_alone(tmp_path: Path, file: str, code: str) -> None:
    lay_out(tmp_path)
    (tmp_path / file).write_text(f"{code}\n")

    assert find_faults(tmp_path) == []


def lay_out(root: Path) -> None:
    """A small checkout of empty modules, in the real layout."""
    for name in """
        agui_bridge/__init__.py agui_bridge/errors.py agui_bridge/adapters.py agui_bridge/cli.py
        agui_bridge/agents/__init__.py agui_bridge/conformance/__init__.py
        agui_bridge/engine/__init__.py agui_bridge/engine/runner.py
        agui_bridge/http/__init__.py agui_bridge/http/app.py
        agui_bridge/protocol/__init__.py agui_bridge/protocol/y.py
        agui_bridge/stores/__init__.py agui_bridge/stores/base.py
        agui_bridge/stores/memory/__init__.py agui_bridge/stores/redis/__init__.py
        agui_bridge/stores/sql/__init__.py agui_bridge/stores/sql/rows.py
        agui_bridge/stores/sqlite/__init__.py agui_bridge/stores/sqlite/store.py
        agui_bridge/stores/open.py
        adapters/agui_bridge_mine/__init__.py adapters/agui_bridge_other/__init__.py
    """.split():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_no_file_outgrows_its_reader() -> None:
    paths = [*modules_in(ROOT).values()]
    for folder in ("benchmarks", "docs", "examples", "loadtest", "tests"):
        found = (ROOT / folder).rglob("*.py")
        paths += [path for path in found if "node_modules" not in path.parts]
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in paths
    }

    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_every_file_is_named_after_its_concept() -> None:
    assert [name for name in modules_in(ROOT) if name.split(".")[-1] in {"utils", "util"}] == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "{'asyncpg', 'httpx', 'jsonschema', 'opentelemetry', 'redis', 'uvicorn'}"
    command = f"import sys, agui_bridge; print(*sorted({heavy} & set(sys.modules)))"

    run = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert (run.stdout.strip(), run.stderr) == ("", "")
