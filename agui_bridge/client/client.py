"""A client of any AG-UI endpoint: runs it, keeps the conversation, answers what it asks.

Source: AG-UI 1.0, http-sse, lifecycle and interrupt-resume; the behaviour is that of
`HttpAgent` in `@ag-ui/client` 1.0.0.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final, Self
from urllib.parse import quote

import httpx
from ag_ui.core import Interrupt

from agui_bridge.client.conversation import (
    DIALECTS,
    Answers,
    ClientDialectName,
    Conversation,
    build_resume,
)
from agui_bridge.client.exchange import (
    AnswerFault,
    BrokenStream,
    Exchange,
    NotReached,
    RunEnd,
    RunFailed,
    open_exchange,
)
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.content_parts import upgrade_parts
from agui_bridge.protocol.versions import FIRST, NEWEST, first_version_messages

_SILENCE: Final = 300.0
"""Seconds that a server may be silent."""

_CONNECT: Final = 10.0


class Client:
    """One conversation (thread) with one AG-UI endpoint.

    ::

        async with Client("http://127.0.0.1:8000/agents/ops") as client:
            async for event in client.run("Delete the old rows"):
                if event["type"] == "TEXT_MESSAGE_CONTENT":
                    print(event["delta"], end="")
            for interrupt in client.pending_interrupts:
                ...
            await client.complete(resume={interrupt.id: Resolved({"approved": True})})

    Args:
        url: of the endpoint, to which inputs are POSTed.
        thread_id: of a conversation to go on with; by default a new one.
        headers: sent with every request, such as an Authorization.
        dialect: `1.1`, or `1.0` for a server that can't bear a newer version; `0.x` declares
            none; `langgraph` and `draft` ask for, read and answer pauses in those ways: see
            docs/dialects.md.
        messages: the conversation so far, as AG-UI messages.
        state: the shared state so far.
        timeout: seconds that the server may be silent; for a client that is made here.
        http: an httpx client of yours; it is not closed here.
    """

    def __init__(
        self,
        url: str,
        *,
        thread_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        dialect: ClientDialectName = "1.1",
        messages: Sequence[Mapping[str, Any]] = (),
        state: Any = None,
        timeout: float = _SILENCE,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self.url = url
        self.thread_id: str = thread_id or str(uuid.uuid4())
        self.end: RunEnd | None = None
        # What is refused is raised, however an agent tells it to others.
        self._headers = {"ag-ui-refusals": "error"}
        self._headers |= {name.lower(): value for name, value in (headers or {}).items()}
        if dialect not in DIALECTS:
            known = ", ".join(DIALECTS)
            raise ValueError(f"dialect: {dialect!r} is none of {known}.")
        self._dialect = DIALECTS[dialect]
        if self._dialect.asked_for:
            self._headers.setdefault("ag-ui-dialect", dialect)
        self._conversation = Conversation(messages, state)
        self._owns = http is None
        self._http = http or httpx.AsyncClient(timeout=httpx.Timeout(timeout, connect=_CONNECT))
        self._exchange: Exchange | None = None
        self._opening: asyncio.Timeout | None = None
        self._running = False

    # --- what is known -----------------------------------------------------------------------

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation, as AG-UI messages."""
        return self._conversation.messages

    @property
    def state(self) -> Any:
        """The shared state."""
        return self._conversation.state

    @property
    def pending_interrupts(self) -> tuple[Interrupt, ...]:
        """What the thread waits for: the next run must answer all of them."""
        return self._conversation.pending_interrupts

    def tool_call(self, call_id: str | None) -> dict[str, Any] | None:
        """The tool call that an interrupt's `tool_call_id` names, as its message has it.

        Args:
            call_id: the interrupt's `tool_call_id`.

        Returns:
            `{id, type, function: {name, arguments}}`; None when there is none.
        """
        return self._conversation.tool_call(call_id)

    # --- running -----------------------------------------------------------------------------

    async def run(
        self,
        message: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        resume: Answers | None = None,
        run_id: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        context: Sequence[Mapping[str, Any]] = (),
        forwarded_props: Mapping[str, Any] | None = None,
        while_pending: bool = False,
    ) -> AsyncGenerator[WireEvent, None]:
        """Run the agent and give its events as they come; chunks as what they stand for.

        What is given is folded into `messages`, `state` and `pending_interrupts` first, and
        `end` is set at the end. Whoever leaves the loop early closes the iterator
        (`contextlib.aclosing`), which aborts the run.

        Args:
            message: what the user says, or a whole message with an id, or several: the results of
                frontend tools are messages of the role `tool`.
            resume: answers to the open interrupts; see `build_resume`.
            run_id: by default a new one.
            tools: the frontend's tools.
            context: entries `{description, value}`.
            forwarded_props: handed on to the agent.
            while_pending: send it although something is open and unanswered, for agents that
                take a message for the answer.

        Raises:
            AnswerFault: an interrupt is open and not answered, or an answer does not fit;
                nothing was sent.
            NotReached: nothing was sent; the message is not part of the conversation.
            HttpError: the endpoint refused the request; the same.
            BrokenStream: the stream ended before its run did, or is not AG-UI's; or nothing was
                answered. The endpoint may have the message: it stays in the conversation.
            RunFailed: the run ended with RUN_ERROR, after all its events were given.
            RuntimeError: another task reads a run of this client.
        """
        self._check_free()
        answer = self._answer(resume, while_pending)
        body: dict[str, Any] = {
            "threadId": self.thread_id,
            "runId": run_id or str(uuid.uuid4()),
            "state": {} if self.state is None else self.state,
            "tools": list(tools),
            "context": list(context),
            **answer,
            "forwardedProps": {**(forwarded_props or {}), **answer.get("forwardedProps", {})},
        }
        if self._dialect.version is not None:
            body["protocolVersion"] = self._dialect.version
        said = self._say(message)
        told = [upgrade_parts(m) for m in self.messages if m["role"] != "activity"]
        body["messages"] = told if self._dialect.version == NEWEST else first_version_messages(told)
        opening = open_exchange(self._http, self.url, body, headers=self._headers)
        async with contextlib.aclosing(self._events(opening, said)) as events:
            async for event in events:
                yield event

    async def edit(
        self, message_id: str, message: str | Mapping[str, Any], **options: Any
    ) -> AsyncGenerator[WireEvent, None]:
        """Say something else in place of a user message: it and all behind it are taken back.

        The newest message that was known here goes along as a sign. Where the thread has newer
        ones, nothing is taken back: the message comes at the end, and `messages` is the thread.

        Args:
            message_id: of a user message in `messages`.
            message: what is said instead, under a new id.
            **options: as for `run`.

        Raises:
            LookupError: there is no such user message.
            ClientError: as `run`.
        """
        options = self._going_back(options)
        self._conversation.go_back(message_id, keep=False)
        async with contextlib.aclosing(self.run(message, **options)) as events:
            async for event in events:
                yield event

    async def regenerate(
        self, message_id: str | None = None, **options: Any
    ) -> AsyncGenerator[WireEvent, None]:
        """Ask for another answer to a user message: what stands behind it is taken back.

        Where the thread has newer messages than were known here, nothing is taken back and nothing
        is run, and `messages` is the thread.

        Args:
            message_id: of a user message in `messages`; None is the last one.
            **options: as for `run`.

        Raises:
            LookupError: there is no such user message.
            ClientError: as `run`.
        """
        options = self._going_back(options)
        self._conversation.go_back(message_id, keep=True)
        async with contextlib.aclosing(self.run(**options)) as events:
            async for event in events:
                yield event

    async def follow(self) -> AsyncGenerator[WireEvent, None]:
        """Come back to a thread of an agui-bridge server, and follow what runs on it to its end.

        Gives the events as `run` does: the thread as it stands first, as snapshots, then those of
        a run that goes on. Nothing is begun. Leaving the loop early does not stop the run, unless
        nobody else listens to it and the agent's `on_disconnect` is `stop`.

        Raises:
            NotReached: no connection.
            HttpError: there is no such thread (THREAD_NOT_FOUND), or a server of another make has
                no such address.
            BrokenStream: as `run`.
            RunFailed: the run that was followed ended with RUN_ERROR.
        """
        self._check_free()
        body = {
            "threadId": self.thread_id,
            "runId": str(uuid.uuid4()),
            "protocolVersion": self._dialect.version or FIRST,
            "messages": [],
        }
        url = self._below("/connect")
        opening = open_exchange(self._http, url, body, headers=self._headers)
        async with contextlib.aclosing(self._events(opening)) as events:
            async for event in events:
                yield event

    def _check_free(self) -> None:
        if self._running:
            raise RuntimeError("this client runs already; use another one for another thread")

    async def _events(
        self, opening: contextlib.AbstractAsyncContextManager[Exchange], said: tuple[str, ...] = ()
    ) -> AsyncGenerator[WireEvent, None]:
        """The events of one request, folded in; `said` is taken back if it was not heard."""
        self._running, self.end = True, None
        unheard = list(said)
        try:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(None) as self._opening:
                        exchange = await stack.enter_async_context(opening)
                except TimeoutError:
                    # Stopped before the server said anything; it may have heard the message.
                    unheard.clear()
                    self.end = RunEnd("cancelled")
                    return
                except BrokenStream:
                    # It may have heard the message just as well.
                    unheard.clear()
                    raise
                finally:
                    self._opening = None
                if not exchange.is_stream:
                    raise await exchange.error()
                self._exchange = exchange
                unheard.clear()
                self._conversation.begin_stream()
                read = self._dialect.reader()
                async for event in exchange.events():
                    for each in self._conversation.apply(read(event)):
                        self._note(each)
                        yield each
        finally:
            stopped = self._exchange is not None and self._exchange.stopped
            self._running, self._exchange = False, None
            for message_id in unheard:
                self._conversation.take_back(message_id)
        if self.end is None:
            if not stopped:
                raise BrokenStream(
                    "The stream ended before the run did; whether it goes on is unknown."
                )
            self.end = RunEnd("cancelled")
        if self.end.error is not None:
            raise self.end.error

    async def complete(self, *args: Any, **options: Any) -> RunEnd:
        """As `run`, reading the events to the end without giving them.

        Args:
            *args: as for `run`.
            **options: as for `run`.

        Raises:
            ClientError: as `run`.
        """
        async for _ in self.run(*args, **options):
            pass
        assert self.end is not None
        return self.end

    async def stop(self, *, force: bool = False) -> None:
        """Stop the run that is read by another task; its iterator ends, what came is kept.

        An agui-bridge server is asked to stop, so that a tool that runs may finish and the
        stream ends in order. Others know no such request: the connection is closed, which is how
        AG-UI clients abort. Without a run nothing happens.

        Args:
            force: do not let a tool finish; the connection is closed in any case.
        """
        exchange = self._exchange
        if self._opening is not None:
            self._opening.reschedule(asyncio.get_running_loop().time())
        if exchange is None:
            return
        asked = await self._ask_bridge("POST", "/stop", {"force": force})
        if force or asked is None:
            exchange.stop()

    async def load(self) -> bool:
        """Load the thread from an agui-bridge server: messages, state, open interrupts.

        Returns:
            Whether it is there. Servers of other makes, which have no such address, tell in the
            next run's snapshots.

        Raises:
            NotReached: no connection.
        """
        found = await self._ask_bridge("GET", "")
        if not isinstance(found, dict) or not isinstance(found.get("messages"), list):
            return False
        interrupts = [
            Interrupt.model_validate({k: v for k, v in interrupt.items() if k != "toolCall"})
            for interrupt in found.get("interrupts") or ()
        ]
        self._conversation.restore(found["messages"], found.get("state"), interrupts)
        return True

    async def aclose(self) -> None:
        """Close the connections that were opened here."""
        if self._owns:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # --- inner -------------------------------------------------------------------------------

    def _answer(self, resume: Answers | None, while_pending: bool) -> dict[str, Any]:
        """The members of the input that answer what is open."""
        asked = self.pending_interrupts
        if resume is not None:
            return self._dialect.answer(build_resume(asked, resume), asked)
        if asked and not while_pending:
            ids = tuple(interrupt.id for interrupt in asked)
            raise AnswerFault(
                "INTERRUPT_PENDING",
                f"The thread waits for an answer to {', '.join(ids)}: give it as `resume`.",
                ids,
            )
        return {}

    def _going_back(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options of a run with the sign that its page knew all that it takes back."""
        self._check_free()
        props = dict(options.get("forwarded_props") or {})
        if (newest := self._conversation.newest_turn) is not None:
            props["agui_bridge"] = {**(props.get("agui_bridge") or {}), "newest": newest}
        return {**options, "forwarded_props": props}

    def _say(
        self, message: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
    ) -> tuple[str, ...]:
        """Add what the user says to the conversation; gives the ids of its messages."""
        if message is None:
            return ()
        if isinstance(message, str):
            message = {"id": str(uuid.uuid4()), "role": "user", "content": message}
        said = (message,) if isinstance(message, Mapping) else tuple(message)
        for each in said:
            self._conversation.add(each)
        return tuple(each["id"] for each in said)

    def _note(self, event: WireEvent) -> None:
        usage = event.get("usage") or ()
        if event["type"] == "RUN_STARTED":
            self.end = None
        elif event["type"] == "RUN_FINISHED":
            outcome = event.get("outcome") or {"type": "success"}
            self.end = RunEnd(
                outcome["type"],
                event.get("result"),
                usage,
                pending_tool_call_ids=outcome.get("pendingToolCallIds"),
            )
        elif event["type"] == "RUN_ERROR":
            failed = RunFailed(event.get("code"), event["message"])
            self.end = RunEnd("error", usage=usage, error=failed)

    def _below(self, path: str) -> str:
        """An address below the thread's on an agui-bridge server."""
        base = self.url.partition("?")[0].rstrip("/")
        return f"{base}/threads/{quote(self.thread_id, safe='')}{path}"

    async def _ask_bridge(self, method: str, path: str, body: Any = None) -> Any:
        """Ask for what an agui-bridge server has below the agent's address; None without it."""
        url = self._below(path)
        try:
            answer = await self._http.request(method, url, json=body, headers=self._headers)
            return answer.json() if answer.is_success else None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NotReached(f"{url} can't be reached: {error}") from error
        except (httpx.TransportError, ValueError):
            return None
