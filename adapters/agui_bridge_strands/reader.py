"""What an agent streams, as AG-UI's events."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ReasoningEncryptedValueEvent,
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

from agui_bridge.adapters import Run
from agui_bridge.frameworks.predicted_state import told_anew
from agui_bridge_strands.content import result_text


class Reader:
    """Reads the events of one run.

    Args:
        run: mints ids.
        output: name of the tool by which the model gives its structured output, if it does.
        answered: ids of the calls whose results the client has been told.

    Attributes:
        said: ids of the assistant's messages that were told, in their order.
        called: ids of the calls that were told.
        answered: ids of the calls whose results were, in this run or before.
        known: ids of those whose results were before.
        last: the text of the last reply that was streamed.
        replies: how many replies of models are complete.
    """

    def __init__(self, run: Run, output: str | None, answered: Iterable[str]) -> None:
        self.said: list[str] = []
        self.called: list[str] = []
        self.answered: set[str] = set(answered)
        self.known: frozenset[str] = frozenset(self.answered)
        self.last: str = ""
        self.replies: int = 0
        self._run = run
        self._output = output
        self._message: str | None = None
        self._text: str | None = None
        self._thought: str | None = None
        self._call: str | None = None
        self._is_over = False

    def read(self, event: Any) -> Iterable[BaseEvent | str]:
        """Translate one event of Strands; those of AG-UI are passed on."""
        if isinstance(event, BaseEvent):
            return self._own(event)
        chunk = event.get("event")
        if chunk is None:
            return self._results(event["message"])
        block = chunk.get("contentBlockDelta")
        if block is not None:
            delta = block["delta"]
            if self._text is not None and "text" in delta:
                # Nearly all are: text of the message that is open, which needs no event object.
                self.last += delta["text"]
                return (delta["text"],) if delta["text"] else ()
            return self._delta(delta)
        if "contentBlockStart" in chunk:
            return self._start(chunk["contentBlockStart"].get("start") or {})
        if "contentBlockStop" in chunk or "messageStart" in chunk:
            return self._stop(is_new_reply="messageStart" in chunk)
        if "messageStop" in chunk:
            self.replies += 1
            self._is_over = True
            return self._stop(is_new_reply=False)
        if "redactContent" in chunk:
            return self._redacted(chunk["redactContent"])
        return ()

    def say(self, text: str) -> Iterator[BaseEvent]:
        """Tell a text that nothing streamed."""
        yield from self._stop(is_new_reply=True)
        yield from self._delta({"text": text})
        yield from self.end()

    def end(self) -> Iterable[BaseEvent]:
        """Close what is open at the end."""
        return self._stop(is_new_reply=False)

    # --- a reply of the model ---

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[BaseEvent]:
        if "text" in delta:
            if delta["text"]:
                yield from self._open_text()
                self.last += delta["text"]
                yield TextMessageContentEvent(message_id=self._text or "", delta=delta["text"])
        elif "toolUse" in delta:
            if self._call is not None and delta["toolUse"].get("input"):
                yield ToolCallArgsEvent(
                    tool_call_id=self._call, delta=str(delta["toolUse"]["input"])
                )
        elif thought := (delta.get("reasoningContent") or {}).get("text"):
            own, events = self._open_thought()
            yield from events
            yield ReasoningMessageContentEvent(message_id=own, delta=thought)
        elif hidden := (delta.get("reasoningContent") or {}).get("redactedContent"):
            own, events = self._open_thought()
            yield from events
            yield ReasoningEncryptedValueEvent(
                subtype="message",
                entity_id=own,
                encrypted_value=b64encode(hidden).decode() if isinstance(hidden, bytes) else hidden,
            )

    def _open_thought(self) -> tuple[str, list[BaseEvent]]:
        if self._thought is not None:
            return self._thought, []
        own = self._thought = self._run.mint()
        return own, [ReasoningMessageStartEvent(message_id=own, role="reasoning")]

    def _open_text(self) -> Iterator[BaseEvent]:
        if self._text is None:
            yield from self._begin()
            self._text = self._message = self._run.mint()
            self.said.append(self._text)
            yield TextMessageStartEvent(message_id=self._text, role="assistant")

    def _begin(self) -> Iterator[BaseEvent]:
        yield from self._stop(is_new_reply=self._is_over)
        self._is_over = False

    def _start(self, start: Mapping[str, Any]) -> Iterator[BaseEvent]:
        yield from self._begin()
        use = start.get("toolUse")
        if use is None or use["name"] == self._output:
            return
        if self._message is None:
            # The message that the call belongs to: the text before it, or one of its own.
            self._message = self._run.mint()
            self.said.append(self._message)
        self._call = use["toolUseId"]
        self.called.append(use["toolUseId"])
        yield ToolCallStartEvent(
            tool_call_id=use["toolUseId"],
            tool_call_name=use["name"],
            parent_message_id=self._message,
        )

    def _stop(self, *, is_new_reply: bool) -> Iterator[BaseEvent]:
        if self._text is not None:
            yield TextMessageEndEvent(message_id=self._text)
        if self._thought is not None:
            yield ReasoningMessageEndEvent(message_id=self._thought)
        if self._call is not None:
            yield ToolCallEndEvent(tool_call_id=self._call)
        self._text = self._thought = self._call = None
        if is_new_reply:
            self._message, self.last = None, ""

    # --- words that a guardrail of the model's provider puts others in the place of ---

    def _redacted(self, told: Mapping[str, Any]) -> Iterator[BaseEvent]:
        """Tell the conversation as Strands has it then, so that the thread keeps nothing else."""
        yield from self.end()
        thread = self._run.conversation()
        texts: dict[str, str] = {}
        if reply := told.get("redactAssistantContentMessage"):
            texts |= {own: reply for own in (self._message,) if own is not None}
        if given := told.get("redactUserContentMessage"):
            texts |= dict.fromkeys(self._asked_with(thread), given)
        if texts:
            yield told_anew(
                [{**m, "content": texts[m["id"]]} if m["id"] in texts else m for m in thread]
            )

    def _asked_with(self, thread: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """Ids of what the model was asked with last: results, else what the user said."""
        before = [m for m in thread if m["id"] != self._message and m["role"] != "reasoning"]
        for message in reversed(before):
            if message["role"] == "tool":
                yield str(message["id"])
            else:
                if message["role"] == "user":
                    yield str(message["id"])
                return

    # --- calls ---

    def _own(self, event: BaseEvent) -> Iterator[BaseEvent]:
        """What the guard tells."""
        if isinstance(event, ToolCallResultEvent):
            if event.tool_call_id in self.answered:
                return
            self.answered.add(event.tool_call_id)
        elif isinstance(event, ToolCallStartEvent):
            self.called.append(event.tool_call_id)
        yield event

    def _results(self, message: Mapping[str, Any]) -> Iterator[BaseEvent]:
        """Results that no tool gave: of calls that Strands itself could make nothing of."""
        for block in message["content"]:
            result = block.get("toolResult")
            if result is None or result["toolUseId"] not in self.called:
                continue
            yield from self._own(
                ToolCallResultEvent(
                    message_id=self._run.mint(),
                    tool_call_id=result["toolUseId"],
                    content=result_text(result),
                    role="tool",
                )
            )
