"""The adapter: one agent behind an AG-UI endpoint.

What the endpoint does with two answers at once, a replay, a forged or a late answer does not matter
any more: it gets each answer once, after the bridge's claim, under ids that no client has seen.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, get_args

from ag_ui.core import BaseEvent

from agui_bridge.adapters import AdapterCapabilities, Handoff, Pause, Run, RunItem
from agui_bridge.errors import (
    AdapterError,
    ConfigurationError,
    NotDelivered,
    OutcomeUnknown,
    UpstreamError,
)
from agui_bridge.protocol.answers.decisions import Answer, Approve, Cancel
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.schemas.checking import require_checkable
from agui_bridge.protocol.threads.records import Json
from agui_bridge_agui.call_names import CallNames
from agui_bridge_agui.exchange import Exchange
from agui_bridge_agui.http_client import HttpClient, ShapeRefused
from agui_bridge_agui.pauses.adk import Confirmations, adk_pause
from agui_bridge_agui.pauses.agno import AGNO
from agui_bridge_agui.pauses.answers import Answers, Ended
from agui_bridge_agui.pauses.dialects import answers_of, pause_of
from agui_bridge_agui.pauses.draft import draft_pause
from agui_bridge_agui.pauses.mastra import suspended_call
from agui_bridge_agui.peers import PEERS, PeerName, with_first_arguments
from agui_bridge_agui.reader import Reader
from agui_bridge_agui.requests import Dialect, HistoryMode, body_of, messages_for

logger: Final = logging.getLogger("agui_bridge")

DialectOption = Literal["auto", "1.1", "1.0", "0.x", "draft"]

_SPOKEN: Final[Mapping[DialectOption, tuple[Dialect, ...]]] = {
    "auto": ("1.1", "1.0", "0.x"),
    "1.1": ("1.1",),
    "1.0": ("1.0",),
    "0.x": ("0.x",),
    "draft": ("0.x",),
}
_SNAPSHOT: Final = "STATE_SNAPSHOT"
_UNKNOWN: Final = "Whether it has acted on the answer is unknown; it is not sent again."
_CUSTOM: Final = "CUSTOM"


class AguiAdapter:
    """An agent behind any AG-UI endpoint.

    Args:
        url: what clients would post their runs to.
        dialect: in which the server is spoken to. `1.1`; `1.0` for one that can't bear a newer
            version; `0.x` for one from before: it is told no `protocolVersion`, and of messages
            only what it knows; `draft` is `0.x` for one that asks as the draft of interrupts has
            it. `auto` begins with the newest, and goes on with an older one if the server refuses
            that shape (400, 422). What it answers is understood in any, LangGraph's CUSTOM
            `on_interrupt` too; a question is answered as it was asked.
        peer: who made the server; `auto` finds out what matters from what it says. `peers.py` has
            what each needs.
        history: `full` sends the whole conversation, as AG-UI has it; `new` only what is new, to a
            server that keeps the conversation itself and would have it twice. None is what the
            peer needs.
        headers: sent with every request.
        timeout: seconds that the server may be silent.
        stop_url: what a stop is posted to, `{threadId}` for the thread. Without one a stop closes
            the stream, once no tool is running.
        tool_schemas: JSON Schema of the arguments by tool. Endpoints seldom tell it with what they
            ask; with it, edited arguments are checked before they are sent.
        cancel_with: the value with which a LangGraph that asks by `on_interrupt` is told that
            nobody decided; None leaves it suspended.

    Raises:
        ConfigurationError: an option makes no sense, or a schema can't be checked whole.
    """

    def __init__(
        self,
        url: str,
        *,
        dialect: DialectOption = "auto",
        peer: PeerName = "auto",
        history: HistoryMode | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 300.0,
        stop_url: str | None = None,
        tool_schemas: Mapping[str, Mapping[str, Json]] | None = None,
        cancel_with: Json = None,
    ) -> None:
        for option, value, known in (
            ("dialect", dialect, get_args(DialectOption)),
            ("peer", peer, get_args(PeerName)),
            ("history", history or "full", get_args(HistoryMode)),
        ):
            if value not in known:
                raise ConfigurationError(
                    f"{option} can't be {value!r}: it is {' or '.join(known)}."
                )
        self._peer = PEERS[peer]
        self._history: HistoryMode = history or self._peer.history
        self.capabilities: AdapterCapabilities = AdapterCapabilities(
            edit=True, subagents=True, stop=True, relays=True, own_history=self._history == "new"
        )
        # What is left to be tried, the only one once it is known.
        self._dialects: tuple[Dialect, ...] = _SPOKEN[dialect]
        require_checkable("tool_schemas", tool_schemas or {})
        self._tool_schemas = tool_schemas or {}
        self._cancel_with = cancel_with
        self._server = HttpClient(url, headers=headers or {}, timeout=timeout, stop_url=stop_url)

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: no agent has seen the input, or the server still asks what it asked.
            UpstreamError: it failed, or its stream can't be understood.
            OutcomeUnknown: the same, once it may have taken an answer.
        """
        answers: Answers | None = None
        if run.resume is not None:
            continuation, decisions = run.resume.continuation, run.resume.decisions
            answers = answers_of(continuation, decisions, self._cancel_with)
            if answers is None:
                # It stays suspended there; the bridge tells that the call was not executed.
                return
            await run.check_stop()
            if run.stop.requested:
                # Nothing begins after a stop. The server still asks, and says so next time.
                run.not_begun = sorted(_approved_calls(run))
                return
        else:
            for batch in run.closed:
                if batch.cause != "lost" and not run.stop.requested:
                    await self._withdraw(run, batch.continuation)
        run.check_lease()
        async with contextlib.aclosing(self._talk(run, answers)) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()

    async def _withdraw(self, run: Run, continuation: Json) -> None:
        """Cancel what nobody answered; a server that keeps no pauses has nothing to cancel."""
        nobody = {key: Cancel() for key in continuation["ids"]}
        cancels = answers_of(continuation, nobody, self._cancel_with)
        if cancels is None:
            return
        with contextlib.suppress(AdapterError):
            async with contextlib.aclosing(self._events(run, (), cancels, lambda: False)) as told:
                async for _ in told:
                    pass

    async def _events(
        self,
        run: Run,
        messages: Sequence[Mapping[str, Json]],
        answers: Answers | None,
        busy: Callable[[], bool],
    ) -> AsyncGenerator[WireEvent, None]:
        """Post an input, and give what the server answers; in the first dialect that it takes.

        Raises:
            NotDelivered: no agent has seen the input.
            UpstreamError: the server failed, or the stream broke.
        """
        for dialect in self._dialects:
            exchange = Exchange(self._server, body_of(run, messages, dialect, answers), run, busy)
            try:
                async with contextlib.aclosing(exchange.events()) as events:
                    async for event in events:
                        self._dialects = (dialect,)
                        yield event
                return
            except ShapeRefused:
                if dialect == self._dialects[-1]:
                    raise
                logger.info("the upstream agent refuses an input of AG-UI %s", dialect)

    async def _talk(self, run: Run, answers: Answers | None) -> AsyncGenerator[RunItem, None]:
        approved = _approved_calls(run)
        reader, names = Reader(run, approved), CallNames(run)
        messages = names.given(messages_for(run, self._history))
        if answers is not None:
            answers = replace(answers, messages=names.given(answers.messages))
        # A server that refuses an answer restates the state and the question: until more than the
        # state has come, nothing says that it has taken the answer.
        taken, held = answers is None, list[BaseEvent]()
        told = self._events(run, messages, answers, lambda: reader.acting)
        confirmations = Confirmations([tool.name for tool in run.tools])
        try:
            async with contextlib.aclosing(told) as events:
                async for wire in events:
                    for item in _read(
                        reader, names, wire, confirmations if self._peer.confirmations else None
                    ):
                        if not taken and item.type == _SNAPSHOT:
                            held.append(item)
                            continue
                        taken = True
                        while held:
                            yield held.pop(0)
                        yield item
            if reader.finished is None and reader.error is None and not run.stop.requested:
                raise UpstreamError("The upstream agent's stream ended before its run did.")
        except UpstreamError as error:
            if answers is None or (taken and _are_settled(run, reader)):
                raise
            raise OutcomeUnknown(f"{error} {_UNKNOWN}") from error
        if not taken and _still_asks(reader, answers):
            raise NotDelivered(
                f"The upstream agent refused the answer{_code(reader)} and still asks."
            )
        for item in held:
            yield item
        ending = [names.kept(end) for end in self._ending(run, reader, names, confirmations)]
        untold = (approved | _awaited_calls(run)) - reader.told.answered
        if not ending and untold and not run.stop.requested:
            decided = "which was approved" if untold <= approved else "whose question was answered"
            raise OutcomeUnknown(
                f"The upstream agent ended its run without a result of {_listed(untold, reader)}, "
                f"{decided}: whether it was executed is unknown."
            )
        for end in ending:
            yield _carrying(end, untold)

    def _ending(
        self, run: Run, reader: Reader, names: CallNames, confirmations: Confirmations
    ) -> list[RunItem]:
        """How the run ended: with what it waits for, or not at all.

        Raises:
            UpstreamError: it failed.
        """
        stopped = run.stop.requested
        told = reader.told
        # What endpoints say in values of their own has their ids.
        calls = names.also_native(told.calls)
        if reader.drafted is not None:
            return [draft_pause(reader.drafted, calls, told.unanswered, reader.pending)]
        ended = Ended(
            calls=calls,
            unanswered=told.unanswered,
            frontend=reader.pending,
            interrupts=reader.interrupts,
            customs=reader.customs,
            texts={call: told.text_over(call) for call in told.unanswered},
            subagents=frozenset(told.subagents),
            tool_schemas=self._tool_schemas,
        )
        silence = self._peer.silent
        if silence == "signed" and AGNO not in reader.sources:
            silence = None
        whole = reader.finished is not None and reader.error is None and not reader.cancelled
        pause = adk_pause(ended, confirmations.asked) if whole else None
        pause = pause or pause_of(ended, silence=silence if whole else None)
        if pause is not None:
            # With an error besides, it is what the server asked before, and the bridge did not
            # know: whoever speaks to it can answer now.
            return [pause]
        if reader.error is not None and not stopped:
            raise UpstreamError(
                f"The upstream agent ended its run with an error{_code(reader)}: see its log."
            )
        if reader.cancelled and not stopped and not _is_withdrawn(run):
            raise UpstreamError("The upstream agent's run was stopped there.")
        if reader.pending and not stopped:
            return [Handoff(reader.pending)]
        return []


def _read(
    reader: Reader, names: CallNames, wire: WireEvent, confirmations: Confirmations | None
) -> Iterator[BaseEvent]:
    """The events to pass on for one of the upstream's, whose framework's own ways are undone."""
    left = wire if confirmations is None else confirmations.pass_on(wire)
    told = reader.told
    for event in with_first_arguments(left) if left is not None else ():
        if event["type"] == _CUSTOM:
            for untold in suspended_call(event, names.also_native(told.calls)):
                yield from reader.read(names.told(untold, told.messages))
        yield from reader.read(names.told(event, told.messages))


def _are_settled(run: Run, reader: Reader) -> bool:
    """Whether all that was decided is known to be over: calls that were declined, or have results.

    Of the answer to a question nothing tells what came of it but the end of the run.
    """
    assert run.resume is not None, "only answers can be settled"
    calls = run.resume.continuation["calls"]
    awaited = _approved_calls(run) | _awaited_calls(run)
    return run.resume.decisions.keys() <= calls.keys() and awaited <= reader.told.answered


def _approved_calls(run: Run) -> frozenset[str]:
    """The calls that the upstream has been told to carry out."""
    if run.resume is None:
        return frozenset()
    approved = [key for key, d in run.resume.decisions.items() if isinstance(d, Approve)]
    kept: Mapping[str, str] = run.resume.continuation["calls"]
    return frozenset(kept[key] for key in approved if key in kept)


def _awaited_calls(run: Run) -> frozenset[str]:
    """The calls that an answered question was about, and those that earlier pauses carry on."""
    if run.resume is None:
        return frozenset()
    continuation = run.resume.continuation
    about: Mapping[str, str] = continuation.get("about", {})
    answered = {key for key, d in run.resume.decisions.items() if isinstance(d, Answer)}
    carried: Collection[str] = continuation.get("carried", ())
    return frozenset([about[key] for key in about if key in answered]).union(carried)


def _carrying(end: RunItem, untold: Collection[str]) -> RunItem:
    """A pause that keeps which calls owe a result: AG2 tells them all behind its last question."""
    if not untold or not isinstance(end, Pause):
        return end
    return replace(end, continuation={**end.continuation, "carried": sorted(untold)})


def _is_withdrawn(run: Run) -> bool:
    """Whether the upstream was told that nobody decided: then it may stop its run itself."""
    decisions = run.resume.decisions.values() if run.resume is not None else ()
    return bool(decisions) and all(isinstance(decision, Cancel) for decision in decisions)


def _still_asks(reader: Reader, answers: Answers | None) -> bool:
    """Whether the server refused an answer, and restates the questions that it was for."""
    if answers is None or reader.error is None:
        return False
    if isinstance(answers.resume, Mapping):
        # The draft restates nothing.
        return False
    asked = {interrupt.id for interrupt in reader.interrupts}
    return bool(asked) and asked >= {entry["interruptId"] for entry in answers.resume}


def _listed(calls: Collection[str], reader: Reader) -> str:
    """Calls by the names of their tools, for the client."""
    names = sorted({f"{reader.told.name_of(call):.60}" for call in calls})
    return ", ".join(names)


def _code(reader: Reader) -> str:
    code = reader.error or ""
    return f" ({code:.60})" if code.replace("_", "").replace("-", "").isalnum() else ""
