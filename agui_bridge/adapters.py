"""The adapter interface: how a framework's run and its pause reach the bridge.

An adapter turns one framework's run into AG-UI content events, and its pause into a `Pause`.
It keeps no pending state, never sees an unchecked answer, and is never asked twice for the
same pause. Everything else the wire needs is the engine's work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from ag_ui.core import BaseEvent, Message, RunAgentInput, Tool

from agui_bridge.installed import InstalledAdapter, adapter_of, installed_adapters, load_adapter
from agui_bridge.policy import Policy
from agui_bridge.protocol.answers.asks import Ask, Handoff, HoldEnd, Holds, Pause
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, EDIT, RESPOND, Decision
from agui_bridge.protocol.callbacks import Callback, Callbacks, CalledBack, Standing
from agui_bridge.protocol.threads.checkpoint import BegunAct
from agui_bridge.protocol.threads.content_parts import known_messages, own_of
from agui_bridge.protocol.threads.messages.call_ids import CallIds, ReplyIds
from agui_bridge.protocol.threads.messages.taken_back import last_text
from agui_bridge.protocol.threads.records import ClosedBatch, Json, Principal
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge.protocol.turns import Turn, result_of, turns_of

__all__ = [
    "Adapter",
    "AdapterCapabilities",
    "Ask",
    "BegunAct",
    "CallIds",
    "Callback",
    "Callbacks",
    "CalledBack",
    "Checkpoint",
    "Handoff",
    "HandoffResults",
    "HoldEnd",
    "Holds",
    "InstalledAdapter",
    "Looks",
    "PageAction",
    "Pause",
    "ReplyIds",
    "Resume",
    "Run",
    "RunItem",
    "Standing",
    "StopSignal",
    "adapter_of",
    "close_items",
    "installed_adapters",
    "load_adapter",
]


@dataclass(frozen=True, slots=True)
class AdapterCapabilities:
    """What an adapter supports. Declare only what is true: the rest is refused, not ignored.

    Attributes:
        approve: pauses for tool approvals can be approved.
        decline: they can be refused; the reason reaches the framework.
        edit: the arguments can be edited with the approval.
        respond: a person may give a text in place of the tool's result; the tool is not executed.
        answer: questions with a free payload are supported.
        null: an answer may be null. Without it null is refused to the client, where a question's
            schema would allow it.
        cancel: `Cancel` is understood.
        subagents: emits SUBAGENT events.
        stop: ends by itself soon after `Run.stop` is set (a tool that runs may finish
            first); without it a stop cancels the run at once.
        own_history: the framework keeps the conversation itself and needs only
            `Run.new_messages`.
        relays: relays another server's events. What AG-UI allows then reaches clients, though a
            framework's author would be told of a mistake: names of sub-agents that were never
            announced, and deltas that fit nothing, which are otherwise left out with a warning.
        policy: has every tool call judged by `Run.policy` before it is executed; without it
            a bridge that has a policy refuses the adapter.
        looks: has `look` (see `Looks`), so that a run may leave work: `Run.left`.
        called_back: its framework calls the bridge back: see `CalledBack`.
        holds: has `closed` (see `Holds`), so that a pause may be held: `Pause.held`.
        checkpoints: yields a `Checkpoint` before and after each act of a run that wants them.
    """

    approve: bool = True
    decline: bool = True
    edit: bool = False
    answer: bool = True
    cancel: bool = True
    subagents: bool = False
    stop: bool = False
    own_history: bool = False
    relays: bool = False
    policy: bool = False
    respond: bool = False
    null: bool = True
    looks: bool = False
    called_back: bool = False
    holds: bool = False
    checkpoints: bool = False

    @property
    def decisions(self) -> tuple[str, ...]:
        """The decisions on a tool approval, of approve, decline, edit, respond."""
        supported = {
            APPROVE: self.approve,
            DECLINE: self.decline,
            EDIT: self.edit,
            RESPOND: self.respond,
        }
        return tuple(name for name, true in supported.items() if true)


@dataclass(frozen=True, slots=True)
class PageAction:
    """What a person did in a page: a click in an A2UI surface, for one.

    Attributes:
        name: of the tool as whose call the page told it, such as `log_a2ui_event`.
        call_id: of that call.
        arguments: of that call; their text where they are no JSON.
    """

    name: str
    call_id: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class HandoffResults:
    """What the application returned.

    Attributes:
        continuation: exactly what the Handoff carried.
        results: content by tool call id, for calls that have a result; an `error` that came with it
            is told there in words.
    """

    continuation: Json
    results: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Resume:
    """The answers to a pause.

    Attributes:
        continuation: exactly what the Pause carried.
        decisions: by native id, one for every ask of the pause.
        new_messages: user messages that were sent along, or while it was paused; not the message
            that auto-resume took for the answer.
        actors: by native id, who decided, where that is not the run's principal: the answers of
            one pause may come one after the other, and the run begins with the last. Each decision
            has its `actor` itself.
        held: whether this process has held the pause until now, so that what waits for the answers
            may still be here. It may be gone all the same. Call `check_lease` right before it is
            given an answer.
    """

    continuation: Json
    decisions: Mapping[str, Decision]
    new_messages: Sequence[Message] = ()
    actors: Mapping[str, str] = field(default_factory=dict)
    held: bool = False


class StopSignal:
    """Tells an adapter that the run shall end: `await run.stop`, or look at `requested`.

    Attributes:
        requested: whether a stop was asked for.
        force: whether nothing may be waited for, not even a running tool.
        timeout: seconds after the request until the run is cancelled, None where nobody said.
    """

    def __init__(self) -> None:
        self.requested: bool = False
        self.force: bool = False
        self.timeout: float | None = None
        self._event: asyncio.Event | None = None
        self._children: list[StopSignal] = []

    def request(self, *, force: bool = False, timeout: float | None = None) -> None:
        """Ask for the stop; a later force sharpens an earlier graceful one.

        Args:
            force: whether nothing may be waited for.
            timeout: seconds until the run is cancelled, where that is known.
        """
        self.requested = True
        self.force = self.force or force
        self.timeout = self.timeout if timeout is None else timeout
        if self._event is not None:
            self._event.set()
        for child in self._children:
            child.request(force=force, timeout=timeout)

    def child(self) -> StopSignal:
        """A signal for a part of the run: set whenever this one is, and by itself.

        For adapters that wrap another one and may have to end its run alone.
        """
        child = StopSignal()
        if self.requested:
            child.request(force=self.force, timeout=self.timeout)
        self._children.append(child)
        return child

    async def wait(self) -> None:
        """Return once a stop is asked for."""
        if not self.requested:
            # Only now: most adapters look at `requested`, and runs are many.
            self._event = self._event or asyncio.Event()
            await self._event.wait()

    def __await__(self) -> Generator[Any, None, None]:
        return self.wait().__await__()


async def _nobody_asks() -> None:
    """Look for a stop where there is no store to look into."""


@dataclass(eq=False)
class Run:
    """One run, as its adapter sees it.

    Attributes:
        agent: name of the agent.
        thread_id: the conversation.
        run_id: this run; clients re-use run ids, so never key anything on it.
        input: the input as it came (normalised to 1.0); its messages are the client's claim,
            `messages` is the context. Members that it lacks are None; see `tools`.
        principal: the caller.
        state: the shared state at the start.
        stop: set when the run shall end.
        resume: the answers, when this run continues a pause.
        handoff: the frontend's results, when this run continues a handoff.
        closed: batches that ended unanswered since the last run: release the framework's pauses.
        result: set it for RUN_FINISHED's `result` (JSON).
        usage: append token usage entries (ag_ui.core.TokenUsage or dicts).
        iteration: model steps begun, if the adapter counts them.
        end_reason: set it when you know better than SUCCESS (or ERROR_OCCURRED) why it ended.
        trace_headers: send them with every request to the framework, so that its spans become
            children of this run's; empty when nobody traces.
        not_begun: set it, at the end, to the tool calls that certainly never began, approved ones
            among them: they are told as "not executed", every other call without a result as
            "whether it was executed is unknown".
        late_result: call it with a tool call's id and its result (text) when that comes after the
            run is over: of a tool that could not be killed, for one. It takes the place of "whether
            it was executed is unknown", unless the conversation has gone on by then.
        memo: what the adapter noted of the thread (plain JSON, never shown), as the last run left
            it, in whichever process. Set it any time: it is stored with the run's end, whatever
            that is. None before the first run, after one that was lost, after a note of more than
            `max_memo_bytes`, and when the client has gone back (an edit, an answer asked anew).
            Deleted with the thread.
        outdated_memo: what it was before the client went back, in the run that this begins: of
            messages that were taken back since, too. Use only what it says of those that stand.
        left: what the adapter needs to find work that goes on at its framework after the run (plain
            JSON, never shown), as the last run left it; None where there is none. Set it to a new
            value any time: it is stored before the next item that you yield is told, so that a
            process that dies leaves it too, or with the run's end. A stop of the run ends it. Until
            a later run sets None, somebody calls `look` of the adapter, at most one at a time, in
            whichever process.
        looks: whether nobody sent an input: `look` has found something of the work that is left.
            The run has no new messages. It tells what became of the work, and ends with a `Pause`
            where that asks.
        callbacks: what the framework told of this thread by calling back; None unless the adapter
            declares `called_back`.
        superseded: ids of messages that a client took back (an edit, an answer asked anew): a
            framework that keeps the conversation itself removes them, and what it made of them.
            They are told again until a run has ended by itself. So is a message that a model's
            endpoint may have refused, once the thread goes on without it.
        archived: ids of messages that have left the conversation, the oldest turns, as the thread
            was at its size: such a framework removes these messages, and not what came after them.
            They are told again until a run has ended by itself.
        unkept: messages among `raw_messages`, of the assistant or results of calls, that such a
            framework may lack: what a run said that was stopped, failed or lost, also where it was
            cut off, and results that the bridge supplied or that came late. Compare ids: it may
            have some.
        known_calls: ids of the tool calls that the thread has had, also of those that clients took
            back. A new call needs another one: see `call_ids`.
        before_act: set by an adapter that wraps yours and may have to keep it from acting, else
            None. Tools that run in `run` itself after their TOOL_CALL_START was yielded need
            nothing. Whoever carries tools out besides, in tasks of its own, waits until all that
            was emitted before has been taken from it, calls this right before a tool begins, and
            then looks at `stop`.
        conversation: gives the conversation as clients have it now, with what this run has told. An
            adapter that takes something back yields a MESSAGES_SNAPSHOT made of it.
        raw_messages, raw_new_messages: `messages` and `new_messages` as JSON; copies, made once
            somebody looks at them.
        checkpoints: whether a `Checkpoint` is to be yielded before each act begins, and with each
            result: another process takes the run up then, should this one die.
        standing: the `continuation` of the last one, in a run that was taken up; None in any other,
            and where there was none yet: the run begins as the lost one did.
        silent: whether the input says nothing: it came for the sake of the state alone.
        check_lease: raises `Fenced` when another process may have taken the run over.
        check_stop: await it right before a tool begins, then look at `stop`: it reads from the
            store whether another process took a stop request for this run, and sets `stop` if so.
            Without it such a request is heard of a little later. It never raises; a store that
            does not answer has nothing to say.
        policy: the bridge's; ask it with `agui_bridge.policy.judge` before each execution.
        mint: gives a new id, for messages and tool calls.
        now: gives the time by the store's clock, in seconds since the epoch: what `Ask.expires_at`
            is compared with.
    """

    agent: str
    thread_id: str
    run_id: str
    input: RunAgentInput
    principal: Principal
    state: Json = None
    stop: StopSignal = field(default_factory=StopSignal)
    resume: Resume | None = None
    handoff: HandoffResults | None = None
    closed: Sequence[ClosedBatch] = ()
    result: Json = None
    usage: list[Any] = field(default_factory=list)
    iteration: int | None = None
    end_reason: EndReason | None = None
    trace_headers: Mapping[str, str] = field(default_factory=dict)
    not_begun: Collection[str] = ()
    late_result: Callable[[str, str], None] = lambda call_id, content: None
    memo: Json = None
    outdated_memo: Json = None
    left: Json = None
    looks: bool = False
    callbacks: Callbacks | None = None
    superseded: Sequence[str] = ()
    archived: Sequence[str] = ()
    unkept: Sequence[Mapping[str, Json]] = ()
    known_calls: Collection[str] = ()
    before_act: Callable[[], None] | None = None
    conversation: Callable[[], Sequence[Mapping[str, Json]]] = lambda: ()
    raw_messages: Sequence[Mapping[str, Json]] = ()
    raw_new_messages: Sequence[Mapping[str, Json]] = ()
    checkpoints: bool = False
    standing: Json = None
    silent: bool = False
    check_lease: Callable[[], None] = lambda: None
    check_stop: Callable[[], Awaitable[None]] = _nobody_asks
    policy: Policy | None = None
    mint: Callable[[], str] = field(default=lambda: "")
    now: Callable[[], float] = time.time

    @cached_property
    def messages(self) -> list[Message]:
        """The conversation so far: what a model should see, this input's messages included.

        What is archived (docs/contract.md) is not in it, but in `conversation`.

        Content parts of types that AG-UI 1.0 does not have are in `raw_messages` alone.
        """
        return known_messages(self.raw_messages)

    @cached_property
    def new_messages(self) -> list[Message]:
        """What is new to the agent: the messages that this input added.

        Those of earlier inputs come first whose runs ended with `NotDelivered`.
        """
        return known_messages(self.raw_new_messages)

    @property
    def tools(self) -> Sequence[Tool]:
        """The application's own tools, as the client named them; empty where it has none."""
        return self.input.tools or ()

    def call_ids(self, also: Iterable[str] = ()) -> CallIds:
        """What gives new calls ids of their own, whatever a model calls them; one for each run.

        Args:
            also: ids of calls besides the thread's, which only the framework knows.
        """
        told = (c["id"] for m in self.raw_messages for c in m.get("toolCalls") or ())
        return CallIds((*self.known_calls, *told, *also), self.mint)

    def turns(self) -> list[Turn]:
        """`messages` as a model wants them: calls answered, neighbours in one, media in parts."""
        return turns_of(self.raw_messages)

    def results(self) -> dict[str, Json]:
        """What tools have returned by now, by the call's id, also those that just came back.

        Of a call that failed at the application it is what a model may read of that.
        """
        told: dict[str, Json] = {
            message["toolCallId"]: result_of(message)
            for message in self.raw_messages
            if message.get("role") == "tool"
        }
        return told if self.handoff is None else {**told, **self.handoff.results}

    @property
    def text(self) -> str:
        """What the input says: the text of its last user message, "" where it brings none.

        A message that is to be answered anew is brought again. A run that goes on, with answers or
        with the application's results, says what the conversation said last.
        """
        return "" if self.silent else last_text(self.raw_messages)

    @cached_property
    def actions(self) -> list[PageAction]:
        """What a person did in a page, of the messages that this input added.

        Each is a user message among `new_messages` too, with its result as the text.
        """
        actions = (own_of(m).get("action") for m in self.raw_new_messages)
        return [
            PageAction(action["name"], action["toolCallId"], action["arguments"])
            for action in actions
            if action is not None
        ]


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stands: yielded before an act begins and with its result (`Run.checkpoints`).

    It is stored before the next item is asked for, with all that was yielded before it. What is
    yielded after the last one is not stored before the next: a run that is taken up says it again.

    Attributes:
        continuation: what the adapter goes on from (JSON): all that was yielded until now is said.
        begun: the acts that have begun, and have no result.
        has_result: whether an act has come to its result since the last one.
        events: are told with it, such as that result: stored together with it, or not at all.
        stored: called once it is stored.
    """

    continuation: Json
    begun: Sequence[BegunAct] = ()
    has_result: bool = False
    events: Sequence[BaseEvent | str] = ()
    stored: Callable[[], None] = lambda: None


RunItem = BaseEvent | Pause | Handoff | Checkpoint | str
"""What an adapter yields: content events (no RUN_*), text, and at the end a pause."""


@runtime_checkable
class Adapter(Protocol):
    """One framework behind the bridge.

    `run` yields `RunItem`s. Ending normally means success, ending with a `Pause` an interrupt,
    raising RUN_ERROR. Raising `NotDelivered` before anything reached the framework reopens the
    batch. Being cancelled means that the run was stopped.
    """

    capabilities: AdapterCapabilities

    def run(self, run: Run) -> AsyncIterator[RunItem]:
        """Carry out one run, fresh or resumed."""
        ...

    async def aclose(self) -> None:
        """Release what the adapter holds: at shutdown, used or not, and perhaps twice."""
        ...


@runtime_checkable
class Looks(Protocol):
    """An adapter whose framework goes on with something after the run: `capabilities.looks`."""

    async def look(self, left: Json) -> bool:
        """Say whether the thread is to be told of something; change nothing.

        It is asked between the runs, less and less often, for a day at most. What it raises counts
        as False.

        Args:
            left: what a run has set as `Run.left`.
        """
        ...


async def close_items(items: object) -> None:
    """Close the `items` that an agent gave to be iterated over, if they can be closed."""
    aclose = getattr(items, "aclose", None)
    if aclose is not None:
        await aclose()
