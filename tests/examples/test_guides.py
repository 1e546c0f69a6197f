"""Each example starts as its docstring says, and the curl lines that it prints do what it says."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agui_bridge.cli.target import Target
from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel
from tests.support import unavailable
from tests.support.commands import Command
from tests.support.server import PATIENCE

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

PRINTED = {
    "human_approval": ["The e-mail to ann@example.com is sent", "not today"],
    "information_gathering": ["INVALID_RESUME_PAYLOAD", "doesn't say 250", "are on their way"],
    "policy_enforcement": ["20 EUR went", "A payment is", "Only a manager", "500 EUR went"],
    "wizard": ["Where shall it go?", "How fast?", "Is this right?", "Order 1: ", "Bergen"],
    "error_recovery": ["TimeoutError", "JPY: 0.0061", "XYZ: left out"],
    "llm_tools": ["Allow send_email?", "It is sent."],
}
"""What the guide's commands get to see, by example."""

SEND = ToolUse("send_email", {"to": "ann@example.com", "subject": "Hours", "body": "09:00"})


@contextlib.asynccontextmanager
async def started(
    name: str, folder: Path, *, last: str = "/interrupts", **settings: str
) -> AsyncIterator[str]:
    """Start an example as its docstring says; gives what it prints, up to the line with `last`."""
    environment = {**os.environ, **settings, "NO_PROXY": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    process = Command(
        f"examples.{name}",
        *("--port", "0"),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    printed = ""
    try:
        async with asyncio.timeout(PATIENCE):
            while last not in printed:
                line = (await asyncio.to_thread(process.stdout.readline)).decode()
                assert line, printed
                printed += line
        yield printed
    finally:
        process.close()


async def paste(commands: str) -> str:
    """Give commands to a shell; gives what they print."""
    if shutil.which("curl") is None or shutil.which("bash") is None:
        unavailable("curl", "install curl and bash: the examples print commands for them")
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
    shell = await asyncio.create_subprocess_exec(
        *("bash", "-euc", commands),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(PATIENCE):
        printed, _ = await shell.communicate()
    assert shell.returncode == 0, printed.decode()
    return printed.decode()


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(PRINTED))
async def test_the_commands_that_an_example_prints_do_what_it_says(
    name: str, tmp_path: Path
) -> None:
    async with ScriptedModel(Reply(calls=[SEND]), Reply(text="It is sent.")) as model:
        settings = {"OPENAI_BASE_URL": model.base_url, "MODEL": "scripted"}
        async with started(name, tmp_path, **settings) as guide:
            assert guide.startswith("# Serving http://127.0.0.1:")
            printed = await paste(guide)
    steps = len(re.findall(r"^# \d+\. ", guide, re.MULTILINE))
    assert printed.count('"RUN_STARTED"') == steps, printed
    at = 0
    for text in PRINTED[name]:
        assert (at := printed.find(text, at)) >= 0, f"no {text!r} in {printed}"
    assert os.listdir(tmp_path) == [], "an example leaves no files behind"


async def test_the_commands_of_the_demo_can_be_pasted_whatever_port_it_has(tmp_path: Path) -> None:
    async with started("demo", tmp_path, last="examples/copilotkit.") as guide:
        printed = await paste("\n".join(re.findall(r"^(?:curl|ID=).*\n(?: .*\n)*", guide, re.M)))
    assert printed.count('"RUN_STARTED"') == 2, printed
    assert "10 rows of users deleted" in printed


@pytest.mark.parametrize("name", ["demo", "wizard"])
def test_a_port_in_use_is_told_in_two_lines(name: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = Command(
            f"examples.{name}",
            *("--port", str(port)),
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            assert process.stdout is not None and process.stderr is not None
            code = process.wait(PATIENCE)
            printed, told = process.stdout.read(), process.stderr.read().decode().splitlines()
        finally:
            process.close()
    assert (code, printed, len(told)) == (1, b"", 2), told
    assert told[0] == f"error: Port {port} on 127.0.0.1 is in use by another process."


async def test_without_a_model_the_tool_loop_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MODEL", raising=False)
    with pytest.raises(AssertionError, match="Set MODEL"):
        async with started("llm_tools", tmp_path):
            pass


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_the_command_line_finds_each_bridge(name: str) -> None:
    assert Target.of(f"examples.{name}:bridge").bridge().agents


def test_the_readme_lists_every_example() -> None:
    listed = re.findall(r"^\| \[`([\w-]+)`\]", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    modules = {path.stem for path in EXAMPLES.glob("*.py")} - {"__init__", "guide"}
    packages = {path.parent.name for path in EXAMPLES.glob("*/README.md")}
    assert sorted(listed) == sorted(modules | packages)
    told_otherwise = {
        "a2a_teams",
        "acp_agent",
        "adk",
        "agent_framework",
        "agno",
        "approval_target",
        "approvals",
        "assistant-ui",
        "cards",
        "claude_agent",
        "conformance",
        "copilotkit",
        "dbos",
        "demo",
        "deploy_approval",
        "deployment",
        "fastapi_app",
        "langgraph",
        "langgraph_server",
        "llama_index",
        "mastra",
        "mcp_tools",
        "n8n",
        "openai_agents",
        "proxy_pydantic_ai",
        "pydantic_ai",
        "stop_and_continue",
        "strands",
        "tanstack-ai",
        "temporal",
        "third_party_adapter",
    }
    assert set(PRINTED) == set(listed) - told_otherwise
