"""The adapter interface: how a framework's run and its pause reach the bridge.

An adapter turns one framework's run into AG-UI content events, and its pause into a `Pause`.
It keeps no pending state, never sees an unchecked answer, and is never asked twice for the
same pause. Everything else the wire needs is the engine's work.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, runtime_checkable

from ag_ui.core import BaseEvent, Message, RunAgentInput

from agui_bridge.errors import ConfigurationError
from agui_bridge.policy import Policy
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, Decision
from agui_bridge.protocol.threads.content_parts import known_messages
from agui_bridge.protocol.threads.records import ClosedBatch, Json, Principal, ToolCall
from agui_bridge.protocol.threads.run_ends import EndReason

__all__ = [
    "Adapter",
    "AdapterCapabilities",
    "Ask",
    "Handoff",
    "HandoffResults",
    "InstalledAdapter",
    "Pause",
    "Resume",
    "Run",
    "RunItem",
    "StopSignal",
    "close_items",
    "installed_adapters",
    "load_adapter",
]

ENTRY_POINTS = "agui_bridge.adapters"
"""The entry-point group by which adapters, ours and third parties', are found."""


@dataclass(frozen=True, slots=True)
class AdapterCapabilities:
    """What an adapter supports. Declare only what is true: the rest is refused, not ignored.

    Attributes:
        approve: pauses for tool approvals can be approved.
        decline: they can be refused; the reason reaches the framework.
        edit: the arguments can be edited with the approval.
        answer: questions with a free payload are supported.
        cancel: `Cancel` is understood.
        subagents: emits SUBAGENT events.
        stop: ends by itself soon after `Run.stop` is set (a tool that runs may finish
            first); without it a stop cancels the run at once.
        own_history: the framework keeps the conversation itself and needs only
            `Run.new_messages`.
        policy: has every tool call judged by `Run.policy` before it is executed; without it
            a bridge that has a policy refuses the adapter.
    """

    approve: bool = True
    decline: bool = True
    edit: bool = False
    answer: bool = True
    cancel: bool = True
    subagents: bool = False
    stop: bool = False
    own_history: bool = False
    policy: bool = False

    @property
    def decisions(self) -> tuple[str, ...]:
        """The decisions on a tool approval, of approve, decline, edit."""
        supported = {"approve": self.approve, "decline": self.decline, "edit": self.edit}
        return tuple(name for name, true in supported.items() if true)


@dataclass(frozen=True, slots=True)
class Ask:
    """One question of a pause.

    Attributes:
        native_id: the adapter's own name for it, unique within the pause; the decision comes
            back under it.
        reason: `tool_call`, `input_required`, `confirmation` or `<framework>:<name>`.
        message: plain text for people.
        tool_call: for a tool approval the proposed call; its arguments are pinned.
        parameters: the tool's parameter JSON Schema: what edited arguments must satisfy.
        response_schema: JSON Schema of the payload; by default that of a tool approval when
            there is a tool call, of a confirmation when the reason is `confirmation`, else
            none (any payload).
        allowed: decisions on a tool approval, of approve, decline, edit.
        expires_in: seconds until it can't be answered; None takes the agent's setting.
        subagent_run_id: the sub-agent that asks.
        metadata: public, for the frontend.
    """

    native_id: str
    reason: str = "input_required"
    message: str | None = None
    tool_call: ToolCall | None = None
    parameters: Mapping[str, Json] | None = None
    response_schema: Mapping[str, Json] | None = None
    allowed: tuple[str, ...] = (APPROVE, DECLINE)
    expires_in: float | None = None
    subagent_run_id: str | None = None
    metadata: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Yielded last: the run waits for people.

    Attributes:
        asks: at least one question; they are answered as one batch.
        continuation: JSON that comes back with the answers, private to the adapter.
        frontend_calls: ids of frontend tool calls of this run that are pending besides.
    """

    asks: Sequence[Ask]
    continuation: Json = None
    frontend_calls: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Handoff:
    """Yielded last: the run ended with frontend tool calls that the application executes.

    Attributes:
        tool_call_ids: calls of this run (their events were yielded) that it left unanswered.
        continuation: JSON that comes back with their results.
    """

    tool_call_ids: Sequence[str]
    continuation: Json = None


@dataclass(frozen=True, slots=True)
class HandoffResults:
    """What the application returned: content by tool call id, for calls that have a result."""

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
            one pause may come one after the other, and the run begins with the last.
    """

    continuation: Json
    decisions: Mapping[str, Decision]
    new_messages: Sequence[Message] = ()
    actors: Mapping[str, str] = field(default_factory=dict)


class StopSignal:
    """Tells an adapter that the run shall end: `await run.stop`, or look at `requested`.

    Attributes:
        requested: whether a stop was asked for.
        force: whether nothing may be waited for, not even a running tool.
    """

    def __init__(self) -> None:
        self.requested = False
        self.force = False
        self._event: asyncio.Event | None = None
        self._children: list[StopSignal] = []

    def request(self, *, force: bool = False) -> None:
        """Ask for the stop; a later force sharpens an earlier graceful one."""
        self.requested = True
        self.force = self.force or force
        if self._event is not None:
            self._event.set()
        for child in self._children:
            child.request(force=force)

    def child(self) -> StopSignal:
        """A signal for a part of the run: set whenever this one is, and by itself.

        For adapters that wrap another one and may have to end its run alone.
        """
        child = StopSignal()
        if self.requested:
            child.request(force=self.force)
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


@dataclass(eq=False)
class Run:
    """One run, as its adapter sees it.

    Attributes:
        agent: name of the agent.
        thread_id: the conversation.
        run_id: this run; clients re-use run ids, so never key anything on it.
        input: the input as it came (normalised to 1.0); its messages are the client's claim,
            `messages` is the context.
        principal: who asks.
        state: the shared state at the start.
        stop: set when the run shall end.
        resume: the answers, when this run continues a pause.
        handoff: the frontend's results, when this run continues a handoff.
        closed: batches that ended without an answer since the last run: release the
            framework's own pauses.
        result: set it for RUN_FINISHED's `result` (JSON).
        usage: append token usage entries (ag_ui.core.TokenUsage or dicts).
        iteration: model steps begun, if the adapter counts them.
        end_reason: set it when the adapter knows better than SUCCESS (or ERROR_OCCURRED) why
            the run ended.
        trace_headers: send them with every request to the framework, so that its spans become
            children of this run's; empty when nobody traces.
        not_begun: set it, at the end, to the tool calls of `resume` that were approved and that you
            certainly did not begin; an adapter that wraps yours then says so of them.
        before_act: set by an adapter that wraps yours and may have to keep it from acting, else
            None. Tools that run in `run` itself after their TOOL_CALL_START was yielded need
            nothing. Whoever carries tools out besides, in tasks of its own, waits until all that
            was emitted before has been taken from it, calls this right before a tool begins, and
            then looks at `stop`.
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
    before_act: Callable[[], None] | None = None
    # The engine's side: raw messages, the check that the lease still holds, the policy.
    raw_messages: Sequence[Mapping[str, Json]] = ()
    raw_new_messages: Sequence[Mapping[str, Json]] = ()
    check_lease: Callable[[], None] = lambda: None
    policy: Policy | None = None
    mint: Callable[[], str] = field(default=lambda: "")

    @cached_property
    def messages(self) -> list[Message]:
        """The conversation so far: what a model should see, this input's messages included.

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
    def text(self) -> str:
        """The text of the last user message, "" when there is none."""
        for message in reversed(self.raw_messages):
            if message.get("role") == "user":
                content = message.get("content")
                if isinstance(content, str):
                    return content
                parts = content if isinstance(content, list) else []
                return "".join(p.get("text", "") for p in parts if p.get("type") == "text")
        return ""


RunItem = BaseEvent | Pause | Handoff | str
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


@dataclass(frozen=True, slots=True)
class InstalledAdapter:
    """An adapter that some installed package offers.

    Attributes:
        name: its name in the entry-point group.
        package: the distribution that brings it.
        missing: the command that installs what it lacks, None when it can be used.
    """

    name: str
    package: str
    missing: str | None


async def close_items(items: object) -> None:
    """Close what an agent gave to be iterated over, if it can be closed.

    A `run` need not be an async generator: any async iterator will do, and few have an `aclose`.
    """
    aclose = getattr(items, "aclose", None)
    if aclose is not None:
        await aclose()


def installed_adapters() -> list[InstalledAdapter]:
    """List the adapters that are registered, usable or not, by name."""
    found = []
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        missing: str | None = None
        try:
            load_adapter(entry.name)
        except ConfigurationError:
            missing = _install_command(entry)
        found.append(InstalledAdapter(entry.name, _package(entry), missing))
    return found


def load_adapter(name: str) -> Any:
    """Load an adapter's class by its name.

    Raises:
        ConfigurationError: nothing of that name is installed, or its framework is not; the
            message has the command that installs it.
    """
    known = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise ConfigurationError(f"There is no adapter {name!r}; installed are: {names}.")
    try:
        return known[name].load()
    except ImportError as error:
        raise ConfigurationError(
            f"The adapter {name!r} lacks a package ({error.name or error}). "
            f"Install it: {_install_command(known[name])}"
        ) from error


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "unknown"


def _install_command(entry: EntryPoint) -> str:
    package = _package(entry)
    extra = f"[{entry.name}]" if package == "agui-bridge" else ""
    return f'pip install "{package}{extra}"'
