"""What an import loads, and what it leaves to those who use it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import agui_bridge
from tests.architecture.checkout import ROOT


@pytest.mark.parametrize(
    ("statement", "left_out"),
    [
        (
            "import agui_bridge",
            "ag_ui asyncio httpx jsonschema opentelemetry pydantic redis starlette uvicorn yaml",
        ),
        ("from agui_bridge import BridgeError", "ag_ui asyncio pydantic starlette"),
        (
            "from agui_bridge import Bridge",
            "agui_bridge.cli agui_bridge.client agui_bridge.config asyncpg httpx jsonschema "
            "opentelemetry redis uvicorn yaml",
        ),
    ],
)
def test_importing_the_package_loads_nothing_that_is_not_used(
    statement: str, left_out: str
) -> None:
    command = f"import sys; {statement}; print(*sys.modules)"

    run = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert run.stderr == ""
    assert set(left_out.split()) & set(run.stdout.split()) == set()


def test_every_public_name_comes_from_where_checkers_are_told() -> None:
    """The imports that checkers read, the table that Python goes by, and `__all__` agree."""
    assert agui_bridge.__file__ is not None
    tree = ast.parse(Path(agui_bridge.__file__).read_text(encoding="utf-8"))
    (told,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    homes = {
        alias.name: node.module
        for node in told.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names = {*homes, "__version__"}

    assert homes == agui_bridge._HOMES
    assert names == set(agui_bridge.__all__)
    assert names <= set(dir(agui_bridge))
    assert all(
        getattr(agui_bridge, name) is getattr(sys.modules[str(home)], name)
        for name, home in homes.items()
    )
    with pytest.raises(AttributeError, match="no attribute 'Brigde'"):
        agui_bridge.Brigde  # type: ignore[attr-defined]  # noqa: B018
