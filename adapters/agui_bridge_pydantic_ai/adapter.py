"""The adapter of Pydantic AI's agents, which run in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic_ai import DeferredToolRequests, DeferredToolResults, UsageLimitExceeded, UsageLimits
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability, ReinjectSystemPrompt
from pydantic_ai.messages import ModelMessage
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.application import Application, ContextOption
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.frameworks.private_names import expect_names
from agui_bridge.frameworks.turn import FrameworkTurn
from agui_bridge.import_object import import_object
from agui_bridge.media import Handles
from agui_bridge.protocol.answers.asks import Handoff
from agui_bridge.protocol.answers.decisions import Approve
from agui_bridge.protocol.threads.run_ends import EndReason
from agui_bridge.protocol.turns import turns_of
from agui_bridge_pydantic_ai.content import handles_of
from agui_bridge_pydantic_ai.guard import NEEDED, Guard, Waits
from agui_bridge_pydantic_ai.history import Prompt, memo_of, prompt_of, read_conversation
from agui_bridge_pydantic_ai.pauses import Deferred, pause_of
from agui_bridge_pydantic_ai.reader import Reader


class PydanticAIAdapter:
    """Runs an agent of Pydantic AI, whose deferred tools become questions.

    Tools with `requires_approval`, or that raise `ApprovalRequired`, are approved by people, with
    edits; `CallDeferred` is a question (`kind="question"`) or an external result. Of the metadata
    `message` is shown, `response_schema` checks the answer, `public` goes to the frontend; the rest
    comes back to the tool alone.

    Args:
        agent: an `Agent`, a function from the `Run` to one, or `module:attribute` of either.
        deps: a function from the `Run` to the agent's dependencies, sync or async, or
            `module:attribute` of one. The run has the principal and the shared state. Or
            dependencies that have the state, such as a StateDeps of its UI: each run gets a
            copy with the state as the page shares it. An agent of such a `deps_type` needs none.
        usage_limits: pydantic-ai's own for one run; at one of them the run ends.
        context: what the model is told of the page; see `Application`.
        client_instructions: whether it is told the client's `system` messages.
        predict_state: which arguments of calls show in the page's state while they stream.

    Raises:
        ConfigurationError: one of them is none, or pydantic-ai is another one than the adapter
            knows.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(edit=True, stop=True, policy=True)

    def __init__(
        self,
        agent: AbstractAgent[Any, Any] | Callable[[Run], AbstractAgent[Any, Any]] | str,
        *,
        deps: Callable[[Run], Any | Awaitable[Any]] | Any | str | None = None,
        usage_limits: UsageLimits | str | None = None,
        context: ContextOption = "model",
        client_instructions: bool = False,
        predict_state: Sequence[PredictState] = (),
    ) -> None:
        expect_names("pydantic-ai-slim", NEEDED)
        self._agent: Any = import_object(agent) if isinstance(agent, str) else agent
        self._deps: Any = import_object(deps) if isinstance(deps, str) else deps
        if not isinstance(self._agent, AbstractAgent) and not callable(self._agent):
            raise ConfigurationError(
                f"agent should be a pydantic_ai.Agent or a function that makes one of the Run, "
                f"not {self._agent!r:.80}."
            )
        if not (self._deps is None or callable(self._deps) or _has_state(self._deps)):
            raise ConfigurationError(
                f"deps should be a function from the Run to the dependencies, or a StateDeps, "
                f"not {self._deps!r:.80}."
            )
        self._limits: Any = (
            import_object(usage_limits) if isinstance(usage_limits, str) else usage_limits
        )
        if not isinstance(self._limits, UsageLimits | None):
            raise ConfigurationError(
                f"usage_limits should be a pydantic_ai.UsageLimits, not {self._limits!r:.80}."
            )
        self._application = Application(context, client_instructions)
        self._predictions = tuple(predict_state)

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            Fenced, PolicyFailed: see `ToolGate.before`; whatever the agent raises.
        """
        if run.stop.requested:
            run.not_begun = [*run.resume.decisions] if run.resume else []
            return
        agent = self._agent if isinstance(self._agent, AbstractAgent) else self._agent(run)
        deps = self._deps(run) if callable(self._deps) else _stateful(self._deps, agent, run.state)
        if isinstance(deps, Awaitable):
            deps = await deps
        words = self._application.words(run)
        turn = _Turn(run, agent, deps, self._limits, words, self._predictions)
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Nothing is held: the agent is the application's."""


class _Turn(FrameworkTurn):
    """One run of an agent.

    Args:
        run: the run.
        agent: the agent.
        deps: its dependencies.
        limits: of its usage.
        words: what the application says.
        predictions: of the state.
    """

    def __init__(
        self,
        run: Run,
        agent: AbstractAgent[Any, Any],
        deps: Any,
        limits: UsageLimits | None,
        words: str,
        predictions: Sequence[PredictState],
    ) -> None:
        super().__init__(run, Deferred.from_json, predictions=predictions)
        self._agent = agent
        self._deps = deps
        self._limits = limits
        kept: Deferred | None = self._kept
        if kept is not None and kept.decided:
            self._decided = {**kept.decided, **self._decisions}
        # What the application has not returned yet: until then no model is asked.
        returned = run.results()
        self._missing = [call for call in (kept.frontend if kept else ()) if call not in returned]
        approved = [call for call, made in self._decided.items() if isinstance(made, Approve)]
        self._gate = self._make_gate()
        names = kept.names(approved) if kept else ()
        waits = bool(self._missing)
        self._guard = Guard(self._gate, self._rounds, run.call_ids(), words, names, waits=waits)
        self._reader = Reader(run, self._guard.outputs, silent=self._missing)
        self._late = [*(kept.late if kept else ()), *(self._new_user_messages() if kept else ())]
        own = _names_of(agent)
        self._frontend = {tool.name: tool for tool in run.tools if tool.name not in own}

    async def _work(self) -> Any:
        async def hand_over(_: Any, events: Any) -> None:
            queue, told = self._queue, self._guard.told
            async for event in events:
                queue.write(told(event))
                if queue.full:
                    await queue.drained()

        agent = self._agent
        history, prompt, results = self._context(handles_of(getattr(agent, "model", None)))
        capabilities: list[AbstractCapability[Any]] = [self._guard]
        if history:
            # Given a history, pydantic-ai takes the agent's system prompt for told.
            capabilities.append(ReinjectSystemPrompt())
        return await agent.run(
            prompt,
            message_history=history,
            deferred_tool_results=results,
            output_type=_outputs_of(agent),
            deps=self._deps,
            usage_limits=self._limits,
            capabilities=capabilities,
            toolsets=[self._external()] if self._frontend else None,
            event_stream_handler=hand_over,
        )

    def _result(self, failure: BaseException | None) -> Any:
        if isinstance(failure, UsageLimitExceeded) and failure is not self._guard.exceeded:
            self._run.end_reason = EndReason.MAX_ITERATIONS_REACHED
            return None
        return failure if isinstance(failure, Waits) else super()._result(failure)

    async def _ending(self, result: Any) -> AsyncGenerator[RunItem, None]:
        if isinstance(result, Waits):
            kept: Deferred = self._kept
            waiting = replace(
                kept,
                messages=result.messages,
                frontend=self._missing,
                decided={},
                late=self._late,
                rounds={},
            )
            yield Handoff(self._missing, waiting.to_json())
            return
        self._note(result)
        if isinstance(result.output, DeferredToolRequests):
            yield pause_of(
                result.output,
                result.all_messages(),
                self._guard,
                self._frontend,
                self._actor,
                held=self._missing,
                late=self._late if self._missing else [],
                rounds=self._rounds,
            )
            return
        if not isinstance(result.output, str):
            self._run.result = to_jsonable_python(result.output)
        self._run.memo = memo_of(self._run, self._reader.said, result.all_messages())

    def _context(
        self, handles: Handles
    ) -> tuple[list[ModelMessage], Prompt, DeferredToolResults | None]:
        kept: Deferred | None = self._kept
        if kept is None:
            return (*read_conversation(self._run, handles), None)
        said = [] if self._missing else turns_of(self._late)
        results = self._run.results()
        history = kept.conversation(self._decided, results)
        return history, prompt_of(said, handles), kept.results(self._decided, results)

    def _external(self) -> ExternalToolset[Any]:
        return ExternalToolset(
            [
                ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.parameters or {"type": "object", "properties": {}},
                )
                for tool in self._frontend.values()
            ]
        )

    def _note(self, result: Any) -> None:
        usage, response = result.usage, result.response
        details = {
            "provider": response.provider_name,
            "cachedInputTokens": usage.cache_read_tokens,
            "cacheWriteInputTokens": usage.cache_write_tokens,
            # As OpenAI's models call them, and Google's.
            "reasoningTokens": usage.details.get("reasoning_tokens")
            or usage.details.get("thoughts_tokens"),
        }
        self._run.usage.append(
            {
                "model": response.model_name or "unknown",
                "inputTokens": usage.input_tokens,
                "outputTokens": usage.output_tokens,
                "totalTokens": usage.total_tokens,
                **{name: value for name, value in details.items() if value},
            }
        )
        self._run.iteration = usage.requests


def _outputs_of(agent: AbstractAgent[Any, Any]) -> Any:
    """The agent's output types and deferred calls; None where it has these already."""
    own: Any = agent.output_type
    outputs = list(own) if isinstance(own, list | tuple) else [own]
    return None if DeferredToolRequests in outputs else [*outputs, DeferredToolRequests]


def _names_of(agent: AbstractAgent[Any, Any]) -> set[str]:
    """The agent's own tools, as far as they are known before it runs: they go first."""
    names: set[str] = set()
    for toolset in agent.toolsets:
        toolset.apply(lambda leaf: names.update(getattr(leaf, "tools", {})))
    return names


def _has_state(deps: Any) -> bool:
    """Whether dependencies have the state that a page shares, as pydantic-ai's own UI knows it."""
    return is_dataclass(deps) and not isinstance(deps, type) and hasattr(deps, "state")


def _stateful(given: Any, agent: AbstractAgent[Any, Any], state: Any) -> Any:
    """Dependencies of one run with the page's state; None where they have none.

    Args:
        given: dependencies that have it.
        agent: whose type of dependencies may be such a one.
        state: as the page shares it.

    Raises:
        ValidationError: it is no state of this agent.
    """
    if given is not None:
        kind = type(given.state)
        return replace(given, state=_state_of(kind, state) if state else deepcopy(given.state))
    needed: Any = agent.deps_type
    owner: Any = get_origin(needed)
    if not is_dataclass(owner) or [field.name for field in fields(owner)] != ["state"]:
        return None
    made: Any = owner
    (kind,) = get_args(needed)
    return made(state=_state_of(kind, state))


def _state_of(kind: Any, state: Any) -> Any:
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    return kind.model_validate(state or {}) if is_model else state or {}
