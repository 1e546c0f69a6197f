"""Which calls people are asked about, where Claude Code has permission rules and modes of its own.

A mode that asks nobody would let pass what no person has seen. So the process never runs in the one
that lets everything pass, and the adapter's author says in words that a mode is to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final

from claude_agent_sdk import ClaudeAgentOptions

from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge_claude.hook import NO_OWN_HOOK, settings_of
from agui_bridge_claude.reader import DELEGATING

READING: Final = frozenset(
    {"Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite", "TaskCreate", "TaskGet", "TaskList"}
    | {"TaskUpdate", "ToolSearch", "ListMcpResources", "ReportFindings", "Skill", "ListAgents"}
    | DELEGATING
)
"""Tools that change nothing outside of the session; calls of sub-agents come to the hook alone."""

_UNASKED: Final = frozenset({"acceptEdits", "bypassPermissions", "dontAsk", "auto"})
_OUTLASTING: Final = (
    *("CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "Monitor", "SendMessage"),
    *("Workflow", "EnterWorktree", "ExitWorktree", "RemoteTrigger"),
)
"""Tools whose work goes on after the run, where nobody could be asked."""

_TAKEN: Final = {
    "resume": "the thread is the session",
    "session_id": "the thread is the session",
    "continue_conversation": "the thread is the session",
    "fork_session": "the thread is the session",
    "resume_session_at": "the thread is the session",
    "can_use_tool": "people are asked by the bridge; use `approve`",
    "permission_prompt_tool_name": "people are asked by the bridge; use `approve`",
    "enable_file_checkpointing": "files are on one machine, the thread is on all",
}
_FLAGS: Final = (
    *("dangerously-skip-permissions", "allow-dangerously-skip-permissions", "permission-mode"),
    *("settings", "resume", "continue", "session-id", "fork-session", "bare"),
)


@dataclass(frozen=True, slots=True)
class Permissions:
    """The adapter's rule.

    Args:
        approve: names of tools that people approve, besides those by default; or a function of the
            call, which decides alone.
        mode_decides: Claude Code's permission mode decides about all that `approve` does not name.
        bypass: that mode lets everything pass.
        allowed: tools that the options' `allowed_tools` let run, by their whole name.
    """

    approve: Collection[str] | Callable[[ToolCall], bool]
    mode_decides: bool
    bypass: bool
    allowed: frozenset[str]

    @classmethod
    def of(
        cls,
        options: ClaudeAgentOptions,
        approve: Collection[str] | Callable[[ToolCall], bool],
        *,
        mode_decides: bool,
    ) -> Permissions:
        """Those for an agent's options.

        Raises:
            ConfigurationError: an option would let a call pass unseen, or has no place here.
        """
        _expect_fitting(options)
        mode = options.permission_mode
        if mode in _UNASKED and not mode_decides:
            raise ConfigurationError(
                f"permission_mode={mode!r} asks nobody. Leave it out, and people approve each call "
                "that may change something; or say mode_decides=True to have the mode decide about "
                "what `approve` does not name."
            )
        allowed = frozenset(name for name in options.allowed_tools if "(" not in name)
        return cls(approve, mode_decides, mode == "bypassPermissions", allowed)

    def must_be_approved(self, call: ToolCall) -> bool:
        """Whether a person is asked about a call."""
        if callable(self.approve):
            return self.approve(call)
        if call.name in self.approve:
            return True
        return not (self.mode_decides or call.name in READING or self._is_allowed(call.name))

    def is_free(self, call: ToolCall) -> bool:
        """Whether a call that nobody is asked about runs whatever Claude Code's own rules say."""
        return callable(self.approve) or self.bypass or self._is_allowed(call.name)

    def held(self, options: ClaudeAgentOptions) -> ClaudeAgentOptions:
        """The options that a process gets: in them nothing runs unless the hook lets it."""
        mode = options.permission_mode
        return replace(
            options,
            permission_mode="default" if self.bypass else mode or "default",
            allowed_tools=[name for name in options.allowed_tools if name not in self.allowed],
            disallowed_tools=[*options.disallowed_tools, *_OUTLASTING],
            env={"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1", **options.env},
        )

    def _is_allowed(self, name: str) -> bool:
        server = name.rpartition("__")[0]
        return name in self.allowed or (bool(server) and f"{server}__*" in self.allowed)


def _expect_fitting(options: ClaudeAgentOptions) -> None:
    for name, why in _TAKEN.items():
        if getattr(options, name):
            raise ConfigurationError(f"{name} of ClaudeAgentOptions has no place here: {why}.")
    if (options.hooks or {}).get("PreToolUse"):
        raise ConfigurationError(NO_OWN_HOOK)
    settings_of(options.settings, options.cwd)
    for flag in _FLAGS:
        if flag in options.extra_args:
            raise ConfigurationError(
                f"extra_args of ClaudeAgentOptions has {flag!r}, by which calls could pass unseen, "
                "or another session go on. Leave it out."
            )
