"""One run of an agent: what it is given, how its events come out, and what ends it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ag_ui.core import BaseEvent
from strands import Agent
from strands.agent.state import AgentState
from strands.types._snapshot import Snapshot

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import NotDelivered
from agui_bridge.frameworks.a2ui.drawing import surfaces_of
from agui_bridge.frameworks.a2ui.offer import GENERATE, page_of
from agui_bridge.frameworks.a2ui.settings import A2UI
from agui_bridge.frameworks.application import Application
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.frameworks.subagents import Subagents
from agui_bridge.frameworks.turn import FrameworkTurn
from agui_bridge.protocol.answers.asks import Ask, Handoff, Pause
from agui_bridge.protocol.answers.decisions import Answer, Approve
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge.protocol.turns import text_of, turns_of
from agui_bridge_strands.content import from_json, text_in, text_of_json, to_json, user_blocks
from agui_bridge_strands.guard import FrontendTool, Guard, call_events
from agui_bridge_strands.history import (
    instructions_of,
    memo_of,
    read_conversation,
    with_words,
)
from agui_bridge_strands.interrupts import Interrupts
from agui_bridge_strands.own_copy import (
    STRANDS,
    agents_in,
    expect_runnable,
    inner_agents,
    own_copy,
)
from agui_bridge_strands.pauses import ABOUT_A_CALL, Continuation, Waiting, batch_of, question_of
from agui_bridge_strands.reader import Reader
from agui_bridge_strands.surface_tool import SurfaceTool
from agui_bridge_strands.tool_events import ToolEvents
from agui_bridge_strands.tries import Tries

_CONTEXT: Final = "agui_context"
"""Where tools find the application's context in the agent's state, as behind ag_ui_strands."""

_TOKENS: Final = ("inputTokens", "outputTokens", "totalTokens")
_CACHED: Final = {
    "cacheReadInputTokens": "cachedInputTokens",
    "cacheWriteInputTokens": "cacheWriteInputTokens",
}
"""Counts of Strands that AG-UI calls something else, or that few models have."""


@dataclass(frozen=True)
class Settings:
    """What an adapter was given besides its agent; see `StrandsAdapter`."""

    approve: frozenset[str]
    limits: Mapping[str, int] | None
    application: Application
    predictions: tuple[PredictState, ...]
    behaviors: Mapping[str, Any]
    state_context_builder: Callable[[Any, str], str] | None
    a2ui: A2UI | None


class Turn(FrameworkTurn):
    """One run of an agent.

    Args:
        run: the run.
        agent: the application's agent; a copy of it is run.
        given: what its tools find in `invocation_state`.
        settings: the adapter's.

    Raises:
        ConfigurationError: the agent can't be run here; see `expect_runnable`.
    """

    def __init__(
        self,
        run: Run,
        agent: Agent,
        given: Mapping[str, Any],
        settings: Settings,
    ) -> None:
        expect_runnable(agent)
        super().__init__(run, Continuation.from_json, predictions=settings.predictions)
        self._settings = settings
        self._page = page_of(run, settings.a2ui, agent.tool_registry.registry)
        self._words = settings.application.words(run, self._page.context)
        # Held to the end: an agent that is gone closes what its tools are connected to.
        self._original = agent
        self._agent = own_copy(agent)
        self._given = dict(given)
        self._limits: Any = settings.limits
        kept: Continuation | None = self._kept
        if kept is not None:
            # Strands knows a call that goes on by the interrupt that it waits with.
            begun = self._rounds.going_on
            on = {one.id: self._decisions[one.call] for one in kept.waiting if one.call in begun}
            self._decisions = {**self._decisions, **on}
            self._decided = kept.decided(self._decisions)
        self._subagents = Subagents(run.mint, kept.subagents if kept else ())
        waiting = kept.waiting if kept else ()
        gated = [one.call for one in waiting if one.kind in ABOUT_A_CALL and one.call]
        self._calls = run.call_ids(gated)
        self._tries = Tries(kept.shown if kept else {}, kept.tried if kept else {})
        self._shown = dict(self._tries.shown)
        self._guard = Guard(
            run,
            self._make_gate,
            settings.approve,
            self._queue.write,
            self._subagents,
            gated=[*gated, *(kept.permits if kept else ())],
            rounds=self._rounds,
            calls=self._calls,
            tries=self._tries,
            tool_events=ToolEvents(run, settings.behaviors),
            reads=self._read_by_model,
        )
        self._gate = self._guard.gate
        self._gate.failed = self._stop_working
        output = agent._default_structured_output_model
        results = {str(m.get("toolCallId")) for m in run.raw_messages if m.get("role") == "tool"}
        handed = [one.call for one in waiting if one.kind == "frontend" and one.call]
        self._reader = Reader(
            run, output.__name__ if output is not None else None, {*results, *handed}
        )
        self._interrupts = Interrupts(self._agent, self._guard, self._subagents)
        self._late: list[Any] = []
        offered = [
            FrontendTool(one.name, one.description, one.parameters) for one in self._page.tools
        ]
        # An answer may come without the application's tools, and a call of one waits on.
        offered += [
            FrontendTool(one.tool, "", None)
            for one in waiting
            if one.kind == "frontend" and one.call not in run.results()
        ]
        for tool in offered:
            self._agent.tool_registry.registry.setdefault(tool.tool_name, tool)
        if self._page.offer is not None:
            surfaces = surfaces_of(run, self._page.offer, self._words)
            own = SurfaceTool(surfaces, agent.model, self._count)
            self._agent.tool_registry.registry[GENERATE] = own
        self._guard.install(self._agent)

    def _last_items(self) -> Iterator[RunItem]:
        yield from self._reader.end()
        for call, text in self._tries.untold():
            yield from self._reader.read(self._guard.result_event(call, text))

    async def _left(self) -> None:
        self._agent.state.delete(_CONTEXT)
        self._run.iteration = self._reader.replies
        self._note_state()

    # --- the agent's own task ---

    async def _work(self) -> Any:
        prompt = self._prompt()
        if self._settings.application.context != "off":
            context = [entry.model_dump() for entry in self._run.input.context or ()]
            self._agent.state.set(_CONTEXT, context)
        result = await self._stream(prompt)
        if self._late and result.stop_reason != "interrupt":
            late, self._late = self._late, []
            blocks = [b for turn in turns_of(late) for b in user_blocks(turn.content)]
            if blocks:
                result = await self._stream([{"role": "user", "content": blocks}])
        return result

    async def _stream(self, prompt: Any) -> Any:
        """The agent's result."""
        write = self._queue.write
        queue, result = self._queue, None
        options = {"limits": self._limits} if self._limits else {}
        stream: Any = self._agent.stream_async(
            prompt, invocation_state=dict(self._given), **options
        )
        async with contextlib.aclosing(stream) as events:
            async for event in events:
                if len(event) > 1 and event.get("type") != "tool_stream":
                    continue  # the same once more, with all of `invocation_state`
                if "event" in event:
                    usage = event["event"].get("metadata")
                    if usage is not None:
                        self._count(usage.get("usage") or {})
                    write(event)
                    if queue.full:
                        await queue.drained()
                elif "message" in event:
                    write(event)
                elif "result" in event:
                    result = event["result"]
                else:
                    self._interrupts.note(event)
        return result

    def _read_by_model(self, messages: Sequence[Any]) -> list[Any]:
        """The messages of a request, with what the application says."""
        builder = self._settings.state_context_builder
        if builder is None:
            return with_words(messages, self._words)
        given = self._run.input.model_copy(update={"state": self._run.state})
        return with_words(messages, self._words, lambda text: builder(given, text))

    def _prompt(self) -> Any:
        """What the agent begins or goes on with.

        Raises:
            NotDelivered: see `_restore`.
        """
        run, agent, kept = self._run, self._agent, self._kept
        told = instructions_of(run)
        if told and isinstance(agent.system_prompt_content, list):
            agent.system_prompt = [*agent.system_prompt_content, {"text": told}]
        elif told:
            agent.system_prompt = told
        if kept is None:
            memo = run.memo if isinstance(run.memo, dict) else {}
            self._load(memo.get("state"), memo.get("inner"))
            messages = read_conversation(run, agent.messages)
            last = messages[-1]
            if any("toolResult" in block for block in last["content"]):
                # Its calls are right before it: Strands would make up results of its own.
                agent.messages = self._checked(messages)
                return None
            agent.messages = self._checked(messages[:-1])
            return [last]
        self._restore(kept)
        self._late = [*kept.late, *self._new_user_messages()]
        return kept.responses(self._decisions)

    def _restore(self, kept: Continuation) -> None:
        """Bring the agent back to where it paused.

        Raises:
            NotDelivered: the installed Strands, or the agent as it is now, can't go on from there.
                Nothing was done, and the answers can be given again.
        """
        tools = {name for one in agents_in(self._agent) for name in one.tool_registry.registry}
        for one in kept.waiting:
            if one.call is not None and one.kind != "frontend" and one.tool not in tools:
                raise kept.refused(f"there is no tool {one.tool!r}.")
        results = kept.results(self._decisions, self._returned)
        told = {call: block["content"][0]["text"] for call, block in results.items()}
        for call, block in results.items():
            if block["status"] == "error":
                block["content"] = [{"text": self._tries.refused(call, told[call])[0]}]
        try:
            snapshot, inner = kept.restored(self._decisions, results)
            kept.expect_tools(self._agent, snapshot, results)
            self._agent.load_snapshot(Snapshot.from_dict(snapshot))
            self._load(None, inner)
        except NotDelivered:
            raise
        except Exception as error:
            raise kept.refused(error) from error
        for event in self._subagents.reopen():
            self._queue.write(event)
        for one in kept.waiting:
            if one.call is None:
                continue
            if one.subagent is not None:
                self._subagents.own(one.call, one.subagent)
            if one.kind != "frontend" and one.call in results:
                self._guard.tell_result(one.call, told[one.call])

    def _load(self, own: Any, inner: Any) -> None:
        """Give the agent what it had at the end of the last run."""
        if isinstance(own, dict):
            self._agent.state = AgentState(own)
        for path, one in _keeping(self._agent):
            if isinstance(inner, dict) and path in inner:
                one.load_snapshot(Snapshot.from_dict(from_json(inner[path])))

    def _checked(self, messages: list[Any]) -> list[Any]:
        """Messages that Strands finds nothing to carry out in."""
        if messages and any("toolUse" in block for block in messages[-1]["content"]):
            raise RuntimeError("The history ends in a call that has no result.")
        return messages

    def _returned(self, call: str) -> str | None:
        """What the application gave back for a call; None where it has not yet."""
        results = self._run.results()
        if call not in results:
            return None
        found = results[call]
        return text_of(found) if isinstance(found, list) else text_of_json(found)

    # --- what comes of it ---

    def _asked_calls(self) -> list[str]:
        waiting = self._kept.waiting if self._kept else ()
        return [self._tries.id(one.call) for one in waiting if one.call]

    @property
    def _touched(self) -> set[str]:
        answered: set[str] = self._reader.answered
        return answered | {self._shown.get(call, call) for call in self._gate.begun}

    @property
    def _is_untouched(self) -> bool:
        told = self._reader.answered - self._reader.known
        return self._kept is not None and not self._gate.begun and not told

    @property
    def is_left_alone(self) -> bool:
        """Whether nobody answered what no call is about: Strands has no way to go on from there."""
        return any(
            one.call is None and not isinstance(self._decisions.get(one.id), Answer)
            for one in (self._kept.waiting if self._kept else ())
        )

    def _result(self, failure: BaseException | None) -> Any:
        result = super()._result(getattr(failure, "original_exception", None) or failure)
        if result.stop_reason.startswith("limit_"):
            self._run.end_reason = EndReason.MAX_ITERATIONS_REACHED
            return None
        return result

    async def _ending(self, result: Any) -> AsyncGenerator[RunItem, None]:
        if result.stop_reason == "interrupt":
            waiting = list(self._interrupts.read(result.interrupts))
            for one, _ in waiting:
                for event in self._shown_again(one):
                    yield event
            yield self._pause(waiting)
            return
        if result.structured_output is not None:
            self._run.result = to_json(result.structured_output.model_dump(mode="json"))
        text = text_in(result.message["content"])
        if result.message["role"] == "assistant" and text and text != self._reader.last:
            # A hook gave it, or an agent in a tool that speaks in this one's place.
            for item in self._reader.say(text):
                yield item
        told = memo_of(self._run, self._reader.said, self._agent.messages)
        self._run.memo = {**told, "state": self._agent.state.get(), "inner": self._inner()}

    def _shown_again(self, waiting: Waiting) -> Iterator[BaseEvent]:
        """Tell a call that ran, and that people are asked about once more, as another call."""
        call = waiting.call
        if call is None or call not in self._tries.results:
            return
        self._tries.shown[call] = own = self._calls.new(call)
        for event in call_events(own, waiting.tool, waiting.args, waiting.subagent):
            yield from self._reader.read(event)

    def _pause(self, waiting: Sequence[tuple[Waiting, Any]]) -> Pause | Handoff:
        asks = list[Ask]()
        snapshot = self._agent.take_snapshot(preset="session").to_dict()
        for one, reason in waiting:
            self._rounds.expect_one_way(one.call, one.tool)
            shown = replace(one, call=self._tries.id(one.call)) if one.call else one
            if one.call in self._rounds.asks:
                amid = self._rounds.asks[one.call]
                asks += [replace(a, about=shown.call, subagent_run_id=one.subagent) for a in amid]
            elif one.kind == "permit":
                ask = self._guard.asks[one.name]
                call = ask.tool_call and replace(ask.tool_call, id=str(shown.call))
                asks.append(replace(ask, native_id=one.id, tool_call=call))
            elif one.kind != "frontend":
                parameters = self._interrupts.parameters(one)
                asks.append(question_of(shown, reason, parameters, batch_of(one, snapshot)))
        permits = {
            call: dict(decision.args)
            for call, decision in self._decided.items()
            if isinstance(decision, Approve)
            and call not in self._gate.begun
            and self._tries.id(call) not in self._reader.answered
        }
        kept = Continuation(
            snapshot=snapshot,
            inner=self._inner(),
            waiting=[one for one, _ in waiting],
            permits=permits,
            strands=installed_version(STRANDS),
            actor=self._actor,
            subagents=self._subagents.to_json(),
            late=self._late,
            shown=self._tries.shown,
            tried=self._tries.results,
            rounds=self._rounds.to_json(),
        ).to_json()
        handed = [one.call for one, _ in waiting if one.kind == "frontend" and one.call]
        return Pause(asks, kept, frontend_calls=handed) if asks else Handoff(handed, kept)

    def _inner(self) -> dict[str, Any]:
        """Snapshots of the agents in tools that keep their context."""
        return {
            path: to_json(one.take_snapshot(preset="session").to_dict())
            for path, one in _keeping(self._agent)
        }

    def _note_state(self) -> None:
        """Remember the agent's state, also of a run that was stopped, failed or paused."""
        memo = self._run.memo if isinstance(self._run.memo, dict) else {}
        if state := self._agent.state.get():
            self._run.memo = {**memo, "state": state}

    def _count(self, usage: Mapping[str, Any]) -> None:
        config: Any = self._agent.model.get_config()
        counts = {name: usage.get(name, 0) for name in _TOKENS}
        cached = {told: usage[name] for name, told in _CACHED.items() if usage.get(name)}
        model = str((config or {}).get("model_id") or "unknown")
        self._run.usage.append({"model": model, **counts, **cached})


def _keeping(agent: Agent, above: str = "") -> Iterator[tuple[str, Agent]]:
    """The agents in tools that keep their context from call to call, by the names of the tools."""
    for name, tool, inner in inner_agents(agent):
        if tool._preserve_context:
            yield f"{above}{name}", inner
        yield from _keeping(inner, f"{above}{name}/")
