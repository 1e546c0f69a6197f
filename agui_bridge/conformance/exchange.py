"""One request to an endpoint, everything that came back, byte by byte, and both as evidence."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from agui_bridge.client import ClientError, open_exchange
from agui_bridge.conformance.verdicts import expect
from agui_bridge.protocol.wire.sse import Decoder

Event = dict[str, Any]


@dataclass
class Answer:
    """What an endpoint answered to one input; while it streams, what came so far.

    Attributes:
        sent: the input.
        status: of HTTP.
        headers: of the response.
        raw: every byte of the body.
        events: what the frames hold, as far as it is JSON objects.
        junk: data of frames that is no JSON object.
        broken: why the stream broke off, if it did.
    """

    sent: Mapping[str, Any]
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytearray = field(default_factory=bytearray)
    events: list[Event] = field(default_factory=list)
    junk: list[str] = field(default_factory=list)
    broken: str | None = None
    _decoder: Decoder = field(default_factory=Decoder)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body."""
        self.raw += chunk
        for frame in self._decoder.feed(chunk):
            event = frame.wire_event()
            if event is None:
                self.junk.append(frame.data)
            else:
                self.events.append(event)

    @property
    def kinds(self) -> list[str]:
        """The types of the events."""
        return [str(event.get("type")) for event in self.events]

    def of(self, *kinds: str) -> list[Event]:
        """The events of some types."""
        return [event for event in self.events if event.get("type") in kinds]

    def calls(self, *kinds: str) -> list[Any]:
        """The ids of the tool calls that the events of some types name, in order."""
        return [event.get("toolCallId") for event in self.of(*kinds)]

    @property
    def begun(self) -> dict[Any, Any]:
        """The names of the tool calls that it began, by their ids; chunks alone may tell one."""
        events = self.of("TOOL_CALL_START", "TOOL_CALL_CHUNK")
        named = [event for event in events if event.get("toolCallName")]
        return {event.get("toolCallId"): event["toolCallName"] for event in named}

    def arguments(self, call: Any) -> dict[str, Any] | None:
        """What a tool call was streamed with; None if it was not, or not as a JSON object."""
        events = self.of("TOOL_CALL_ARGS", "TOOL_CALL_CHUNK")
        pieces = [str(e.get("delta") or "") for e in events if e.get("toolCallId") == call]
        return _object_in("".join(pieces))

    @property
    def error(self) -> str | None:
        """The HTTP status or the code of RUN_ERROR, when it is an error."""
        if self.status >= 400:
            return f"HTTP {self.status}"
        errors = self.of("RUN_ERROR")
        return f"RUN_ERROR {errors[-1].get('code', '')}".strip() if errors else None

    @property
    def outcome(self) -> str | None:
        """The outcome of the last run that finished, `success` where it is absent."""
        finished = self.of("RUN_FINISHED")
        if not finished:
            return None
        outcome = finished[-1].get("outcome")
        found = outcome.get("type") if isinstance(outcome, dict) else outcome
        return "success" if found is None else str(found)

    @property
    def interrupts(self) -> list[Event]:
        """The interrupts of the last outcome that has some."""
        for event in reversed(self.of("RUN_FINISHED")):
            outcome = event.get("outcome")
            if isinstance(outcome, dict) and outcome.get("type") == "interrupt":
                return [i for i in outcome.get("interrupts") or [] if isinstance(i, dict)]
        return []

    @property
    def succeeded(self) -> bool:
        """Whether the run ended, with success and without an error."""
        return self.error is None and self.outcome == "success" and self.broken is None

    @property
    def text(self) -> str:
        """All text that was streamed."""
        return "".join(str(e.get("delta", "")) for e in self.of("TEXT_MESSAGE_CONTENT"))

    def told(self) -> str:
        """How it ended, for people."""
        end = self.error or (f"the outcome {self.outcome}" if self.outcome else "no terminal event")
        return f"{end}, then {self.broken}" if self.broken else end

    @property
    def custom(self) -> list[str]:
        """The names of its CUSTOM events, each once: some tell a question so."""
        return list(dict.fromkeys(str(event.get("name")) for event in self.of("CUSTOM")))

    def expect_success(self, what: str = "it") -> None:
        """Fail the check unless the run succeeded.

        Raises:
            Failed: it did not; `what` is said to have ended so.
        """
        expect(self.succeeded, f"{what} ended with {self.told()}")

    def expect_error(self, what: str = "it") -> None:
        """Fail the check unless the input was answered with an error.

        Raises:
            Failed: it was not; `what` is said to have ended so.
        """
        expect(self.error is not None, f"{what} ended with {self.told()}")

    def expect_unfinished(self, what: str) -> None:
        """Fail the check unless it is an error, or the questions again: never success.

        Raises:
            Failed: it is neither; `what` is said to have ended so.
        """
        asked_again = self.outcome == "interrupt"
        expect(self.error is not None or asked_again, f"{what} ended with {self.told()}")


def asks_about_a_call(interrupt: Mapping[str, Any]) -> bool:
    """Whether an interrupt says that it is about a tool call; others are questions of their own."""
    return interrupt.get("reason") == "tool_call" or interrupt.get("toolCallId") is not None


def shown_call(messages: Iterable[Event], call: Any) -> tuple[Any, dict[str, Any] | None] | None:
    """The name and the arguments of a tool call in messages; None if none of them has the call."""
    for message in messages:
        for shown in message.get("toolCalls") or ():
            if shown.get("id") == call:
                function = shown.get("function") or {}
                return function.get("name"), _object_in(function.get("arguments"))
    return None


def _object_in(text: Any) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def run_input(thread: str, messages: Sequence[Event], **members: Any) -> dict[str, Any]:
    """A RunAgentInput as AG-UI's own 1.0 client sends it; a member that is None is left out."""
    body = {
        "threadId": thread,
        "runId": str(uuid.uuid4()),
        "protocolVersion": "1.0",
        "state": {},
        "messages": list(messages),
        "tools": [],
        "context": [],
        "forwardedProps": {},
        **members,
    }
    return {key: value for key, value in body.items() if value is not None}


@asynccontextmanager
async def open_run(
    client: httpx.AsyncClient, url: str, body: Any, headers: Mapping[str, str]
) -> AsyncIterator[tuple[Answer, AsyncIterator[bytes]]]:
    """Begin a run. Leaving the block closes the connection, whatever is still to come.

    Yields:
        The answer, and the pieces of the body as they are taken in.

    Raises:
        ClientError: the connection can't be made, or breaks.
    """
    answer = Answer(body if isinstance(body, dict) else {})
    async with open_exchange(client, url, body, headers=headers) as exchange:
        answer.status, answer.headers = exchange.status, exchange.headers

        async def pieces() -> AsyncIterator[bytes]:
            async for chunk in exchange.chunks():
                answer.feed(chunk)
                yield chunk

        yield answer, pieces()


async def post_run(
    client: httpx.AsyncClient, url: str, body: Any, headers: Mapping[str, str]
) -> Answer:
    """Run the agent and take the whole stream, or as much of it as came."""
    answer = Answer(body if isinstance(body, dict) else {})
    try:
        async with open_run(client, url, body, headers) as (answer, pieces):
            async for _ in pieces:
                pass
    except ClientError as error:
        answer.broken = str(error)
    return answer


# --- the requests and events in question, short enough for a report ---

_EXCHANGES: Final = 2
_TEXT: Final = 80
_ITEMS: Final = 3
_LINE: Final = 300
_LEFT_OUT: Final = frozenset({"timestamp", "rawEvent"})


def shortened(what: str, value: Any) -> str:
    """One line that shows a JSON value: long texts, lists and lines are cut, and say so.

    Args:
        what: goes before it.
        value: an event, an input, a part of one.
    """
    line = f"{what} {json.dumps(_cut(value), ensure_ascii=False)}"
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"


def last_exchanges(answers: Sequence[Answer]) -> tuple[str, ...]:
    """What was sent last on the thread that was used last, and what came back.

    If that was one request alone, the one before it on another thread is told too.

    Args:
        answers: of one check, on any threads, in the order in which they ended.
    """
    if not answers:
        return ()
    thread = answers[-1].sent.get("threadId")
    own = [answer for answer in answers if answer.sent.get("threadId") == thread]
    told = (own if len(own) >= _EXCHANGES else answers)[-_EXCHANGES:]
    return tuple(line for answer in told for line in _lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    yield shortened("sent", _said(answer.sent))
    ends = answer.of("RUN_FINISHED", "RUN_ERROR") or answer.events
    if answer.status >= 400:
        body = bytes(answer.raw).decode(errors="replace")
        yield shortened(f"came HTTP {answer.status}", body)
    elif ends:
        yield shortened("came", ends[-1])
    else:
        yield f"came HTTP {answer.status}, no event" if answer.status else "came nothing"
    if answer.broken:
        yield f"then {answer.broken}"


def _said(sent: Mapping[str, Any]) -> Any:
    """The answers of an input, or the message that it ends with."""
    if "resume" in sent:
        return {"resume": sent["resume"]}
    messages = sent.get("messages")
    if isinstance(messages, list) and messages:
        return {"message": messages[-1], **_declared(sent)}
    return dict(sent)


def _declared(sent: Mapping[str, Any]) -> dict[str, Any]:
    """What a check of versions changes in an input."""
    version = sent.get("protocolVersion")
    return {} if version == "1.0" else {"protocolVersion": version}


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _TEXT else f"{value[:_TEXT]}…"
    if isinstance(value, Mapping):
        return {key: _cut(item) for key, item in value.items() if key not in _LEFT_OUT}
    if isinstance(value, list | tuple):
        left = len(value) - _ITEMS
        return [*map(_cut, value[:_ITEMS]), *([f"… {left} more"] if left > 0 else [])]
    return value
