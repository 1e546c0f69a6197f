"""What an agent or a team streams, as AG-UI's events."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run
from agui_bridge_agno.guard import DELEGATIONS
from agui_bridge_agno.members import Members

_PAUSED: Final = "requires human input"
"""What Agno gives for a result of a call whose member waits: the real one comes later."""

_SENTENCE: Final = re.compile(r"Member '.*' requires human input before continuing\.")
"""The same, where it stands for the agent's own words."""

_CHECKS: Final[Mapping[str | None, Literal["message", "reply"]]] = {
    "input_check_error": "message",
    "output_check_error": "reply",
}
"""What a check refuses, by how Agno calls its error."""

_OVER: Final = ("RunCompleted", "RunError", "RunCancelled")


@dataclass
class _Speaker:
    """What one run, the agent's or a member's, is about to say.

    Attributes:
        text: id of the message that is open.
        thought: id of the reasoning that is open.
        message: id of the message that calls belong to.
    """

    text: str | None = None
    thought: str | None = None
    message: str | None = None


class Reader:
    """Reads the events of one run.

    Args:
        run: mints ids.
        members: those at work.
        is_structured: whether the agent's words are data, which is the run's result.
        is_route: whether members answer in the agent's place.

    Attributes:
        top: the id of the agent's own run.
        said: ids of the assistant's messages that were told, in their order.
        told: ids of the calls that were told, in this run or in one that it continues.
        called: ids of those that this run told.
        answered: ids of the calls whose results were told.
        open: ids of the calls whose members wait.
        failure: what the agent's run ended with in place of an answer.
        refused: what of the conversation a check of the agent refused, if that is why.
    """

    def __init__(
        self, run: Run, members: Members, *, is_structured: bool, is_route: bool = False
    ) -> None:
        self.top: str | None = None
        self.said: list[str] = []
        self.told: set[str] = set()
        self.called: list[str] = []
        self.answered: set[str] = set()
        self.open: set[str] = set()
        self.failure: str | None = None
        self.refused: Literal["message", "reply"] | None = None
        self._run = run
        self._members = members
        self._is_structured = is_structured
        self._is_route = is_route
        self._own = _Speaker()
        self._others: dict[str, _Speaker] = {}

    def read(self, event: Any) -> Iterable[BaseEvent | str]:
        """Translate one event of Agno; those of AG-UI are passed on."""
        if isinstance(event, BaseEvent):
            return self._given(event)
        kind = event.event.removeprefix("Team")
        if kind == "RunContent" and self._own.text is not None and self._is_plain(event):
            # Nearly all are: text of the message that is open, which needs no event object.
            return (event.content,) if event.content else ()
        handler = _HANDLERS.get(kind)
        return handler(self, event) if handler is not None else ()

    def end(self) -> Iterator[BaseEvent]:
        """Close what is open at the end."""
        yield from self._close(self._own, None)
        for run, speaker in self._others.items():
            yield from self._close(speaker, self._members.id_of(run))

    def call(self, call_id: str, name: str, args: Any, run: str | None) -> Iterator[BaseEvent]:
        """Tell a call, unless that was done.

        Args:
            call_id: its id.
            name: the tool.
            args: its arguments.
            run: the run of the member that made it; None of the agent's own.
        """
        if call_id in self.told:
            return
        speaker, subagent = self._speaker(run)
        yield from self._close(speaker, subagent)
        self.told.add(call_id)
        self.called.append(call_id)
        if speaker.message is None:
            # The message that the call belongs to: the text before it, or one of its own.
            speaker.message = self._run.mint()
            if subagent is None:
                self.said.append(speaker.message)
        tag = {"tool_call_id": call_id, "subagent_run_id": subagent}
        yield ToolCallStartEvent(tool_call_name=name, parent_message_id=speaker.message, **tag)
        yield ToolCallArgsEvent(delta=json.dumps(args or {}, ensure_ascii=False), **tag)
        yield ToolCallEndEvent(**tag)

    def result(self, call_id: str, text: str, run: str | None = None) -> Iterator[BaseEvent]:
        """Tell a call's result, unless that was done."""
        if call_id in self.answered:
            return
        self.answered.add(call_id)
        self.open.discard(call_id)
        yield ToolCallResultEvent(
            message_id=self._run.mint(),
            tool_call_id=call_id,
            content=text,
            role="tool",
            subagent_run_id=self._speaker(run)[1],
        )

    def _given(self, event: BaseEvent) -> tuple[BaseEvent, ...]:
        """What is told besides Agno's events."""
        if isinstance(event, ToolCallResultEvent):
            if event.tool_call_id in self.answered:
                return ()
            self.answered.add(event.tool_call_id)
            self.open.discard(event.tool_call_id)
        return (event,)

    # --- what is said ---

    def _content(self, event: Any) -> Iterator[BaseEvent | str]:
        speaker, subagent = self._speaker(self._run_of(event))
        yield from self._think(speaker, subagent, event.reasoning_content)
        text = event.content
        if not isinstance(text, str) or not text or (subagent is None and self._is_structured):
            return
        if self._is_route and subagent is None and _SENTENCE.fullmatch(text):
            return
        if speaker.text is None:
            yield from self._close(speaker, subagent)
            speaker.text = speaker.message = self._run.mint()
            if subagent is None:
                self.said.append(speaker.text)
            yield TextMessageStartEvent(
                message_id=speaker.text, role="assistant", subagent_run_id=subagent
            )
        yield TextMessageContentEvent(message_id=speaker.text, delta=text, subagent_run_id=subagent)

    def _reasoned(self, event: Any) -> Iterator[BaseEvent]:
        speaker, subagent = self._speaker(self._run_of(event))
        yield from self._think(speaker, subagent, event.reasoning_content)

    def _think(self, speaker: _Speaker, subagent: str | None, text: Any) -> Iterator[BaseEvent]:
        if not isinstance(text, str) or not text:
            return
        if speaker.thought is None:
            yield from self._close(speaker, subagent)
            speaker.thought = self._run.mint()
            yield ReasoningMessageStartEvent(
                message_id=speaker.thought, role="reasoning", subagent_run_id=subagent
            )
        yield ReasoningMessageContentEvent(
            message_id=speaker.thought, delta=text, subagent_run_id=subagent
        )

    def _close(self, speaker: _Speaker, subagent: str | None) -> Iterator[BaseEvent]:
        if speaker.thought is not None:
            yield ReasoningMessageEndEvent(message_id=speaker.thought, subagent_run_id=subagent)
        if speaker.text is not None:
            yield TextMessageEndEvent(message_id=speaker.text, subagent_run_id=subagent)
        speaker.text = speaker.thought = None

    # --- replies, calls, runs ---

    def _asks(self, event: Any) -> Iterator[BaseEvent]:
        speaker, subagent = self._speaker(self._run_of(event))
        yield from self._close(speaker, subagent)
        speaker.message = None

    def _replied(self, event: Any) -> Iterator[BaseEvent]:
        self._run.iteration = (self._run.iteration or 0) + 1
        counted = {
            "inputTokens": event.input_tokens,
            "outputTokens": event.output_tokens,
            "totalTokens": event.total_tokens,
        }
        if any(counted.values()):
            more = {
                "provider": event.model_provider,
                "reasoningTokens": event.reasoning_tokens,
                "cachedInputTokens": event.cache_read_tokens,
                "cacheWriteInputTokens": event.cache_write_tokens,
            }
            known = {name: value for name, value in more.items() if value}
            self._run.usage.append({"model": event.model or "unknown", **counted, **known})
        yield from ()

    def _called(self, event: Any) -> Iterator[BaseEvent]:
        tool, run = event.tool, self._run_of(event)
        if tool.tool_name in DELEGATIONS:
            member = (tool.tool_args or {}).get("member_id")
            self._members.delegate(str(tool.tool_call_id), run, member)
        yield from self.call(str(tool.tool_call_id), str(tool.tool_name), tool.tool_args, run)

    def _completed(self, event: Any) -> Iterator[BaseEvent]:
        tool, text = event.tool, str(event.tool.result)
        if tool.tool_name in DELEGATIONS and _PAUSED in text.lower():
            self.open.add(str(tool.tool_call_id))
            return
        yield from self.result(str(tool.tool_call_id), text, self._run_of(event))

    def _custom(self, event: Any) -> Iterator[BaseEvent]:
        value = to_jsonable_python(event.to_dict(), fallback=str)
        yield CustomEvent(name=type(event).__name__, value=value)

    def _begun(self, event: Any) -> Iterator[BaseEvent]:
        run = self._run_of(event)
        if run is not None:
            team = getattr(event, "team_id", None), getattr(event, "team_name", None)
            member = getattr(event, "agent_id", None) or team[0] or ""
            name = getattr(event, "agent_name", None) or team[1] or ""
            yield from self._members.enter(run, name, member, self._parent_of(event))

    def _ended(self, event: Any) -> Iterator[BaseEvent]:
        run = self._run_of(event)
        if run is not None:
            yield from self._close(*self._speaker(run))
            yield from self._members.leave(run)
        elif event.event.endswith("RunError"):
            self.failure = str(event.content or "it gave no reason")
            self.refused = _CHECKS.get(event.error_type)
        elif event.event.endswith("RunCancelled"):
            self.failure = "it was cancelled"

    def _speaker(self, run: str | None) -> tuple[_Speaker, str | None]:
        if run is None:
            return self._own, None
        return self._others.setdefault(run, _Speaker()), self._members.id_of(run)

    def _is_plain(self, event: Any) -> bool:
        """Whether it is text of the agent's own, and nothing else."""
        # Of each token: without a call of its own.
        is_own = event.run_id is None or event.run_id == self.top
        return (
            is_own
            and type(event.content) is str
            and not (event.reasoning_content or self._is_route)
        )

    def _is_own(self, event: Any) -> bool:
        return event.run_id is None or event.run_id == self.top

    def _run_of(self, event: Any) -> str | None:
        """The run of the member that an event is of, None of the agent's own."""
        return None if self._is_own(event) else str(event.run_id)

    def _parent_of(self, event: Any) -> str | None:
        parent = event.parent_run_id
        return None if parent == self.top else parent


_HANDLERS: Final[Mapping[str, Callable[[Reader, Any], Iterator[BaseEvent | str]]]] = {
    "RunContent": Reader._content,
    "ReasoningContentDelta": Reader._reasoned,
    "ModelRequestStarted": Reader._asks,
    "ModelRequestCompleted": Reader._replied,
    "ToolCallStarted": Reader._called,
    "ToolCallCompleted": Reader._completed,
    "CustomEvent": Reader._custom,
    "RunStarted": Reader._begun,
    "RunContinued": Reader._begun,
    **dict.fromkeys(_OVER, Reader._ended),
}
