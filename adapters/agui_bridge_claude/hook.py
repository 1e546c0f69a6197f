"""The door that every tool call of Claude Code goes through: a hook of its settings, answered here.

A hook in Python is registered once Claude Code runs, and a call that waited for an answer is
carried out right at its start: declined or not, it would win the race. A hook of the settings is
there from the start. Its command hands the call over a socket to this process, where the gate is,
and blocks it unless an answer comes: if this process is gone, nothing runs.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from agui_bridge.errors import ConfigurationError

_CLIENT: Final = Path(__file__).with_name("hook_client.py")
_LONGEST: Final = 7 * 86400
"""Seconds that a call may wait at the door; Claude Code lets pass what waits longer."""

Said = Mapping[str, Any]
"""What Claude Code says of a call: `tool_name`, `tool_input`, `tool_use_id`, `agent_id`, …"""


class Door:
    """The socket of one run, and the settings that lead to it.

    Args:
        judge: says what becomes of a call, in the hook's own words (`permissionDecision`, …); it is
            blocked if that raises.
    """

    def __init__(self, judge: Callable[[Said], Awaitable[Mapping[str, Any]]]) -> None:
        self._judge = judge
        self._folder = Path()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen. Others than this user can't reach it."""
        self._folder = Path(tempfile.mkdtemp(prefix="agui-claude-"))
        self._server = await asyncio.start_unix_server(self._answer, self._folder / "door")

    async def close(self) -> None:
        """Stop listening; what still asks is blocked."""
        if self._server is not None:
            self._server.close()
            self._server = None
            shutil.rmtree(self._folder, ignore_errors=True)

    def settings(self, own: str | None, cwd: str | Path | None) -> str:
        """Settings as JSON: the author's, with the door before everything else.

        Args:
            own: the author's, as JSON or as the path of a file, as `ClaudeAgentOptions` has them.
            cwd: what that path is relative to.

        Raises:
            ConfigurationError: they can't be read.
        """
        made = settings_of(own, cwd)
        program = [sys.executable, "-I", "-S", str(_CLIENT), str(self._folder / "door")]
        # 2 is what blocks a call; any other failure of a hook would let it pass.
        command = f"{shlex.join(program)} || exit 2"
        entry = {"type": "command", "command": command, "timeout": _LONGEST}
        made["hooks"] = {
            **made.get("hooks", {}),
            "PreToolUse": [{"matcher": "*", "hooks": [entry]}],
        }
        made["disableAllHooks"] = False
        return json.dumps(made)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            verdict = await self._judge(json.loads(await reader.read()))
            told = {"hookEventName": "PreToolUse", **verdict}
            writer.write(json.dumps({"hookSpecificOutput": told} if verdict else {}).encode())
            await writer.drain()
        except (Exception, asyncio.CancelledError):
            # Without an answer the call is blocked. Why is kept by the gate, and ends the run.
            return
        finally:
            writer.close()


def settings_of(own: str | None, cwd: str | Path | None) -> dict[str, Any]:
    """The author's own settings.

    Args:
        own: see `Door.settings`.
        cwd: see `Door.settings`.

    Raises:
        ConfigurationError: they can't be read, or a hook of theirs stands before tool calls.
    """
    if own is None:
        return {}
    text = own.strip()
    try:
        if not text.startswith("{"):
            text = (Path(cwd or "") / text).read_text(encoding="utf-8-sig")
        made = json.loads(text)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"settings of ClaudeAgentOptions can't be read: {error}") from None
    if not isinstance(made, dict) or not isinstance(made.get("hooks", {}), dict):
        raise ConfigurationError("settings of ClaudeAgentOptions should be a JSON object.")
    if made.get("hooks", {}).get("PreToolUse"):
        raise ConfigurationError(NO_OWN_HOOK)
    return made


NO_OWN_HOOK: Final = (
    "A PreToolUse hook could change what a person has approved, or approve it itself. Use the "
    "adapter's `approve`, or a policy of the bridge, in its place."
)
