"""The moments of a run at which it is stopped, and what must hold of the runs that follow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.records import Principal, ThreadKey
from tests.adapters.nexau.real.model import (
    FLOW,
    HOLD,
    Delta,
    Model,
    Script,
    args,
    call,
    text,
    thought,
)
from tests.adapters.nexau.real.replay import Replay
from tests.support.agents import Bench, Reader, eventually
from tests.support.waiting import PATIENCE

__all__ = ["PHASES", "Case", "Phase"]

WHOLE = '{"job": "JOB"}'


@dataclass(frozen=True)
class Phase:
    """A moment of a run.

    Attributes:
        name: of it.
        steps: what the model says, request by request.
        event: type of the event after which it has come, "" for none.
        held: whether the model or the tool waits there.
        holds_tool: whether the tool does.
        over: whether it comes after the run's end.
    """

    name: str
    steps: Sequence[Sequence[Delta]]
    event: str = ""
    held: bool = False
    holds_tool: bool = False
    over: bool = False

    @property
    def stands_still(self) -> bool:
        """Whether NexAU says nothing more though a graceful stop has come."""
        return any(HOLD in step for step in self.steps)

    def script(self, job: str) -> Script:
        """What the model and the tool do for a job."""
        steps = [
            [
                args(WHOLE.replace("JOB", job)) if delta is CALLED else
                call(f"call-{job}") if delta is CALL else delta
                for delta in step
            ]
            for step in self.steps
        ]  # fmt: skip
        return Script(steps, self.holds_tool)


CALL: Delta = {"placeholder": "call"}
CALLED: Delta = {"placeholder": "arguments"}
TEXT, THOUGHT, CALL_END = "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_END"

PHASES = (
    Phase("before_it_is_sent", [[text("one "), FLOW]]),
    Phase("before_it_has_begun", [[text("one "), FLOW]]),
    Phase("model_silent", [[HOLD, text("one ")]], held=True),
    Phase("thinking", [[thought("hm "), HOLD, text("one ")]], THOUGHT, held=True),
    Phase("text_flows", [[text("one "), FLOW]], TEXT, held=True),
    Phase("text_stands_still", [[text("one "), HOLD, text("two ")]], TEXT, held=True),
    Phase("text_is_whole", [[text("one two ")]], "TEXT_MESSAGE_END"),
    Phase("call_begun", [[text("well "), CALL, HOLD, CALLED]], "TOOL_CALL_START", held=True),
    Phase("amid_arguments", [[CALL, args('{"job": "'), HOLD]], "TOOL_CALL_ARGS", held=True),
    Phase("arguments_whole", [[CALL, CALLED, FLOW]], "TOOL_CALL_ARGS", held=True),
    Phase("tool_runs", [[text("well "), CALL, CALLED]], CALL_END, held=True, holds_tool=True),
    Phase("tool_is_done", [[CALL, CALLED], [HOLD, text("one ")]], "TOOL_CALL_RESULT", held=True),
    Phase("text_after_a_tool", [[CALL, CALLED], [text("one "), FLOW]], TEXT, held=True),
    Phase("after_the_end", [[text("one ")]], over=True),
)  # fmt: skip


@dataclass
class Case:
    """A thread that is stopped, and goes on.

    Attributes:
        model: what it was told, and what the tool did.
        first: the process that runs it.
        second: the one that stops it and goes on.
        job: names the thread, and what the tool does.
    """

    model: Model | Replay
    first: Bench
    second: Bench
    job: str

    @property
    def key(self) -> ThreadKey:
        """The thread."""
        return ThreadKey("default", "agent", self.job)

    def begin(self, bench: Bench, said: str) -> Reader:
        """Begin a run with a user message."""
        messages = [{"id": said, "role": "user", "content": said}]
        body = {"threadId": self.job, "runId": said, "protocolVersion": "1.0", "messages": messages}
        call = Submission(bench.agent, Principal(), parse_input(body), "continue")
        return Reader(*bench.engine.submit(call))

    async def stopped_at(
        self,
        phase: Phase,
        come: Callable[[], Awaitable[object]],
        let_go: Callable[[], object],
        *,
        force: bool,
    ) -> None:
        """Begin a run and stop it.

        Args:
            phase: where.
            come: waits until NexAU has come there.
            let_go: lets the tool end, once a graceful stop has been sent.
            force: how.
        """
        reader = self.begin(self.first, f"{self.job} first")
        async with asyncio.timeout(PATIENCE):
            await come()
        if phase.event:
            await reader.until(phase.event)
        if phase.over:
            await reader.rest()
        # Where NexAU has nothing to say before the time is up, it is up soon.
        timeout = 0.5 if phase.stands_still else PATIENCE
        stopping = asyncio.create_task(
            self.second.engine.stop(self.key, force=force, timeout=timeout)
        )
        if phase.holds_tool and not force:
            await eventually(lambda: self._stop_requested(reader))
            let_go()
        await stopping
        await reader.rest()

    def _stop_requested(self, reader: Reader) -> bool:
        running = self.first.engine.running.get(self.key)
        return running is None or running.run.stop.requested

    async def goes_on(self) -> list[str]:
        """Two more runs; gives what is wrong with what the model is told, and the history."""
        faults: list[str] = []
        users = [f"{self.job} first"]
        for said in ("next", "last"):
            users.append(f"{self.job} {said}")
            before = await self.history()
            events = await self.begin(self.second, users[-1]).rest()
            if events[-1].get("outcome", {}).get("type") != "success":
                return [*faults, f"{said}: {events[-1]}"]
            told = self.model.told[users[-1]][-1]
            faults += [f"{said}: {fault}" for fault in self.compare(before, told, users)]
        return faults

    async def history(self) -> list[Mapping[str, Any]]:
        loaded = await self.first.store.load(self.key, messages=True)
        return [m.message for m in loaded.messages]

    def compare(
        self,
        history: Sequence[Mapping[str, Any]],
        told: Sequence[Mapping[str, Any]],
        users: Sequence[str],
    ) -> list[str]:
        """What is wrong with what a model is told of a history."""
        heard = [_plain(m) for m in told if m["role"] == "user"]
        faults = [] if heard == list(users) else [f"user messages {heard}"]
        said = [_plain(m) for m in told if m["role"] == "assistant"]
        for message in history:
            content = message.get("content")
            if message["role"] == "assistant" and content and said.count(content) != 1:
                faults.append(f"{content!r} is told {said.count(content)} times: {said}")
        for name, messages in (("history", history), ("model", told)):
            faults += [f"{name}: {fault}" for fault in self._calls(messages)]
        known, mine = _calls(history), _calls(told)
        if known.keys() - mine.keys():
            faults.append(f"the model does not know {known.keys() - mine.keys()}")
        return faults

    def _calls(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        faults = []
        for call_id, arguments in _calls(messages).items():
            results = [_plain(m) for m in messages if call_id in _result_of(m)]
            result = "; ".join(results)
            begun, done = self.model.begun[self.job], self.model.done[self.job]
            if len(results) != 1 or begun > 1:
                faults.append(f"{len(results)} results, begun {begun} times")
            if ("not executed" in result or "not complete" in result) and begun:
                faults.append(f"begun, and told: {result}")
            if "is done" in result and not done:
                faults.append(f"not done, and told: {result}")
            if not isinstance(json.loads(arguments), dict):
                faults.append(f"arguments {arguments!r}")
        return faults


def _calls(messages: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    found = {}
    for message in messages:
        for one in message.get("toolCalls") or message.get("tool_calls") or ():
            found[one["id"]] = one["function"]["arguments"]
    return found


def _result_of(message: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(message[key] for key in ("toolCallId", "tool_call_id") if key in message)


def _plain(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
