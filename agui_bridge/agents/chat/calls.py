"""What becomes of the tool calls that a model asks for."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from ag_ui.core import ToolCallResultEvent

from agui_bridge.agents.chat.arguments import parse_arguments
from agui_bridge.agents.chat.messages import edited_result
from agui_bridge.agents.chat.questions import AskUser
from agui_bridge.agents.chat.tools import Tool
from agui_bridge.agents.function.call_events import failure_text, tool_call
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.function.run_acting import StreamItem
from agui_bridge.agents.replay.failures import FrontendToolError, ResultWithoutJson, StepFailed
from agui_bridge.errors import AgentMistake
from agui_bridge.policy import CallDenied
from agui_bridge.protocol.answers.decisions import Cancel, Decline
from agui_bridge.protocol.answers.unexecuted import denied_by_policy
from agui_bridge.protocol.threads.edited_calls import proposed_arguments
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import failed_result, text_of

__all__ = ["CallAnswer", "CallAnswers", "result_event"]

logger: Final = logging.getLogger("agui_bridge.agents")

_CUT_OFF: Final = "the reply came to its limit of tokens before their end"
_EXCUSE: Final = "I wanted to use a tool that I don't have: {}."


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What the model reads of a call.

    Attributes:
        arguments: those that it wrote, a JSON object as text; `{}` when they are none.
        text: what came of it.
    """

    arguments: str
    text: str


class CallAnswers:
    """Answers the calls of one run.

    Args:
        run: through which they are carried out and asked about.
        tools: the agent's.
        frontend: the application's, as chat completions describe them.

    Attributes:
        offered: all of them, as chat completions describe them.
        names: their names.
        hidden: names of those whose calls are shown only once they are answered.
        frontend: names of the application's.
    """

    def __init__(
        self,
        run: FunctionRun,
        tools: Mapping[str, Tool | AskUser],
        frontend: Sequence[dict[str, Any]],
    ) -> None:
        self._run = run
        self._tools = tools
        self.frontend: frozenset[str] = frozenset(tool["function"]["name"] for tool in frontend)
        self.names: frozenset[str] = self.frontend | tools.keys()
        self._unknown: list[str] = []
        own = [one.describe() for one in tools.values()]
        self.offered: list[dict[str, Json]] = [*own, *frontend]
        self.hidden: frozenset[str] = frozenset(
            name for name, one in tools.items() if isinstance(one, AskUser)
        )

    @property
    def excuse(self) -> str | None:
        """What the user is told when the model only tried tools that it was not given."""
        return _EXCUSE.format(", ".join(dict.fromkeys(self._unknown))) if self._unknown else None

    async def answer(self, call: Mapping[str, Any]) -> CallAnswer:
        """Carry a call out, ask about it, or say why not.

        Args:
            call: see `StreamedReply.outcome`.
        """
        call_id, name = call["id"], call["name"]
        args = _CUT_OFF if call["cut"] else parse_arguments(call["arguments"])
        written = "{}" if isinstance(args, str) else call["arguments"] or "{}"
        one = self._tools.get(name)
        # Another run's application may bring other tools along: its word then is what counts.
        if one is None and not call["frontend"]:
            self._unknown.append(name)
            return CallAnswer(written, await self._refuse(call_id, f"There is no tool {name!r}."))
        if isinstance(args, str):
            fault: str | None = args
        else:
            fault = one.find_fault(args) if one is not None else None
        if isinstance(args, str) or fault is not None:
            why = str(fault).removeprefix("the payload: ").rstrip(".")
            text = f"The arguments don't fit: {why}. It was not executed."
            if isinstance(one, AskUser):
                return CallAnswer(written, text)
            return CallAnswer(written, await self._refuse(call_id, text))
        if one is None:
            try:
                content = await self._run.frontend_tool(name, args, key=call_id, call_id=call_id)
            except FrontendToolError as failed:
                content = failed_result(failed.content, failed.text)
            return CallAnswer(written, text_of(content))
        if isinstance(one, AskUser):
            return CallAnswer(written, await self._ask(one, call_id, args))
        asked = await self._needs_approval(one, call_id, args)
        text = await self._outcome(one, call_id, args, asked=asked)
        executed, proposed = self._edited.get(call_id, (written, None))
        return CallAnswer(executed, edited_result(proposed, text))

    async def _outcome(self, one: Tool, call_id: str, args: dict[str, Json], *, asked: bool) -> str:
        try:
            return await self._carry_out(one, call_id, args, asked=asked)
        except StepFailed as failed:
            if failed.__cause__ is not None:  # else it failed in an earlier run
                ran = isinstance(failed.__cause__, ResultWithoutJson)
                what = "returned what has no JSON form" if ran else "failed"
                logger.warning("The tool %r %s.", one.name, what, exc_info=failed.__cause__)
            return failure_text(failed.error)
        except CallDenied as denied:
            return _told(denied)

    @cached_property
    def _edited(self) -> dict[str, tuple[str, str]]:
        """The arguments that people made of others, and those others, by the call's id."""
        return {
            call.id: (call.function.arguments, proposed[call.id])
            for message in self._run.messages_since
            if (proposed := proposed_arguments(getattr(message, "metadata", None)))
            for call in getattr(message, "tool_calls", None) or ()
            if call.id in proposed
        }

    async def _carry_out(
        self, one: Tool, call_id: str, args: dict[str, Json], *, asked: bool
    ) -> str:
        run = self._run
        if not asked:
            result = await run.call(
                one.name, args, one.fn, editable=one.editable, key=call_id, call_id=call_id
            )
            return _as_text(result)
        approval = await run.approve(
            one.name,
            args,
            message=one.message,
            parameters=one.parameters,
            editable=one.editable,
            metadata={"destructive": True} if one.destructive else None,
            key=call_id,
            call_id=call_id,
        )
        if approval.cancelled:
            return Cancel(approval.cause or "cancelled").text
        if not approval:
            return Decline(approval.reason).text
        return _as_text(await run.tool(approval, one.fn))

    async def _needs_approval(self, one: Tool, call_id: str, args: dict[str, Json]) -> bool:
        if isinstance(one.approval, str):
            return one.approval == "always"
        judge = one.approval
        # Remembered, so that a replay takes the same path whatever it says by then.
        needed = await self._run.step("needs approval", lambda: judge(dict(args)), key=call_id)
        if not isinstance(needed, bool):
            raise AgentMistake(
                f"The approval rule of the tool {one.name!r} must return True or False, "
                f"not {needed!r:.80}."
            )
        return needed

    async def _ask(self, one: AskUser, call_id: str, args: dict[str, Json]) -> str:
        text = await one.ask(self._run, args, call_id)
        await self._show(call_id, *tool_call(call_id, one.name, args), result_event(call_id, text))
        return text

    async def _refuse(self, call_id: str, text: str) -> str:
        await self._show(call_id, result_event(call_id, text))
        return text

    async def _show(self, call_id: str, *events: StreamItem) -> None:
        """Send events, once in all runs."""

        async def items() -> AsyncGenerator[StreamItem, None]:
            for event in events:
                yield event

        await self._run.stream("call", items(), key=call_id)


def _told(denied: CallDenied) -> str:
    if denied.by == "policy":
        return denied_by_policy(denied.reason)
    return (Cancel(denied.cause) if denied.cause else Decline(denied.reason)).text


def result_event(call_id: str, text: str) -> ToolCallResultEvent:
    """The result of a call that nothing carried out."""
    # Its own id would do as well, but a message's id is never a call's.
    return ToolCallResultEvent(message_id=f"{call_id}-result", tool_call_id=call_id, content=text)


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
