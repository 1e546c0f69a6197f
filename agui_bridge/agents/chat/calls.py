"""What becomes of the tool calls that a model asks for."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from ag_ui.core import ToolCallResultEvent

from agui_bridge.agents.chat.endpoint import ChatMessage, call_message, edited_result, reply_message
from agui_bridge.agents.chat.tools import AskUser, Tool
from agui_bridge.agents.function.outbox import failure_text, tool_call
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.function.run_acting import StreamItem
from agui_bridge.agents.replay.continuation import Asked, Value, read_entries
from agui_bridge.agents.replay.journal import (
    FrontendToolError,
    PreviewFailed,
    ResultWithoutJson,
    StepFailed,
)
from agui_bridge.errors import AgentMistake
from agui_bridge.policy import CallDenied
from agui_bridge.protocol.answers.decisions import Cancel, Decline
from agui_bridge.protocol.answers.unexecuted import (
    denied_by_policy,
    stopped_by_policy,
    without_preview,
)
from agui_bridge.protocol.json_values import DEEPEST, find_forbidden
from agui_bridge.protocol.lifecycle.event_rules import whole_call
from agui_bridge.protocol.lifecycle.partial_json import completion
from agui_bridge.protocol.threads.records import ClosedBatch, Json
from agui_bridge.protocol.turns import failed_result, proposed_arguments, text_of

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
        except PreviewFailed as failed:
            if failed.__cause__ is not None:
                logger.warning("The preview of %r failed.", one.name, exc_info=failed.__cause__)
            return await self._refuse(call_id, without_preview(failed.error))
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
                one.name,
                args,
                one.fn,
                editable=one.editable,
                key=call_id,
                call_id=call_id,
                preview=one.preview,
                idempotent=one.read_only,
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
            preview=one.preview,
        )
        if approval.cancelled:
            return Cancel(approval.cause or "cancelled").text
        if not approval:
            return Decline(approval.reason).text
        return _as_text(await run.tool(approval, one.fn, idempotent=one.read_only))

    async def _needs_approval(self, one: Tool, call_id: str, args: dict[str, Json]) -> bool:
        if isinstance(one.approval, str):
            return one.approval == "always"
        judge = one.approval
        # Remembered, so that a replay takes the same path whatever it says by then.
        needed = await self._run.step(
            "needs approval", lambda: judge(dict(args)), key=call_id, idempotent=True
        )
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

        await self._run.stream("call", items(), key=call_id, idempotent=True)


def _told(denied: CallDenied) -> str:
    if denied.by == "policy":
        return (stopped_by_policy if denied.begun else denied_by_policy)(denied.reason)
    return (Cancel(denied.cause) if denied.cause else Decline(denied.reason)).text


def result_event(call_id: str, text: str) -> ToolCallResultEvent:
    """The result of a call that nothing carried out."""
    # Its own id would do as well, but a message's id is never a call's.
    return ToolCallResultEvent(message_id=f"{call_id}-result", tool_call_id=call_id, content=text)


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_NO_OBJECT: Final = "they are no JSON object"
_LONGEST_INTEGER: Final = 1_000
"""Digits; the time for one grows with the square of its length."""


class _Refused(ValueError):
    pass


def parse_arguments(text: str) -> dict[str, Json] | str:
    """Read the arguments of a call.

    What is carried out is what was shown: text that readers take in different ways is refused.

    Args:
        text: as the model wrote them; nothing at all stands for no arguments.

    Returns:
        The arguments, or what is wrong with them.
    """
    # What is no JSON was not shown as it is, even if Python reads it, such as NaN.
    if completion(text) != "":
        return _NO_OBJECT
    try:
        parsed = json.loads(text or "{}", object_pairs_hook=_object, parse_int=_integer)
    except _Refused as refused:
        return str(refused)
    except RecursionError:
        return "they nest too deep"
    if not isinstance(parsed, dict):
        return _NO_OBJECT
    return find_forbidden(parsed, max_depth=DEEPEST) or parsed


def _object(members: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(members)
    if len(made) < len(members):
        raise _Refused("they name a key of an object twice")
    return made


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER:
        raise _Refused(f"they have an integer of over {_LONGEST_INTEGER} digits")
    return int(digits)


_WHY: Final[Mapping[str, str]] = {
    "expired": "The user did not answer in time.",
    "lost": "The run was lost; what the user answered is unknown.",
    "stopped": "The run was stopped before the user answered.",
}


def unanswered_questions(closed: Sequence[ClosedBatch]) -> list[dict[str, Json]]:
    """The calls with which a chat agent asked, and what came of each.

    Their calls are shown only once they are answered, so the conversation knows nothing of
    them. The next run tells it, model and client alike, before the model speaks.

    Args:
        closed: pauses that ended without an answer since the last run.

    Returns:
        `[{"id", "name", "arguments", "result"}, …]`, all of them text.
    """
    return [
        {**{key: call[key] for key in ("id", "name", "arguments")}, "result": _WHY[batch.cause]}
        for batch in closed
        for call in _asked(batch.continuation)
    ]


def unanswered_messages(
    questions: Sequence[Mapping[str, Any]], names: Collection[str]
) -> list[ChatMessage]:
    """Unanswered questions as the model reads them.

    Args:
        questions: see `unanswered_questions`.
        names: the tools that the model is offered.
    """
    if not questions:
        return []
    calls = [call_message(one["id"], one["name"], one["arguments"], names) for one in questions]
    results: list[ChatMessage] = [
        {"role": "tool", "tool_call_id": one["id"], "content": one["result"]} for one in questions
    ]
    return [reply_message("", calls, ""), *results]


async def told_before(
    questions: Sequence[Mapping[str, Any]], items: AsyncGenerator[StreamItem, None]
) -> AsyncGenerator[StreamItem, None]:
    """What a reply streams, with the unanswered questions before it, as the client sees them."""
    for one in questions:
        for event in whole_call(one["id"], one["name"], one["arguments"]):
            yield event
        yield result_event(one["id"], one["result"])
    async with aclosing(items):
        async for item in items:
            yield item


def _asked(continuation: Json) -> list[Mapping[str, Any]]:
    """The calls of a pause that wait for an answer; none of what is no chat agent's."""
    entries = read_entries(continuation)
    asked = {
        key.key
        for key, outcome in entries.items()
        if key.kind == "ask" and isinstance(outcome, Asked)
    }
    return [
        call
        for key, outcome in entries.items()
        if (key.kind, key.name) == ("step", "reply ended") and isinstance(outcome, Value)
        for call in outcome.value["calls"]
        if call["id"] in asked
    ]
