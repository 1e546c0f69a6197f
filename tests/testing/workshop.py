"""A small framework, and an adapter of it that does everything right."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ag_ui.core import (
    SubagentFinishedEvent,
    SubagentStartedEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_bridge import (
    Adapter,
    AdapterCapabilities,
    Answer,
    Approve,
    Ask,
    Decision,
    NotDelivered,
    Pause,
    ProposedCall,
    Resume,
    Run,
    RunItem,
    ToolCall,
)
from agui_bridge.adapters import HoldEnd
from agui_bridge.policy import judge
from agui_bridge.protocol.threads.records import ClosedBatch
from agui_bridge.testing import AdapterScenario

__all__ = ["Call", "Workshop", "WorkshopAdapter", "is_below", "scenario_of"]

PATIENCE = 4.0
PARAMETERS = {"type": "object", "properties": {"version": {"type": "string"}}}
WHEN = {"type": "object", "required": ["when"], "properties": {"when": {"type": "string"}}}

Call = dict[str, Any]
"""A proposed call: its id, and its arguments."""


class Workshop:
    """The framework.

    Attributes:
        executed: what was carried out.
        waiting: how many flows wait for an answer.
        locked: threads that nothing runs on any more.
        listeners: adapters that live.
        heard: what its model was told last.
        sessions: what it was told of each thread before.
        moment: seconds that a tool takes.
        long: seconds that slow work takes: longer than anybody waits for it.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.long = 3 * patience
        self.moment = patience / 10
        self.executed: list[Any] = []
        self.heard: Any = []
        self.sessions: dict[str, list[Any]] = {}
        self.waiting = 0
        self.locked: set[str] = set()
        self.listeners: list[Adapter] = []
        self._numbers = itertools.count(1)

    def propose(self) -> Call:
        """A call that waits for its approval."""
        number = next(self._numbers)
        return {"id": f"call-{number}", "args": {"version": f"v{number}"}}


class WorkshopAdapter:
    """The adapter; each of its parts is a method, which mutants break."""

    capabilities = AdapterCapabilities(
        edit=True, subagents=True, stop=True, policy=True, respond=True, looks=True, holds=True
    )

    def __init__(self, workshop: Workshop, *, reachable: bool = True) -> None:
        self.workshop = workshop
        self.reachable = reachable
        # Flows that wait here for their answers.
        self.waiting: set[str] = set()

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        self.workshop.heard = self.tell(run, [dict(message) for message in run.raw_messages])
        if run.resume is not None:
            items = self.resume(run, run.resume)
        elif run.looks:
            items = self.ask_later(run)
        else:
            self.release(run.closed)
            items = self.start(run)
        async with contextlib.aclosing(items):
            async for item in items:
                yield item

    async def look(self, left: Any) -> bool:
        return isinstance(left, dict)

    async def closed(self, continuation: Any, end: HoldEnd) -> None:
        self.waiting.remove(continuation["flow"])

    async def aclose(self) -> None:
        pass

    def tell(self, run: Run, messages: list[dict[str, Any]]) -> Any:
        """What the model is told of a conversation."""
        own = [message for message in messages if "subagentRunId" not in message]
        calls = {call["id"] for message in own for call in message.get("toolCalls") or ()}
        return [m for m in own if m["role"] != "tool" or m["toolCallId"] in calls]

    # --- a new message ---

    async def start(self, run: Run) -> AsyncGenerator[RunItem, None]:
        match run.text:
            case "deploy":
                yield "I will deploy. "
                yield self.ask(run, [self.workshop.propose()])
            case "deploy both":
                yield self.ask(run, [self.workshop.propose(), self.workshop.propose()])
            case "when":
                ask = Ask("when", message="When?", response_schema=WHEN)
                yield Pause([ask], {"flow": secrets.token_hex(8), "calls": []})
            case "measure":
                call = run.mint()
                yield ToolCallStartEvent(tool_call_id=call, tool_call_name="measure")
                for item in self.asking(run, call):
                    yield item
            case "whatever":
                yield Pause([Ask("when")], {"flow": secrets.token_hex(8), "calls": []})
            case "deploy beside":
                for item in self.look_at_it(run, "beside"):
                    yield item
                yield self.ask(run, [self.workshop.propose()])
            case "deploy twice":
                yield self.ask(run, [self.workshop.propose()], then="again")
            case "deploy, then look":
                yield self.ask(run, [self.workshop.propose()], then="look")
            case "deploy below":
                yield SubagentStartedEvent(subagent_run_id="s", name="helper")
                pause = self.ask(run, [self.workshop.propose()], then="below")
                yield replace(pause, asks=[replace(ask, subagent_run_id="s") for ask in pause.asks])
            case "look around":
                async with contextlib.aclosing(self.look_around(run)) as items:
                    async for item in items:
                        yield item
            case "slow":
                async with contextlib.aclosing(self.work(run)) as items:
                    async for item in items:
                        yield item
            case "deploy later":
                run.left = self.leave()
                yield "Later. "
            case "delegate":
                yield SubagentStartedEvent(subagent_run_id="s", name="helper")
                yield SubagentFinishedEvent(subagent_run_id="s")
            case _:
                for item in self.greet(run):
                    yield item

    def leave(self) -> Any:
        """Begin work that asks later."""
        return {"call": self.workshop.propose()}

    async def ask_later(self, run: Run) -> AsyncGenerator[RunItem, None]:
        yield self.ask(run, [run.left["call"]], then="done")

    def asking(self, run: Run, call: str) -> Sequence[RunItem]:
        """Ask in the middle of a call."""
        ask = Ask("when", message="When?", response_schema=WHEN, about=call)
        return [Pause([ask], {"flow": secrets.token_hex(8), "calls": [], "amid": call})]

    def greet(self, run: Run) -> Sequence[RunItem]:
        return ["Hello", " there."]

    def look_at_it(self, run: Run, at: str) -> Sequence[RunItem]:
        """Carry a call out unasked."""
        call = run.mint()
        self.execute({"at": at})
        return [
            ToolCallStartEvent(tool_call_id=call, tool_call_name="look"),
            ToolCallResultEvent(message_id=run.mint(), tool_call_id=call, content="seen"),
        ]

    async def look_around(self, run: Run) -> AsyncGenerator[RunItem, None]:
        for at in ("left", "right"):
            if run.stop.requested:
                return
            call = run.mint()
            yield ToolCallStartEvent(tool_call_id=call, tool_call_name="look")
            await asyncio.sleep(self.workshop.moment)
            self.execute({"at": at})
            yield self.seen(run, call)

    def seen(self, run: Run, call: str) -> RunItem:
        return ToolCallResultEvent(message_id=run.mint(), tool_call_id=call, content="seen")

    async def work(self, run: Run) -> AsyncGenerator[RunItem, None]:
        yield "Working. "
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(run.stop.wait(), self.workshop.long)

    def ask(self, run: Run, calls: Sequence[Call], then: str = "") -> Pause:
        self.workshop.waiting += 1
        flow = f"flow-{secrets.token_hex(8)}"
        kept = self.keep(flow, calls)
        self.waiting.add(kept["flow"])
        asks = [self.question(call, flow) for call in calls]
        return Pause(asks, {**kept, "then": then}, held=True)

    def question(self, call: Call, flow: str) -> Ask:
        return Ask(
            native_id=call["id"],
            reason="tool_call",
            tool_call=ToolCall(call["id"], "deploy", call["args"]),
            parameters=PARAMETERS,
            allowed=("approve", "decline", "edit", "respond"),
        )

    def keep(self, flow: str, calls: Sequence[Call]) -> Any:
        return {"flow": flow, "calls": list(calls)}

    # --- an answer ---

    async def resume(self, run: Run, resume: Resume) -> AsyncGenerator[RunItem, None]:
        if not self.reachable:
            raise self.failure()
        kept = self.recall(run, resume)
        if resume.held:
            self.wake(kept["flow"])
        if not kept["calls"]:
            self.deliver(run, resume.decisions["when"])
        if kept.get("amid"):
            yield self.seen(run, kept["amid"])
        for call in kept["calls"]:
            if self.heeds_stop(run):
                return
            decision = self.decision(call, kept, resume.decisions)
            self.workshop.heard += [decision.text]
            args = self.permitted(call, decision, kept)
            if args is None or not await self.allowed(run, args):
                continue
            self.check_lease(run)
            self.execute(args)
            for item in self.told(run, call):
                yield item
        async with contextlib.aclosing(self.go_on(run, kept)) as items:
            async for item in items:
                yield item
        yield "Done."

    async def go_on(self, run: Run, kept: Any) -> AsyncGenerator[RunItem, None]:
        if kept.get("then") == "again":
            yield self.ask(run, [self.workshop.propose()])
        elif kept.get("then") == "done":
            run.left = None
        elif kept.get("then") == "look":
            for item in self.look_at_it(run, "later"):
                yield item

    def wake(self, flow: str) -> None:
        """Go on with what waits here."""
        self.waiting.remove(flow)

    def failure(self) -> Exception:
        return NotDelivered("The workshop can't be reached.")

    def recall(self, run: Run, resume: Resume) -> Any:
        return resume.continuation

    def heeds_stop(self, run: Run) -> bool:
        return run.stop.requested

    def decision(self, call: Call, kept: Any, decisions: Mapping[str, Decision]) -> Decision:
        return decisions[call["id"]]

    def permitted(self, call: Call, decision: Decision, kept: Any) -> dict[str, Any] | None:
        return dict(decision.args) if isinstance(decision, Approve) else None

    async def allowed(self, run: Run, args: dict[str, Any]) -> bool:
        if run.policy is None:
            return True
        proposed = ProposedCall(run.agent, run.thread_id, run.principal, "deploy", args, True)
        return (await judge(run.policy, proposed)).action == "allow"

    def check_lease(self, run: Run) -> None:
        run.check_lease()

    def execute(self, args: Any) -> None:
        self.workshop.executed.append(args)

    def told(self, run: Run, call: Call) -> Sequence[RunItem]:
        return [
            ToolCallResultEvent(message_id=run.mint(), tool_call_id=call["id"], content="deployed")
        ]

    def deliver(self, run: Run, decision: Decision) -> None:
        if isinstance(decision, Answer):
            run.check_lease()
            self.execute(decision.payload)

    def release(self, closed: Sequence[ClosedBatch]) -> None:
        pass


def is_below(run: Run) -> bool:
    """Whether a sub-agent asked."""
    return any(m.get("content") == "deploy below" for m in run.raw_messages)


@contextlib.asynccontextmanager
async def scenario_of(
    adapter: type[WorkshopAdapter] = WorkshopAdapter, *, patience: float = PATIENCE, **changes: Any
) -> AsyncIterator[AdapterScenario]:
    """A scenario that shows all that there is, before a workshop of its own."""
    workshop = Workshop(patience)
    told: dict[str, Any] = {
        "adapter": lambda: adapter(workshop),
        "approval": "deploy",
        "parallel": "deploy both",
        "question": "when",
        "answer": {"when": "now"},
        "slow": "slow",
        "subagent": "delegate",
        "edited": {"version": "v0"},
        "beside": "deploy beside",
        "twice": "deploy twice",
        "stages": "deploy, then look",
        "nested": "deploy below",
        "acting": "look around",
        "later": "deploy later",
        "free": "whatever",
        "amid": "measure",
        "image": "look at this",
        "heard": lambda: workshop.heard,
        "executed": lambda: workshop.executed,
        "unreachable": lambda: adapter(workshop, reachable=False),
        "patience": patience,
    }
    yield AdapterScenario(**{**told, **changes})
