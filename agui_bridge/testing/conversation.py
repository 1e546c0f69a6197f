"""A client of the bridge under test: it sends inputs and judges every stream that comes back."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from ag_ui.core import Event
from pydantic import TypeAdapter, ValidationError

from agui_bridge.bridge.bridge import Bridge
from agui_bridge.engine.engine import Engine
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.records import Json, Principal, ThreadKey
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.protocol.wire.sse import Decoder
from agui_bridge.stores.base import Store

# --- how a check says that an adapter failed it ---


class Failed(AssertionError):
    """An adapter does not do what a check says; the message tells what was seen."""


def expect(holds: bool, seen: str) -> None:
    """Fail the check unless something holds.

    Raises:
        Failed: it does not; with what was seen instead.
    """
    if not holds:
        raise Failed(seen)


_EVENT: TypeAdapter[Any] = TypeAdapter(Event)
_AFTER_THE_END = frozenset({"AGUI004", "AGUI005"})
"""A refusal's RUN_ERROR after the restated RUN_FINISHED, which AG-UI 1.0 allows."""


class Stream:
    """One run's stream, while it is read and after.

    Attributes:
        raw: every byte so far.
        events: the events in it.
    """

    def __init__(self, pipe: Pipe, patience: float) -> None:
        self.raw: bytearray = bytearray()
        self.events: list[WireEvent] = []
        self._pipe = pipe
        self._patience = patience
        self._decoder = Decoder()

    async def until(self, kind: str) -> bool:
        """Read until there is an event of a type; False when the stream ends without one."""
        while not any(event["type"] == kind for event in self.events):
            if not await self._step():
                return False
        return True

    async def rest(self) -> Stream:
        """Read to the end, which must be a valid one."""
        while await self._step():
            pass
        _validate(self.events)
        return self

    async def _step(self) -> bool:
        try:
            async with asyncio.timeout(self._patience):
                chunk = await self._pipe.read()
        except TimeoutError:
            kinds = [event["type"] for event in self.events]
            raise Failed(
                f"nothing came for {self._patience:g} s, and the run does not end; so far: {kinds}"
            ) from None
        self.raw += chunk
        self.events += [json.loads(frame.data) for frame in self._decoder.feed(chunk)]
        return bool(chunk)

    @property
    def ending(self) -> str:
        """How it ended: the outcome's type, or the code of its error."""
        last = self.events[-1]
        return str(last["code"] if last["type"] == "RUN_ERROR" else last["outcome"]["type"])

    @property
    def fault(self) -> str:
        """What its error says to clients; "" when it has none."""
        last = self.events[-1]
        return str(last["message"]) if last["type"] == "RUN_ERROR" else ""

    @property
    def asks(self) -> list[dict[str, Json]]:
        """The interrupts that it ended with, or restated."""
        ends = [event for event in self.events if event["type"] == "RUN_FINISHED"]
        return list(ends[-1]["outcome"].get("interrupts", [])) if ends else []

    def entries(self, *payloads: Json) -> list[Json]:
        """The entries of a resume that answer what it asked, in its order.

        Args:
            *payloads: one for each question.

        Raises:
            Failed: there are not so many questions.
        """
        expect(len(self.asks) == len(payloads), f"it asked {len(self.asks)} questions")
        return [
            {"interruptId": ask["id"], "status": "resolved", "payload": payload}
            for ask, payload in zip(self.asks, payloads, strict=True)
        ]

    @property
    def text(self) -> str:
        """All streamed text."""
        return "".join(e["delta"] for e in self.events if e["type"] == "TEXT_MESSAGE_CONTENT")

    def count(self, kind: str, call_id: str) -> int:
        """How many events of a type name a tool call."""
        return sum(e["type"] == kind and e["toolCallId"] == call_id for e in self.events)


class Conversation:
    """One thread, by a client that sends only what is new.

    Args:
        engine: of the bridge.
        agent: whose thread it is.
        thread: its id.
        patience: seconds that anything may take.
        principal: who talks.
        ids: what its messages' ids begin with; another one for each conversation on one thread.

    Attributes:
        thread: its id.
        context: what the page shows, sent with each input: AG-UI's `description` and `value`.
        forwarded: sent as `forwardedProps` with each input.
    """

    def __init__(
        self,
        engine: Engine,
        agent: Agent,
        thread: str,
        patience: float,
        *,
        principal: Principal | None = None,
        ids: str = "user",
    ) -> None:
        self.thread = thread
        self.context: Sequence[Json] = ()
        self.forwarded: Mapping[str, Json] = {}
        self._principal = principal or Principal()
        self._ids = ids
        self._engine = engine
        self._agent = agent
        self._patience = patience
        self._numbers = itertools.count(1)
        self._messages = itertools.count(1)

    def begin(
        self,
        text: Json = None,
        resume: Sequence[Json] | None = None,
        *,
        tools: Sequence[Json] = (),
        state: Json = None,
    ) -> Stream:
        """Send an input; its stream is read by the caller.

        Args:
            text: a user's message, as text or content parts; None sends none.
            resume: entries that answer or cancel questions, as a client sends them.
            tools: the frontend's, as AG-UI tools: `name`, `description`, `parameters`.
            state: the frontend's shared state; None sends none.
        """
        messages = []
        if text is not None:
            number = next(self._messages)
            messages = [{"id": f"{self._ids}-{number}", "role": "user", "content": text}]
        return self._submit(messages, resume, tools, state)

    async def send(self, messages: Sequence[Json], *, newest: str | None = None) -> Stream:
        """Send a whole list of messages, as a client does that goes back, and read what comes.

        Args:
            messages: AG-UI messages as JSON.
            newest: the sign: id of the newest message of the user or the assistant that the client
                had before; without it no tool call is taken back.
        """
        return await self._submit(messages, newest=newest).rest()

    async def messages(self) -> list[dict[str, Any]]:
        """The thread's messages as they are stored: AG-UI messages as JSON, in order."""
        key = ThreadKey(self._principal.scope, self._agent.name, self.thread)
        loaded = await self._engine.store.load(key, messages=True)
        return [dict(stored.message) for stored in loaded.messages]

    def _submit(
        self,
        messages: Sequence[Json],
        resume: Sequence[Json] | None = None,
        tools: Sequence[Json] = (),
        state: Json = None,
        newest: str | None = None,
    ) -> Stream:
        number = next(self._numbers)
        body: dict[str, Any] = {
            "threadId": self.thread,
            "runId": f"run-{number}",
            "protocolVersion": "1.0",
            "messages": list(messages),
        }
        if resume is not None:
            body["resume"] = resume
        if tools:
            body["tools"] = list(tools)
        if state is not None:
            body["state"] = state
        if self.context:
            body["context"] = list(self.context)
        props = dict(self.forwarded)
        if newest is not None:
            props["agui_bridge"] = {"newest": newest}
        if props:
            body["forwardedProps"] = props
        call = Submission(self._agent, self._principal, parse_input(body), on_disconnect="continue")
        return Stream(self._engine.submit(call)[0], self._patience)

    async def say(self, text: str, *, tools: Sequence[Json] = (), state: Json = None) -> Stream:
        """Send a message and read what comes back.

        Args:
            text: the message.
            tools: as `begin` takes them.
            state: the same.
        """
        return await self.begin(text, tools=tools, state=state).rest()

    async def answer(self, asked: Stream, *payloads: Json) -> Stream:
        """Answer what a stream asked, in its order, and read what comes back.

        Args:
            asked: the stream.
            *payloads: one for each question.
        """
        return await self.begin(resume=asked.entries(*payloads)).rest()

    async def cancel(self, asked: Stream) -> Stream:
        """Cancel what a stream asked, and read what comes back.

        Args:
            asked: the stream.
        """
        cancelled = [{"interruptId": ask["id"], "status": "cancelled"} for ask in asked.asks]
        return await self.begin(resume=cancelled).rest()


def _validate(events: Sequence[Mapping[str, Any]]) -> None:
    """Have the field's own types and a validator that is not ours judge a whole stream."""
    try:
        from ag_ui_validate import create_validator
    except ImportError:
        raise ConfigurationError(
            'The checks need a validator. Install it: pip install "agui-bridge[testing]"'
        ) from None
    kinds = [event["type"] for event in events]
    validator = create_validator()
    for event in events:
        try:
            _EVENT.validate_python(event)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise Failed(f"a {event['type']} on the wire is malformed: {first}") from None
        validator.feed(event)
    validator.finalize()
    refused = kinds[-2:] == ["RUN_FINISHED", "RUN_ERROR"]
    found = [
        f"{finding.rule}: {finding.message}"
        for finding in validator.report().diagnostics
        if finding.severity == "error" and not (refused and finding.rule in _AFTER_THE_END)
    ]
    expect(not found, f"the stream breaks the protocol: {'; '.join(found)} in {kinds}")


class Talk(Conversation):
    """One thread with an agent; `talk` makes it.

    `say`, `answer` and `cancel` send an input and read its stream to the end, `begin` leaves the
    reading to you. Every stream is held to the protocol.
    """

    def __init__(
        self,
        bridge: Bridge,
        engine: Engine,
        agent: str,
        thread: str,
        patience: float,
        principal: Principal,
    ) -> None:
        found = bridge.find(agent)
        ids = f"user-{secrets.token_hex(4)}"
        super().__init__(engine, found, thread, patience, principal=principal, ids=ids)
        self._bridge = bridge
        self._store = engine.store
        self._key = ThreadKey(principal.scope, agent, thread)

    async def stop(self, *, force: bool = False, timeout: float = 5.0) -> StopResult:
        """Stop what the thread does, and wait until it is over.

        Args:
            force: cancel at once instead of letting a running tool finish.
            timeout: seconds that a graceful stop may take.
        """
        return await self._bridge.stop(
            self._key.agent,
            self.thread,
            force=force,
            timeout=timeout,
            principal=self._principal,
        )

    async def state(self) -> Json:
        """The state that the agent shares with its frontend."""
        loaded = await self._store.load(self._key)
        return loaded.record.state if loaded.record is not None else None


@contextlib.asynccontextmanager
async def talk(
    bridge: Bridge,
    agent: str,
    *,
    thread: str = "test",
    store: str | Store = "memory:",
    principal: Principal | None = None,
    patience: float = 10.0,
) -> AsyncIterator[Talk]:
    """Open a bridge on a store of its own, and talk to one of its agents.

    ::

        async def test_nothing_is_deleted_unasked():
            async with talk(bridge, "ops") as ops:
                asked = await ops.say("Clean up the users")
                assert asked.asks[0]["message"] == "Delete 1234 rows of users?"
                done = await ops.answer(asked, {"approved": True})
                assert done.text == "Done: 1234 rows of users deleted."

    The bridge is closed at the end, and has its own store and settings again; what still runs then
    has `patience` seconds to end. Use a file
    (`sqlite:///{tmp_path}/test.db`) twice to see what survives a restart.

    Args:
        bridge: not open yet.
        agent: the name of the agent.
        thread: the id of the thread.
        store: what takes the place of the bridge's store meanwhile.
        principal: who talks; the default principal by default.
        patience: seconds that a stream may be silent.

    Raises:
        ConfigurationError: the bridge is open, or the validator (extra `testing`) is missing.
        Refused: there is no such agent.
        Failed: while you read: a stream is silent for too long, or breaks the protocol.
    """
    own, settings = bridge.store, bridge.settings
    bridge.store = store
    grace = min(settings.shutdown_grace, patience)
    bridge.settings = dataclasses.replace(settings, shutdown_grace=grace)
    try:
        engine = await bridge.open()
        yield Talk(bridge, engine, agent, thread, patience, principal or Principal())
    finally:
        await bridge.aclose()
        bridge.store, bridge.settings = own, settings
