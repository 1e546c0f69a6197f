"""Carries out one call of a tool: a message, what people answered to it, or how it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError

from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.waiting import wait_until
from agui_bridge.errors import Refused
from agui_bridge.mcp_server.call_state import CallState, Shown
from agui_bridge.mcp_server.elicitations import answer_of, form_of
from agui_bridge.mcp_server.progress import HEARTBEAT, ProgressTeller, read_to_end
from agui_bridge.mcp_server.replies import CallReply, Page, ask_for_input, refused, told
from agui_bridge.mcp_server.service import Caller, McpService
from agui_bridge.mcp_server.standing import standing_of
from agui_bridge.mcp_server.tools import Tools, text_of
from agui_bridge.protocol.dialects import V1, parse_input
from agui_bridge.protocol.json_values import check_addressable
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    Json,
    RecordedAnswer,
    ThreadKey,
    ThreadStatus,
)
from agui_bridge.surfaces.reading import check_text_id

Context = ServerRequestContext[Any, Any]

_SINGLY: Final = replace(V1, name="mcp", answers_singly=True)

_LOOKS: Final = 2
"""How many heartbeats one request waits for an answer that is given elsewhere: less than the minute
after which clients give a request up."""


@dataclass(frozen=True, slots=True)
class _Came:
    """What an input came to: nothing, or why it failed or was refused."""

    code: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class _Brought:
    """What a client brings to questions.

    Attributes:
        answers: of people, by question.
        shown: what became of the questions that nobody answered there.
    """

    answers: Mapping[str, RecordedAnswer]
    shown: Mapping[str, Shown]


class Calls:
    """Carries out calls.

    Args:
        service: the bridge.
    """

    def __init__(self, service: McpService) -> None:
        self._service = service

    async def call(
        self, context: Context, caller: Caller, params: types.CallToolRequestParams
    ) -> CallReply:
        """Carry one call out.

        Raises:
            MCPError: there is no such tool, or the client brings what it was not given.
            Refused: the arguments are wrong, or nothing could be begun.
            StoreUnavailable: the store did not answer.
        """
        tools = Tools.of(self._service.agents)
        arguments, state = params.arguments or {}, _state_of(params)
        if params.name == tools.status:
            agent = tools.agent_of_status(arguments)
        elif params.name in tools.agents:
            agent = tools.agents[params.name]
        else:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name[:100]!r}.")
        thread = text_of(arguments, "thread")
        if thread is not None:
            check_text_id("thread", thread, self._service.settings.max_id_bytes)
        engine = await self._service.open()
        came, teller = _Came(), ProgressTeller(context)
        if state is not None:
            if state.agent != agent.name or thread not in (None, state.thread):
                raise _invalid_state()
            key = ThreadKey(caller.principal.scope, agent.name, state.thread)
            state, came = await self._answered(engine, teller, agent, caller, key, state, params)
        elif params.name == tools.status:
            if thread is None:
                raise Refused("INVALID_INPUT", "thread: is missing.")
            key = ThreadKey(caller.principal.scope, agent.name, thread)
            state = CallState(agent.name, thread)
        else:
            said, thread = mint(), thread or mint()
            check_addressable("thread", thread)
            key = ThreadKey(caller.principal.scope, agent.name, thread)
            message = _message(arguments, said)
            came = await self._submit(engine, teller, agent, caller, key, said, messages=[message])
            state = CallState(agent.name, thread, said)
            if came.code is not None:
                return await self._not_said(engine, caller, key, tools, came)
        return await self._reply(engine, caller, key, state, tools, came)

    async def _reply(
        self,
        engine: Engine,
        caller: Caller,
        key: ThreadKey,
        state: CallState,
        tools: Tools,
        came: _Came,
    ) -> CallReply:
        """What a call is answered with, by how its thread stands now."""
        standing, page = await standing_of(engine, key, state.said), self._page_of(caller, key)
        if standing.waiting:
            asked = ask_for_input(standing, caller, state, page, came.message)
            if asked is not None:
                return asked
        return told(standing, tools.status, page, came.message, came.code)

    async def _not_said(
        self, engine: Engine, caller: Caller, key: ThreadKey, tools: Tools, came: _Came
    ) -> types.CallToolResult:
        """What is told of a message that failed, or that the thread did not take."""
        assert came.code is not None, "only what was refused comes here"
        standing, note = await standing_of(engine, key, None), came.message or came.code
        if came.code == "INTERRUPT_PENDING":
            note = "The message was not sent: the thread waits for answers to what it asked before."
        elif came.code == "RUN_IN_PROGRESS":
            note = "The message was not sent: the thread is busy with another one."
        elif standing.progress == "unknown":
            return refused(came.code, note)
        elif standing.progress == "done":
            standing = replace(standing, progress="failed")
        return told(standing, tools.status, self._page_of(caller, key), note, came.code)

    def _page_of(self, caller: Caller, key: ThreadKey) -> Page:
        references = self._service.references

        def page(ask: Interrupt) -> str | None:
            return caller.page_of(references, key, ask.id)

        return page

    # --- inputs ---

    async def _submit(
        self,
        engine: Engine,
        teller: ProgressTeller,
        agent: Agent,
        caller: Caller,
        key: ThreadKey,
        run_id: str,
        **members: Json,
    ) -> _Came:
        """Hand an input in and see it through; a call that is given up leaves its run.

        Raises:
            Refused: no run could be begun.
            StoreUnavailable: the store did not answer.
        """
        # A model writes the message, and the stored conversation is the only one: what it says
        # answers no question, and is no list of messages.
        settings = replace(agent.settings, history="server", auto_resume="off")
        body = {
            "threadId": key.thread,
            "runId": run_id,
            "protocolVersion": "1.0",
            "messages": [],
            **members,
        }
        parsed = parse_input(body, settings.input_limits)
        submission = Submission(
            replace(agent, settings=settings),
            caller.principal,
            replace(parsed, dialect=_SINGLY),
            on_disconnect=settings.on_disconnect,
            refusals="error",
            via="mcp",
        )
        pipe, stream = engine.submit(submission)
        try:
            await read_to_end(pipe, teller)
        finally:
            pipe.detach()
        last = stream.terminal
        if last is None or last["type"] != "RUN_ERROR":
            return _Came()
        return _Came(last["code"], last["message"])

    async def _answered(
        self,
        engine: Engine,
        teller: ProgressTeller,
        agent: Agent,
        caller: Caller,
        key: ThreadKey,
        state: CallState,
        params: types.CallToolRequestParams,
    ) -> tuple[CallState, _Came]:
        """Take what people answered, and wait a while for what they answer elsewhere."""
        brought = await _brought(engine, key, params.input_responses or {})
        state = replace(state, shown={**state.shown, **brought.shown})
        came = _Came()
        if brought.answers:
            entries = [_entry(id, answer) for id, answer in brought.answers.items()]
            came = await self._submit(engine, teller, agent, caller, key, mint(), resume=entries)
        elsewhere = {id for id, how in state.shown.items() if how == "opened"}
        if elsewhere and came.code is None:
            await _wait_elsewhere(engine, teller, key, elsewhere)
        return state, came


async def _brought(engine: Engine, key: ThreadKey, responses: Mapping[str, Any]) -> _Brought:
    """What a client brings, read by the questions as they are stored.

    What is asked on its page only is never answered here, whatever the client says.
    """
    loaded = await engine.store.load(key, list(responses))
    answers: dict[str, RecordedAnswer] = {}
    shown: dict[str, Shown] = {}
    for id, response in responses.items():
        ask = loaded.interrupts.get(id)
        if ask is None or not isinstance(response, types.ElicitResult):
            raise MCPError(
                types.INVALID_PARAMS, f"inputResponses: nothing was asked by the name {id[:100]!r}."
            )
        if form_of(ask) is None:
            shown[id] = "opened" if response.action == "accept" else "left"
        elif (answer := answer_of(ask, response.action, response.content or {})) is not None:
            answers[id] = answer
        else:
            shown[id] = "left"
    return _Brought(answers, shown)


async def _wait_elsewhere(
    engine: Engine, teller: ProgressTeller, key: ThreadKey, ids: set[str]
) -> None:
    """Wait until questions are answered and carried out, a few heartbeats long."""

    def settled(seen: Loaded) -> bool:
        busy = seen.status is ThreadStatus.RUNNING and not seen.run_lost
        busy = busy or (seen.held_by is not None and seen.only_answered)
        return not busy and not any(ask.id in ids for ask in seen.waiting)

    for _ in range(_LOOKS):
        try:
            async with asyncio.timeout(HEARTBEAT):
                await wait_until(engine.store, key, settled)
            return
        except TimeoutError:
            await teller.tell_silence()


def _state_of(params: types.CallToolRequestParams) -> CallState | None:
    if params.request_state is None:
        if params.input_responses:
            # Taken for a first call it would send its message again.
            raise _invalid_state()
        return None
    state = CallState.read(params.request_state)
    if state is None:
        raise _invalid_state()
    return state


def _invalid_state() -> MCPError:
    return MCPError(
        types.INVALID_PARAMS,
        "requestState: must come back with the same call, as it was given.",
        {"reason": "invalid_request_state"},
    )


def _message(arguments: Mapping[str, Any], id: str) -> dict[str, Json]:
    text = text_of(arguments, "message")
    if text is None:
        raise Refused("INVALID_INPUT", "message: is missing.")
    return {"id": id, "role": "user", "content": text}


def _entry(id: str, answer: RecordedAnswer) -> dict[str, Json]:
    payload = {"payload": answer.payload} if answer.status == "resolved" else {}
    return {"interruptId": id, "status": answer.status, **payload}
