"""Tool calls as agents tell them: what each is shown as, and whether two are the same.

Agents differ in what they tell of a call. Some announce it without its arguments, which come with a
later update; some ask about other arguments than those that they showed; some tell none at all, and
have it all in the title. So a call is shown late: once it runs, or is asked about.

What people read before they approve it is made of the very request: the changes that it tells, or
the command in its arguments. Where that is too long to be shown whole, nobody can approve it.

Source: the Agent Client Protocol, version 1, "Tool Calls"; what real agents sent.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.previews import (
    LONGEST_COMMAND,
    LONGEST_DIFF,
    LONGEST_PATH,
    MOST_PATHS,
    CommandPreview,
    DiffPreview,
    Preview,
)
from agui_bridge.protocol.threads.records import Json

_OVER: Final = ("completed", "failed")
_NO_ARGUMENTS: Final = frozenset(
    {
        *("call_id", "turn_id", "started_at_ms", "process_id"),
        *("available_decisions", "proposed_execpolicy_amendment", "parsed_cmd"),
    }
)
"""What Codex tells among the arguments: other each time, or what it offers to the person."""

_FOLDERS: Final = ("cwd", "workdir", "directory", "dir_path")
"""Under which agents tell the folder of a command among its arguments."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a call would do: the name of its tool, and its arguments."""

    name: str
    args: Mapping[str, Json]


@dataclass(slots=True)
class AgentCall:
    """One call of a turn.

    Attributes:
        id: the conversation's; the one that an earlier proposal of the same call was shown under,
            where a decision on that serves this one.
        told: all that the agent has said of it, the newest of each member.
        last: what the agent said of it last.
        changes: what it would change in files, as the agent said last.
        shape: what it was shown as, or would have been: from then on it stays.
        shown: whether clients have it.
        answered: whether its result was told.
        allowed: whether the agent was told that it may carry it out.
        refused: whether the agent was told that it may not.
    """

    id: str
    told: dict[str, Any] = field(default_factory=dict)
    last: Mapping[str, Any] = field(default_factory=dict)
    changes: Sequence[Mapping[str, Any]] = ()
    shape: Shape | None = None
    shown: bool = False
    answered: bool = False
    allowed: bool = False
    refused: bool = False

    def take(self, update: Mapping[str, Any]) -> None:
        """Note what the agent says of it."""
        self.last = update
        self.told.update((k, v) for k, v in update.items() if v not in (None, {}, []))
        # A later update without them takes none back: what people read stays whole.
        changes = [part for part in _list(update.get("content")) if part.get("type") == "diff"]
        self.changes = changes or self.changes

    @property
    def over(self) -> bool:
        """Whether the agent says that it has ended."""
        return self.told.get("status") in _OVER

    @property
    def runs(self) -> bool:
        """Whether it is being carried out, as far as the agent says."""
        return self.told.get("status") == "in_progress" or self.over

    @property
    def due(self) -> bool:
        """Whether it can be shown: it runs, and its arguments will not be told later."""
        return self.over or (self.runs and "rawInput" in self.told)

    @property
    def now(self) -> Shape:
        """What it would do, by what the agent said last."""
        return Shape(_name_of(self.told), _args_of(self.told))

    def settle(self) -> Shape:
        """What it is shown as, now and from now on."""
        if self.shape is None:
            self.shape = self.now
        return self.shape

    @property
    def likeness(self) -> str:
        """Equal for calls that were shown alike and would do the same."""
        shown, now = self.settle(), self.now
        likeness = [shown.name, shown.args, now.name, now.args, self.changes]
        return json.dumps(likeness, sort_keys=True)

    def preview(self, cwd: str) -> Preview | None:
        """What it would do, for people to read; None where its arguments are all that is known.

        It takes time where files are long.

        Args:
            cwd: the folder that its agent works in.
        """
        command = None
        if self.told.get("kind") == "execute":
            command = _command_of(_mapping(self.told.get("rawInput")), cwd)
        # Of a command its changes are a part, if that.
        return command or (_diff_of(self.changes) if self.changes else None)

    @property
    def result(self) -> str:
        """What came of it, as a text: what was said with its end, not before."""
        raw = self.last.get("rawOutput")
        if isinstance(raw, str) and raw:
            return raw
        texts = [text for part in _list(self.last.get("content")) if (text := _text_of(part))]
        if texts:
            return "\n".join(texts)
        return str(self.told["status"]) if not raw else json.dumps(raw, ensure_ascii=False)


def _name_of(told: Mapping[str, Any]) -> str:
    meta = _mapping(told.get("_meta"))
    candidates = (
        told.get("name"),
        _mapping(meta.get("claudeCode")).get("toolName"),
        meta.get("toolName"),
        told.get("kind"),
    )
    return next((name for name in candidates if isinstance(name, str) and name), "tool")


def _args_of(told: Mapping[str, Any]) -> dict[str, Json]:
    raw = told.get("rawInput")
    if isinstance(raw, dict):
        return {key: value for key, value in raw.items() if key not in _NO_ARGUMENTS}
    if raw is not None:
        return {"input": raw}
    # Gemini has the command in the title, and the change of a file in the content.
    return {key: told[key] for key in ("title", "content") if told.get(key)}


def _diff_of(changes: Sequence[Mapping[str, Any]]) -> DiffPreview:
    """Changes of files as one diff, cut where it would be too long."""
    paths = [str(change.get("path") or "?") for change in changes]
    is_cut, diff = False, ""
    for path, change in zip(paths, changes, strict=True):
        old, new = change.get("oldText"), change.get("newText")
        if not isinstance(new, str) or not isinstance(old, str | None):
            # No version of the protocol has such a change: nobody can say what it does.
            is_cut = True
            break
        try:
            one = DiffPreview.of(path, old, new)
        except AgentMistake:
            # A file that is too long to be compared, or a path.
            is_cut = True
            break
        is_cut = one.is_cut or len(diff) + len(one.diff) > LONGEST_DIFF
        if len(diff) + len(one.diff) <= LONGEST_DIFF:
            diff += one.diff
        if is_cut:
            break
    is_cut = is_cut or len(paths) > MOST_PATHS
    return DiffPreview([path[:LONGEST_PATH] for path in paths[:MOST_PATHS]], diff, is_cut)


def _command_of(args: Mapping[str, Any], cwd: str) -> CommandPreview | None:
    command, more = args.get("command"), args.get("args")
    if isinstance(command, list):
        command = shlex.join(command) if _are_words(command) else None
    if not isinstance(command, str) or not command:
        return None
    if more:
        if not isinstance(more, list) or not _are_words(more):
            return None
        command = f"{command} {shlex.join(more)}"
    told = (args[name] for name in _FOLDERS if isinstance(args.get(name), str) and args[name])
    folder = next(told, cwd)
    is_cut = len(command) > LONGEST_COMMAND or len(folder) > LONGEST_PATH
    return CommandPreview(command[:LONGEST_COMMAND], folder[:LONGEST_PATH], is_cut)


def _are_words(parts: list[Any]) -> bool:
    return all(isinstance(part, str) for part in parts)


def _text_of(part: Mapping[str, Any]) -> str:
    if part.get("type") == "diff":
        return f"Changed {part.get('path')}"
    return str(_mapping(part.get("content")).get("text") or "")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
