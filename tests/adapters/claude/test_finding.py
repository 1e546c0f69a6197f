"""Options of Claude Code are recognised, and what would let calls pass unseen is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

from agui_bridge import Bridge
from agui_bridge.config import bridge_from
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge_claude import ClaudeAgentAdapter
from agui_bridge_claude.permissions import Permissions
from tests.adapters.finding import imported_by_a_bridge


def test_options_are_added_as_they_are() -> None:
    bridge = Bridge("memory:")
    bridge.add("coder", ClaudeAgentOptions())
    assert isinstance(bridge.agents["coder"].adapter, ClaudeAgentAdapter)


def test_what_lacks_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agui_bridge_claude", None)  # can't be imported
    with pytest.raises(ConfigurationError, match=r'pip install "agui-bridge\[claude\]"'):
        Bridge("memory:").add("coder", ClaudeAgentOptions())


def test_a_bridge_without_such_an_agent_imports_no_sdk() -> None:
    assert "claude_agent_sdk" not in imported_by_a_bridge()


def test_a_configuration_names_the_options(tmp_path: Path) -> None:
    module = "coders_of_a_configuration"
    (tmp_path / f"{module}.py").write_text(
        "from claude_agent_sdk import ClaudeAgentOptions\noptions = ClaudeAgentOptions()\n"
    )
    file = tmp_path / "bridge.yaml"
    file.write_text(
        "agents:\n  coder:\n    adapter: claude\n    options:\n"
        f"      agent: {module}:options\n      approve: [WebSearch]\n"
    )
    assert isinstance(bridge_from(file).agents["coder"].adapter, ClaudeAgentAdapter)


async def _let(*_: Any) -> Any:
    return {}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"permission_mode": "bypassPermissions"}, "asks nobody"),
        ({"permission_mode": "acceptEdits"}, "asks nobody"),
        ({"permission_mode": "auto"}, "asks nobody"),
        ({"permission_mode": "dontAsk"}, "asks nobody"),
        ({"can_use_tool": _let}, "can_use_tool of ClaudeAgentOptions has no place here"),
        ({"resume": "a"}, "the thread is the session"),
        ({"hooks": {"PreToolUse": [HookMatcher(hooks=[_let])]}}, "A PreToolUse hook"),
        ({"settings": '{"hooks": {"PreToolUse": [{"hooks": []}]}}'}, "A PreToolUse hook"),
        ({"settings": "/no/such/file.json"}, "can't be read"),
        ({"settings": "{"}, "can't be read"),
        ({"extra_args": {"dangerously-skip-permissions": None}}, "dangerously-skip-permissions"),
    ],
)
def test_what_would_let_calls_pass_unseen_is_told_where_it_is_given(
    options: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        ClaudeAgentAdapter(ClaudeAgentOptions(**options))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"agent": 3}, "agent should be ClaudeAgentOptions"),
        ({"agent": ClaudeAgentOptions(), "approve": "Bash"}, "approve should be names of tools"),
        ({"agent": "no_such_module:options"}, "There is no module"),
    ],
)
def test_what_is_no_agent_is_told_where_it_is_given(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        ClaudeAgentAdapter(**options)


PATTERN = {"allowed_tools": ["Bash(git *)", "mcp__shop__*", "WebSearch"]}


@pytest.mark.parametrize(
    ("options", "rule", "tool", "asked", "free"),
    [
        ({}, {}, "Read", False, False),
        ({}, {}, "Bash", True, False),
        ({}, {}, "mcp__shop__refund", True, False),
        ({}, {"approve": ["Read"]}, "Read", True, False),
        (PATTERN, {}, "Bash", True, False),
        (PATTERN, {}, "mcp__shop__refund", False, True),
        (PATTERN, {}, "mcp__shopping__refund", True, False),
        (PATTERN, {}, "WebSearch", False, True),
        (PATTERN, {"approve": ["WebSearch"]}, "WebSearch", True, True),
        ({}, {"approve": lambda call: call.name == "Read"}, "Read", True, True),
        ({}, {"approve": lambda call: call.name == "Read"}, "Bash", False, True),
        ({"permission_mode": "acceptEdits"}, {"mode_decides": True}, "Write", False, False),
        ({"permission_mode": "bypassPermissions"}, {"mode_decides": True}, "Write", False, True),
    ],
)
def test_who_is_asked_about_what(
    options: dict[str, Any], rule: dict[str, Any], tool: str, asked: bool, free: bool
) -> None:
    made = Permissions.of(
        ClaudeAgentOptions(**options), **{"approve": (), "mode_decides": False, **rule}
    )
    call = ToolCall("c", tool, {})
    assert (made.must_be_approved(call), made.is_free(call)) == (asked, free)


def test_no_process_runs_in_the_mode_that_lets_everything_pass() -> None:
    options = ClaudeAgentOptions(permission_mode="bypassPermissions", allowed_tools=["Bash"])
    held = Permissions.of(options, (), mode_decides=True).held(options)
    assert (held.permission_mode, held.allowed_tools) == ("default", [])
