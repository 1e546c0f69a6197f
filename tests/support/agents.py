"""Adapters that do what a test says, and a bench on which the engine runs them without HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ag_ui.core import (
    BaseEvent,
    EventType,
    MessagesSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_bridge.adapters import Adapter, AdapterCapabilities, Ask, Pause, Run, RunItem
from agui_bridge.engine.engine import Engine
from agui_bridge.engine.input.settings import DisconnectPolicy, Settings
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.run.end_hooks import RunEndHook
from agui_bridge.engine.streaming.clock import Clock
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.engine.telemetry import NO_TELEMETRY, Telemetry
from agui_bridge.protocol.answers.decisions import Approve
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Principal, ThreadKey, ToolCall
from agui_bridge.protocol.wire.sse import Decoder
from agui_bridge.stores.base import Store
from agui_bridge.stores.memory import MemoryStore
from tests.support.clock import FakeClock
from tests.support.streams import check_stream
from tests.support.waiting import PATIENCE, eventually

__all__ = [
    "Answering",
    "Bench",
    "Reader",
    "Scripted",
    "approval",
    "as_time_passes",
    "call_events",
    "eventually",
    "outcome",
    "pass_time",
    "result",
    "settle",
    "text_events",
    "users",
]

T = TypeVar("T")
Event = dict[str, Any]
Script = Callable[[Run], AsyncIterator[RunItem]]


async def settle(passes: int = 60) -> None:
    """Let everything that is ready go on."""
    for _ in range(passes):
        await asyncio.sleep(0)


async def pass_time(clock: FakeClock, seconds: float, step: float = 0.25) -> None:
    """Advance a clock in steps, and let everything that wakes do what it has to."""
    end = clock.monotonic() + seconds
    while (left := end - clock.monotonic()) > 1e-9:
        clock.advance(min(step, left))
        await settle()


async def as_time_passes(clock: FakeClock, work: Awaitable[T], step: float = 0.05) -> T:
    """Await something while a clock goes on."""
    ticking = asyncio.create_task(pass_time(clock, 1e9, step))
    try:
        async with asyncio.timeout(PATIENCE):
            return await work
    finally:
        ticking.cancel()


def redacted(run: Run, before: str, after: str) -> BaseEvent:
    """The conversation with a text in the place of another one."""
    now: Any = [
        {**one, "content": after} if one.get("content") == before else one
        for one in run.conversation()
    ]
    return MessagesSnapshotEvent.model_construct(type=EventType.MESSAGES_SNAPSHOT, messages=now)


class Scripted(Adapter):
    """Runs one script after the other, the last one again and again.

    A script is a function from a run to its items, or simply the items; an exception among
    them is raised in its place.

    Attributes:
        runs: every run that was asked of it.
        closed: how often it was closed.
    """

    def __init__(
        self,
        *scripts: Script | Iterable[RunItem | BaseException],
        **capabilities: bool,
    ) -> None:
        self.capabilities = AdapterCapabilities(**capabilities)
        self.runs: list[Run] = []
        self.closed = 0
        self._scripts = [s if callable(s) else _play(list(s)) for s in scripts]

    def run(self, run: Run) -> AsyncIterator[RunItem]:
        script = self._scripts[min(len(self.runs), len(self._scripts) - 1)]
        self.runs.append(run)
        return script(run)

    async def aclose(self) -> None:
        self.closed += 1


def _play(items: list[RunItem | BaseException]) -> Script:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        for item in items:
            if isinstance(item, BaseException):
                raise item
            yield item

    return script


class Answering(Scripted):
    """Asks for approval of calls and executes what was approved.

    Attributes:
        executed: arguments of each execution, by call id.
        before_tool: awaited before each execution, if given.
    """

    def __init__(self, *asks: Ask, **capabilities: bool) -> None:
        super().__init__(self._script, **capabilities)
        self.asks = asks or (approval(),)
        self.executed: list[tuple[str, Mapping[str, Any]]] = []
        self.before_tool: Callable[[], Any] | None = None

    async def _script(self, run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            yield "I ask. "
            yield Pause(self.asks, {"step": 1})
            return
        yield "Back. "
        for ask in self.asks:
            decision = run.resume.decisions[ask.native_id]
            if isinstance(decision, Approve) and ask.tool_call is not None:
                if self.before_tool is not None:
                    await self.before_tool()
                self.executed.append((ask.tool_call.id, decision.args))
                yield result(ask.tool_call.id, "done")
        yield "Finished."


def approval(call: str = "c1", native: str | None = None, **members: Any) -> Ask:
    """The question whether a call may run."""
    return Ask(
        native or f"native-{call}",
        "tool_call",
        f"May {call} run?",
        ToolCall(call, "send", {"to": call}),
        **members,
    )


def text_events(message: str, *deltas: str, end: bool = True) -> list[RunItem]:
    """A text message as events."""
    items: list[RunItem] = [TextMessageStartEvent(message_id=message, role="assistant")]
    items += [TextMessageContentEvent(message_id=message, delta=delta) for delta in deltas]
    return [*items, TextMessageEndEvent(message_id=message)] if end else items


def call_events(call: str, name: str = "look", args: str = "{}") -> list[RunItem]:
    """A tool call as events, without its result."""
    return [
        ToolCallStartEvent(tool_call_id=call, tool_call_name=name),
        ToolCallArgsEvent(tool_call_id=call, delta=args),
        ToolCallEndEvent(tool_call_id=call),
    ]


def result(call: str, content: str = "ok") -> ToolCallResultEvent:
    """A tool's result."""
    return ToolCallResultEvent(message_id=f"m-{call}", tool_call_id=call, content=content)


def users(*texts: str) -> list[dict[str, str]]:
    """User messages; a text is its own id."""
    return [{"id": text, "role": "user", "content": text} for text in texts]


def outcome(events: list[Event]) -> str:
    """How a stream ended: the outcome's type, or the code of its error."""
    last = events[-1]
    found: str = last["code"] if last["type"] == "RUN_ERROR" else last["outcome"]["type"]
    return found


class Reader:
    """Reads a run's pipe as a connection would."""

    def __init__(self, pipe: Pipe, stream: EventStream) -> None:
        self.pipe = pipe
        self.stream = stream
        self.events: list[Event] = []
        self._decoder = Decoder()

    async def step(self) -> bool:
        """Read what is ready; False at the end."""
        async with asyncio.timeout(PATIENCE):
            chunk = await self.pipe.read()
        self.events += [json.loads(frame.data) for frame in self._decoder.feed(chunk)]
        return bool(chunk)

    async def until(self, kind: str) -> Event:
        """Read until there is an event of a type."""
        while not (found := [e for e in self.events if e["type"] == kind]):
            assert await self.step(), f"the stream ended without {kind}: {self.kinds}"
        return found[0]

    async def rest(self) -> list[Event]:
        """Read to the end, which must be a valid one; gives all events."""
        while await self.step():
            pass
        check_stream(self.events, self.kinds[-2:] == ["RUN_FINISHED", "RUN_ERROR"])
        return self.events

    def leave(self) -> None:
        """Go away."""
        self.pipe.detach()

    @property
    def kinds(self) -> list[str]:
        """The types of the events."""
        return [event["type"] for event in self.events]

    @property
    def text(self) -> str:
        """All streamed text."""
        return "".join(e["delta"] for e in self.events if e["type"] == "TEXT_MESSAGE_CONTENT")


_PROCESSES = itertools.count(1)


class Bench:
    """An engine with one agent and one thread.

    Several benches on one store are several processes.
    """

    KEY = ThreadKey("default", "agent", "t")

    def __init__(
        self,
        adapter: Adapter,
        *,
        store: Store | None = None,
        clock: Clock | None = None,
        telemetry: Telemetry = NO_TELEMETRY,
        on_run_end: Sequence[RunEndHook] = (),
        thread: str = "t",
        **settings: Any,
    ) -> None:
        self.KEY = ThreadKey("default", "agent", thread)
        quick: dict[str, Any] = {
            "cancel_grace": 0.2,
            "stop_poll": 0.05,
            "sweep_interval": 0.0,
            "busy_patience": 0.0,
        }
        quick |= settings
        self.settings = Settings(**quick)
        self.adapter = adapter
        self.store: Store = store or MemoryStore()
        self.engine = Engine(
            self.store,
            self.settings,
            clock,
            telemetry=telemetry,
            on_run_end=on_run_end,
            agents={"agent": Agent("agent", adapter, self.settings)},
        )
        self.agent = Agent("agent", adapter, self.settings)
        # Two processes never give a run the same id.
        self._runs = (f"run-{next(_PROCESSES)}-{n}" for n in itertools.count(1))

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Bench]:
        """Start what runs beside the inputs; stop everything at the end."""
        self.engine.start()
        try:
            yield self
        finally:
            await self.engine.aclose()

    def call(
        self,
        *texts: str,
        disconnect: DisconnectPolicy = "continue",
        actor: str = "ann",
        version: str | None = "1.0",
        **members: Any,
    ) -> Submission:
        """An input: user messages and other members of RunAgentInput."""
        body: dict[str, Any] = {
            "threadId": self.KEY.thread,
            "runId": next(self._runs),
            "messages": users(*texts),
            **members,
        }
        if version is not None:
            body["protocolVersion"] = version
        return Submission(self.agent, Principal("default", actor), parse_input(body), disconnect)

    def begin(self, *texts: str, **members: Any) -> Reader:
        """Begin an input; its stream is read by the caller."""
        return Reader(*self.engine.submit(self.call(*texts, **members)))

    async def say(self, *texts: str, **members: Any) -> list[Event]:
        """Carry an input out; gives its events."""
        return await self.begin(*texts, **members).rest()

    async def ask(self) -> list[dict[str, Any]]:
        """Run to the first pause; gives its interrupts."""
        events = await self.say("go")
        assert outcome(events) == "interrupt", events[-1]
        interrupts: list[dict[str, Any]] = events[-1]["outcome"]["interrupts"]
        return interrupts

    @staticmethod
    def entries(
        interrupts: Iterable[Mapping[str, Any]], payload: Any = None, status: str = "resolved"
    ) -> list[dict[str, Any]]:
        """A resume that answers all alike; by default it approves."""
        answer = {"approved": True} if payload is None else payload
        if status == "cancelled":
            return [{"interruptId": i["id"], "status": status} for i in interrupts]
        return [{"interruptId": i["id"], "status": status, "payload": answer} for i in interrupts]

    async def load(self, *interrupts: str) -> Loaded:
        """The thread as it is stored, messages included."""
        return await self.store.load(self.KEY, interrupts, messages=True)

    async def stored(self) -> list[StoredMessage]:
        """All stored messages, the superseded ones included."""
        return await self.store.history(self.KEY)

    async def texts(self) -> list[tuple[str, Any]]:
        """Role and content of the stored messages in context."""
        return [(m.message["role"], m.message.get("content")) for m in (await self.load()).messages]
