"""The imports point the way that the design says."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from docs.generators.imports import imports_of, modules_in
from tests.architecture.checkout import ROOT, lay_out

ANYTHING: Final = "*"
ADAPTER_PACKAGE: Final = "agui_bridge_*"

READS_AS: Final = {"agui_bridge_langgraph_server": "agui_bridge_langgraph"}
"""The one adapter that reads with another's readers: of the same graphs, on a server."""

CONCRETE_STORES: Final = (
    "stores.memory",
    "stores.postgres",
    "stores.redis",
    "stores.sqlite",
)
CHOICE_OF_STORE: Final = (*CONCRETE_STORES, "stores", "stores.open")
PURE: Final = ("approvals", "errors", "frozen", "policy", "protocol")
STORE: Final = (*("stores.base", "stores.decisions", "stores.deliveries", "stores.servers"),)
ENGINE_SIDE: Final = (*PURE, "adapters", "engine", "hooks", *STORE)
SURFACE: Final = (*ENGINE_SIDE, "channels", "inbox", "shapes", "surfaces", "text")

ARROWS: Final[Mapping[str, tuple[str, ...]]] = {
    "errors": (),
    "emitting": (),
    "event_loops": (),
    "frozen": (),
    "hooks": (),
    "protocol": ("errors", "frozen"),
    "policy": ("errors", "hooks", "protocol"),
    "approvals": ("errors", "hooks", "protocol"),
    "installed": ("errors",),
    "adapters": (*PURE, "installed"),
    "tool_gate": (*PURE, "adapters"),
    "frameworks": (*PURE, "adapters", "emitting", "tool_gate"),
    "media": PURE,
    "agents": (*PURE, "adapters", "emitting", "event_loops", "frameworks", "media"),
    ADAPTER_PACKAGE: (
        *(
            *PURE,
            "adapters",
            "emitting",
            "event_loops",
            "frameworks",
            "client",
            "import_object",
            "mcp.elicitation",
            "media",
        ),
        "a2a.wire",
        "tool_gate",
    ),
    "stores.decisions": PURE,
    "stores.base": (*PURE, *STORE),
    "stores.deliveries": PURE,
    "stores.servers": PURE,
    "stores.memory": (*PURE, "stores", *STORE),
    "stores.open": (*PURE, *CONCRETE_STORES, "stores", *STORE),
    "stores.postgres": (*PURE, "event_loops", "stores", *STORE, "stores.sql"),
    "stores.redis": (*PURE, "event_loops", "stores", *STORE),
    "stores.sql": (*PURE, "stores", *STORE),
    "stores.sqlite": (*PURE, "stores", *STORE, "stores.sql"),
    "stores": (*PURE, *STORE),
    "engine": (*PURE, "adapters", "hooks", *STORE),
    "client": PURE,
    "conformance": (*PURE, "client", "terminal", "yaml_files"),
    "shapes": PURE,
    "surfaces": (*ENGINE_SIDE, "text"),
    "inbox": (*ENGINE_SIDE, "surfaces", "text"),
    "http": SURFACE,
    "http.agui": (*SURFACE, "http"),
    "http.chat": (*SURFACE, "agents", "http"),
    "http.copilotkit": (*SURFACE, "http", "http.agui"),
    "http.inbox": (*SURFACE, "http", "http.chat"),
    "http.a2a": (*SURFACE, "a2a", "a2a.wire", "http"),
    "http.mcp": (*SURFACE, "http", "mcp_server"),
    "http.app": (
        *SURFACE,
        "http",
        "http.agui",
        "a2a",
        "http.a2a",
        "http.channels",
        "http.chat",
        "http.copilotkit",
        "http.inbox",
        "http.mcp",
    ),
    "channels": (*ENGINE_SIDE, "event_loops", "inbox", "text"),
    "http.channels": (*SURFACE, "http", "http.agui"),
    "bridge": (
        *(*SURFACE, *CHOICE_OF_STORE, "agents", "event_loops", "http", "http.app"),
        *("http.copilotkit", "otel"),
    ),
    "fastapi": ("errors", "http", "http.app"),
    "otel": ENGINE_SIDE,
    "stdio": (*ENGINE_SIDE, "surfaces"),
    "mcp_server": (*ENGINE_SIDE, "inbox", "stdio", "surfaces", "text"),
    "a2a": (*ENGINE_SIDE, "a2a.wire", "surfaces"),
    "a2a.wire": (*PURE, "media"),
    "acp": (*ENGINE_SIDE, "inbox", "stdio", "surfaces", "text"),
    "testing": (*ENGINE_SIDE, "bridge"),
    "yaml_files": PURE,
    "import_object": ("errors",),
    "mcp": (*PURE, "adapters", "agents", "emitting", "frameworks", "mcp.elicitation"),
    "mcp.elicitation": (*PURE, "adapters"),
    "agent_file": (*ENGINE_SIDE, "agents", "bridge", "import_object", "mcp", "yaml_files"),
    "terminal": (),
    "text": (),
    "logs": ("engine",),
    "config": (
        *ENGINE_SIDE,
        "agent_file",
        "agents",
        "bridge",
        "channels",
        "http",
        "http.copilotkit",
        "import_object",
        "inbox",
        "logs",
        "yaml_files",
    ),
    "documents": (*PURE, "config", "engine", "http", "http.app", "shapes"),
    "cli": (ANYTHING,),
    "": (ANYTHING,),
}
"""Who may import what, as groups of modules below `agui_bridge`.

A module belongs to the row with the longest name that its own begins with (`http.chat.api` to
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


def group_of(module: str) -> str | None:
    """The row of ARROWS that a module belongs to; None when it is ours and has none."""
    top, _, below = module.partition(".")
    if top.startswith("agui_bridge_"):
        return ADAPTER_PACKAGE
    if below in ("", "__main__"):
        return "cli" if below else ""
    rows = [row for row in ARROWS if row and (below + ".").startswith(row + ".")]
    return max(rows, key=len, default=None)


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
        return (
            None
            if top in (own, READS_AS.get(own))
            else f"{own} may not import another adapter, {target}"
        )
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
        ("agui_bridge/protocol/x.py", "from ..engine import engine", "agui_bridge.engine.engine"),
        ("agui_bridge/protocol/x.py", "from agui_bridge import Bridge", "may not import agui_b"),
        ("agui_bridge/adapters.py", "from .engine.engine import run", "agui_bridge.engine.engine"),
        ("agui_bridge/agents/x.py", "import agui_bridge.engine.engine", "agents may not import"),
        ("agui_bridge/engine/engine.py", "from ..http import server", "engine may not import"),
        ("agui_bridge/engine/x.py", "from ..stores import sqlite", "may not import agui_bridge.st"),
        ("agui_bridge/engine/x.py", "from ..stores.sql.rows import r", "engine may not import"),
        ("agui_bridge/engine/x.py", "from ..stores.open import open_store", "engine may not"),
        (
            "agui_bridge/http/agui/runs.py",
            "from ...stores.open import open_store",
            "http.agui may not",
        ),
        ("agui_bridge/stores/sqlite/store.py", "from .. import redis", "stores.sqlite may not"),
        ("agui_bridge/stores/base.py", "from .memory import M", "stores.base may not import"),
        ("agui_bridge/http/agui/runs.py", "from ...stores.sqlite import S", "http.agui may not"),
        ("agui_bridge/conformance/x.py", "from ..engine import engine", "conformance may not"),
        (
            "agui_bridge/bridge/bridge.py",
            "import agui_bridge_mine",
            "nothing imports from adapters/",
        ),
        ("agui_bridge/cli.py", "from adapters.agui_bridge_mine import A", "nothing imports from"),
        ("adapters/agui_bridge_mine/x.py", "from agui_bridge.engine import engine", "may not"),
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
        ("agui_bridge/engine/engine.py", "from agui_bridge.stores import base"),
        ("agui_bridge/stores/sqlite/store.py", "from agui_bridge.stores.sql.rows import r"),
        ("agui_bridge/stores/sql/rows.py", "from agui_bridge.stores.base import Store"),
        (
            "agui_bridge/bridge/bridge.py",
            "from ..stores.sqlite import S\nfrom ..http import server",
        ),
        ("agui_bridge/client.py", "import httpx\nfrom agui_bridge import __version__"),
        ("agui_bridge/__main__.py", "from agui_bridge.cli import main"),
        ("adapters/agui_bridge_mine/x.py", "from agui_bridge_mine import y\nimport asyncio"),
    ],
)
def test_an_import_along_the_arrows_is_left_alone(tmp_path: Path, file: str, code: str) -> None:
    lay_out(tmp_path)
    (tmp_path / file).write_text(f"{code}\n")

    assert find_faults(tmp_path) == []
