"""One session: a thread of an agent, as one client prompts it, answers for it and cancels it.

A turn is a prompt and all that follows from it: runs that end by asking, questions that the client
is asked one after the other, and the runs that carry the answers out. Each answer is handed in as
soon as it is given, so that it is kept whatever happens to the process, the client or the others.

A question may be answered elsewhere while this client is asked. Then the request is withdrawn, and
the client is told what comes of the answer. A session that was loaded is asked what waits, outside
of any turn; the next prompt takes the question over.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from agui_bridge.acp.peer import INVALID_REQUEST, NOT_FOUND, Peer, RpcError
from agui_bridge.acp.questions import Updates, elsewhere, is_theirs, request_of
from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.waiting import wait_until
from agui_bridge.errors import Refused, StoreError
from agui_bridge.inbox.answering import SINGLY
from agui_bridge.protocol.contract.requests import AskAgain
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    Json,
    Principal,
    RecordedAnswer,
    ThreadKey,
)
from agui_bridge.protocol.wire.sse import Decoder
from agui_bridge.stdio.lines import Running

_MOST_FAULTS: Final = 5
"""Answers in a row that do not fit their question, before it is only told."""

_USAGE: Final = {
    "totalTokens": "totalTokens",
    "inputTokens": "inputTokens",
    "outputTokens": "outputTokens",
    "reasoningTokens": "thoughtTokens",
    "cachedInputTokens": "cachedReadTokens",
    "cacheWriteInputTokens": "cachedWriteTokens",
}
"""AG-UI's names of what was used, and ACP's."""


class Readable(Protocol):
    """A pipe, as it is read here."""

    async def read(self) -> bytes:
        """The next bytes; none at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Client:
    """Who is at the other end.

    Attributes:
        peer: how it is spoken to.
        principal: for whom it acts.
        forms: whether it takes forms.
    """

    peer: Peer
    principal: Principal
    forms: bool


class Cancelled(Exception):
    """The turn is over, because the client cancelled it, or dismissed a question."""


class Prompted(Exception):
    """A prompt takes over what is asked outside of turns."""


class Session:
    """A thread, for one client.

    Args:
        engine: carries out what is prompted.
        agent: is prompted.
        client: prompts.
        thread: the thread's id, which is the session's.
        folder: where the client works, told to the agent as context.

    Attributes:
        running: what is under way for this session, where something is.
    """

    def __init__(
        self, engine: Engine, agent: Agent, client: Client, thread: str, folder: str
    ) -> None:
        self._engine = engine
        self._agent = agent
        self._client = client
        self._thread = thread
        self._folder = folder
        self._updates = Updates()
        self._used: dict[str, int] = {}
        self._turn = asyncio.Lock()
        self._in_turn = self._dismissed = False
        self._cancel = asyncio.Event()
        self._prompts = asyncio.Event()
        self._over = asyncio.Event()
        self._unaskable: set[str] = set()
        self._told: set[str] = set()
        self.running: Running | None = None

    @property
    def key(self) -> ThreadKey:
        """The thread."""
        return ThreadKey(self._client.principal.scope, self._agent.name, self._thread)

    @property
    def is_busy(self) -> bool:
        """Whether a turn is going on, or an answer is being carried out."""
        return self._in_turn or self.running is not None

    # --- what the client asks for ---

    def begin(self) -> None:
        """Take a prompt that has come; `prompt` carries it out.

        Raises:
            RpcError: another one is being carried out.
        """
        if self._in_turn:
            raise RpcError(INVALID_REQUEST, "A turn of this session is going on: cancel it first.")
        self._in_turn, self._dismissed = True, False
        self._cancel.clear()
        self._prompts.set()

    async def prompt(self, text: str) -> dict[str, Json]:
        """Carry a prompt out, to the end of its turn.

        Args:
            text: what the client says.

        Raises:
            RpcError: the run failed, or was refused.
            Refused: the same, before it began.
            StoreUnavailable: the store did not answer.
        """
        try:
            async with self._turn:
                self._prompts.clear()
                self._used = {}
                self._told.clear()
                message = {"id": mint(), "role": "user", "content": text}
                self._updates.said(message["id"], text)
                with contextlib.suppress(Cancelled):
                    await self._converse(message)
                    return {"stopReason": "end_turn", **self._usage()}
                await self._stop()
                return {"stopReason": "cancelled", **self._usage()}
        finally:
            self._in_turn = False

    def cancel(self) -> bool:
        """Cancel the turn; whether there is none, and a question that was dismissed is to stop."""
        if self._in_turn:
            self._cancel.set()
        return self._dismissed and not self._in_turn

    async def withdraw(self) -> None:
        """Stop what waits after its turn."""
        async with self._turn:
            self._cancel.set()
            await self._stop()

    def end(self) -> None:
        """Ask no more: what waits goes on waiting."""
        self._over.set()

    async def load(self, *, replay: bool) -> None:
        """Tell the client the conversation.

        Args:
            replay: whether it is told; else it is only noted as told.

        Raises:
            RpcError: there is no such thread.
        """
        if (await self._engine.store.load(self.key)).record is None:
            raise RpcError(NOT_FOUND, "There is no such session.")
        self._updates = Updates()
        async with contextlib.aclosing(self._shown()) as events:
            async for event in events:
                for update in self._updates.of_event(event):
                    if replay:
                        await self._tell(update)
                if event["type"] in ("MESSAGES_SNAPSHOT", "RUN_ERROR"):
                    return

    async def go_on(self) -> None:
        """Tell what still runs on a session that was loaded, and ask what waits."""
        if self._in_turn:
            return
        async with self._turn:
            with contextlib.suppress(Prompted, Cancelled, RpcError, Refused, StoreError):
                await self._follow()
                await self._converse(None)

    # --- a turn ---

    async def _converse(self, message: Mapping[str, Json] | None) -> None:
        """See everything through until nothing is left for this client to do.

        Args:
            message: what the client says; None asks what waits.
        """
        unheard = message
        fault: str | None = None
        faults = 0
        if message is not None:
            unheard = None if await self._hear(message) else message
        while True:
            ask = await self._next()
            if ask is None:
                if unheard is None:
                    return
                if await self._waits():
                    await self._say("Your message was not sent: the answer is waited for first.")
                    return
                unheard = None if await self._hear(unheard) else message
                continue
            answer = await self._ask(ask, fault)
            fault = None
            if answer is None:
                await self._follow()
                continue
            fault = await self._answer(ask, answer)
            faults = faults + 1 if fault is not None else 0
            if faults >= _MOST_FAULTS:
                self._unaskable.add(ask.id)

    async def _hear(self, message: Mapping[str, Json]) -> bool:
        """Hand a message in; whether the agent has it, and no question was in its way."""
        last, stream = await self._run({"messages": [message], "context": self._context()})
        if last["type"] != "RUN_ERROR":
            return not isinstance(stream.ruling, AskAgain)
        if last["code"] == "INTERRUPT_PENDING":
            return False
        raise RpcError.of(last["code"], last["message"])

    async def _answer(self, ask: Interrupt, answer: RecordedAnswer) -> str | None:
        """Hand an answer in; gives what was wrong with it, where it is to be given anew."""
        entry: dict[str, Json] = {"interruptId": ask.id, "status": answer.status}
        if answer.status == "resolved":
            entry["payload"] = answer.payload
        last, _ = await self._run({"messages": [], "resume": [entry]})
        if last["type"] != "RUN_ERROR":
            return None
        code, told = last["code"], last["message"]
        if code == "INVALID_RESUME_PAYLOAD":
            return str(told)
        if code.startswith("INTERRUPT_") or code in ("NOT_AN_APPROVER", "SELF_APPROVAL"):
            # It was decided elsewhere, or in the meantime: what came of it is told below.
            await self._say(str(told))
            return None
        raise RpcError.of(code, told)

    async def _next(self) -> Interrupt | None:
        """The next question that this client can be asked; the others are told, once each."""
        loaded = await self._engine.store.load(self.key)
        by_message = self._agent.settings.auto_resume != "off"
        for ask in loaded.waiting:
            if ask.id in self._unaskable or not is_theirs(ask, self._client.principal):
                continue
            if request_of(ask, forms=self._client.forms) is not None:
                return ask
        for ask in loaded.waiting:
            words = elsewhere(ask, self._client.principal, by_message=by_message)
            if words not in self._told:
                self._told.add(words)
                await self._say(words)
        return None

    async def _waits(self) -> bool:
        return bool((await self._engine.store.load(self.key)).waiting)

    # --- questions ---

    async def _ask(self, ask: Interrupt, fault: str | None) -> RecordedAnswer | None:
        """Ask the client; None where somebody else has answered meanwhile, or it can't be asked.

        Raises:
            Cancelled: the client cancelled, or dismissed the question.
            Prompted: a prompt takes it over.
            RpcError: the process ends.
        """
        request = request_of(ask, forms=self._client.forms, fault=fault)
        if self._prompts.is_set():
            raise Prompted
        if request is None:
            self._unaskable.add(ask.id)
            return None
        if ask.tool_call is not None:
            self._updates.asked(ask.tool_call.id)
        params = {"sessionId": self._thread, **request.params}
        asked = asyncio.ensure_future(self._client.peer.request(request.method, params))
        moved = asyncio.ensure_future(self._moved(ask))
        cancelled = asyncio.ensure_future(self._cancel.wait())
        prompted = asyncio.ensure_future(self._prompts.wait())
        over = asyncio.ensure_future(self._over.wait())
        ways: tuple[asyncio.Future[Any], ...] = (asked, moved, cancelled, prompted, over)
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            if cancelled.done():
                raise Cancelled
            if asked.done():
                try:
                    answer = request.answer(asked.result())
                except RpcError:
                    # It does not know such requests.
                    self._unaskable.add(ask.id)
                    return None
                if answer is None:
                    self._dismissed = True
                    raise Cancelled
                return answer
            if prompted.done():
                raise Prompted
            if over.done():
                raise RpcError.of("SHUTTING_DOWN")
            moved.result()
            return None
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _moved(self, shown: Interrupt) -> None:
        """Wait until a question is no longer the one that was shown."""

        def changed(seen: Loaded) -> bool:
            ask = next((each for each in seen.waiting if each.id == shown.id), None)
            return ask is None or (ask.votes, ask.rule) != (shown.votes, shown.rule)

        await wait_until(self._engine.store, self.key, changed)

    # --- runs ---

    async def _run(self, body: Mapping[str, Json]) -> tuple[WireEvent, EventStream]:
        """Carry an input out; gives the end of its stream.

        Raises:
            Cancelled: the client cancelled meanwhile.
        """
        whole = {"threadId": self._thread, "runId": mint(), "protocolVersion": "1.0", **body}
        parsed = parse_input(whole, self._agent.settings.input_limits, "ag-ui")
        submission = Submission(
            self._agent,
            self._client.principal,
            replace(parsed, dialect=SINGLY),
            refusals="error",
            via="acp",
        )
        running = self.running = Running(self._engine, submission)
        stopping = asyncio.ensure_future(self._stop_when_cancelled(running))
        try:
            async for event in _events(running.pipe, running):
                for update in self._updates.of_event(event):
                    await self._tell(update)
        finally:
            running.begun.set()
            running.pipe.detach()
            self.running = None
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)
        if self._cancel.is_set():
            raise Cancelled
        last = running.stream.terminal
        if last is None:
            raise RpcError.of("SHUTTING_DOWN")
        self._use(last.get("usage") or ())
        return last, running.stream

    async def _stop_when_cancelled(self, running: Running) -> None:
        await self._cancel.wait()
        await running.begun.wait()
        with contextlib.suppress(Refused):
            await self._engine.stop(self.key, principal=self._client.principal)

    async def _stop(self) -> None:
        """Withdraw what waits, where the client has cancelled and may; tell what came of it."""
        if not self._cancel.is_set():
            return
        self._dismissed = False
        try:
            await self._engine.stop(self.key, principal=self._client.principal)
        except Refused as refusal:
            await self._say(refusal.message)
        await self._follow()

    async def _follow(self) -> None:
        """Tell what somebody else's input comes to."""
        async with contextlib.aclosing(self._shown()) as events:
            async for event in events:
                for update in self._updates.of_event(event):
                    await self._tell(update)

    async def _shown(self) -> AsyncGenerator[WireEvent, None]:
        """The thread as it is, and what runs on it, to the end."""
        body = {"threadId": self._thread, "runId": mint(), "protocolVersion": "1.0", "messages": []}
        parsed = parse_input(body, self._agent.settings.input_limits, "ag-ui")
        submission = Submission(self._agent, self._client.principal, parsed)
        pipe, _ = show_thread(self._engine, submission)
        try:
            async for event in _events(pipe):
                yield event
        finally:
            pipe.detach()

    # --- what the client is told ---

    async def _tell(self, update: Mapping[str, Json]) -> None:
        params = {"sessionId": self._thread, "update": update}
        await self._client.peer.notify("session/update", params)

    async def _say(self, text: str) -> None:
        """Tell the client's user something that the agent has not said."""
        content = {"type": "text", "text": f"\n\n{text}"}
        update = {"sessionUpdate": "agent_message_chunk", "content": content, "messageId": mint()}
        await self._tell(update)

    def _context(self) -> list[Json]:
        return [{"description": "The editor's working folder", "value": self._folder}]

    def _use(self, usage: Any) -> None:
        for used in usage:
            for name, theirs in _USAGE.items():
                if isinstance(count := used.get(name), int):
                    self._used[theirs] = self._used.get(theirs, 0) + count

    def _usage(self) -> dict[str, Json]:
        if not self._used:
            return {}
        used = {"inputTokens": 0, "outputTokens": 0, **self._used}
        used.setdefault("totalTokens", used["inputTokens"] + used["outputTokens"])
        return {"usage": used}


async def _events(
    pipe: Readable, running: Running | None = None
) -> AsyncGenerator[WireEvent, None]:
    decoder = Decoder()
    while chunk := await pipe.read():
        if running is not None:
            running.begun.set()
        for frame in decoder.feed(chunk):
            event: WireEvent = json.loads(frame.data)
            yield event
