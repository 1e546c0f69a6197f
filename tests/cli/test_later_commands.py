"""The table of commands, and what is imported because of it."""

import subprocess
import sys
from inspect import cleandoc

import pytest

from tests.cli.commands import COMMANDS, HELP


def test_the_help_lists_each_command_by_the_first_line_of_its_own() -> None:
    assert {name: cleandoc(text).partition("\n")[0] for name, text in HELP.items()} == {
        name: later.summary for name, later in COMMANDS.items()
    }


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        ("--help", "agui_bridge.cli.later_commands"),
        ("schema --help", "agui_bridge.cli.commands.schema"),
    ],
)
def test_a_help_imports_the_called_command_alone(arguments: str, needed: str) -> None:
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        "from agui_bridge.cli import main; main()"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, *arguments.split()], capture_output=True, check=True
    )

    imported = set(told.stderr.decode().split())
    assert needed in imported
    assert imported.isdisjoint(
        {
            "httpx",
            "agui_bridge.cli.commands.serve",
            "agui_bridge.client",
            "agui_bridge.conformance",
        }
    )
    if arguments == "--help":
        assert imported.isdisjoint({"ag_ui", "asyncio", "pydantic", "starlette", "yaml"})
