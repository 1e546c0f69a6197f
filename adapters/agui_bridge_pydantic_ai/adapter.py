"""The adapter of Pydantic AI's agents, which run in this process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from pydantic_ai import DeferredToolRequests, DeferredToolResults
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability, ReinjectSystemPrompt
from pydantic_ai.messages import ModelMessage
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.turn import FrameworkTurn
from agui_bridge.import_object import import_object
from agui_bridge.media import Handles
from agui_bridge.protocol.turns import turns_of
from agui_bridge_pydantic_ai.content import handles_of, user_content
from agui_bridge_pydantic_ai.guard import Guard
from agui_bridge_pydantic_ai.history import Prompt, memo_of, read_conversation
from agui_bridge_pydantic_ai.pauses import Deferred, pause_of
from agui_bridge_pydantic_ai.reader import Reader

__all__ = ["PydanticAIAdapter"]


class PydanticAIAdapter:
    """Runs an agent of Pydantic AI, whose deferred tools become questions.

    Tools with `requires_approval`, or that raise `ApprovalRequired`, are approved by people, with
    edits; `CallDeferred` is a question (`kind="question"`) or an external result. Of the metadata
    `message` is shown, `response_schema` checks the answer, `public` goes to the frontend; the rest
    comes back to the tool alone.

    Args:
        agent: an `Agent`, a function from the `Run` to one, or `module:attribute` of either.
        deps: a function from the `Run` to the agent's dependencies, sync or async, or
            `module:attribute` of one. The run has the principal and the shared state.

    Raises:
        ConfigurationError: the agent or the function is none.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(edit=True, stop=True, policy=True)

    def __init__(
        self,
        agent: AbstractAgent[Any, Any] | Callable[[Run], AbstractAgent[Any, Any]] | str,
        *,
        deps: Callable[[Run], Any | Awaitable[Any]] | str | None = None,
    ) -> None:
        self._agent: Any = import_object(agent) if isinstance(agent, str) else agent
        self._deps: Any = import_object(deps) if isinstance(deps, str) else deps
        if not isinstance(self._agent, AbstractAgent) and not callable(self._agent):
            raise ConfigurationError(
                f"agent should be a pydantic_ai.Agent or a function that makes one of the Run, "
                f"not {self._agent!r:.80}."
            )
        if self._deps is not None and not callable(self._deps):
            raise ConfigurationError(
                f"deps should be a function from the Run to the dependencies, "
                f"not {self._deps!r:.80}."
            )

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            Fenced, PolicyFailed: see `ToolGate.before`; whatever the agent raises.
        """
        if run.stop.requested:
            run.not_begun = [*run.resume.decisions] if run.resume else []
            return
        agent = self._agent if isinstance(self._agent, AbstractAgent) else self._agent(run)
        deps = self._deps(run) if self._deps is not None else None
        if isinstance(deps, Awaitable):
            deps = await deps
        async with contextlib.aclosing(_Turn(run, agent, deps).items()) as items:
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
    """

    def __init__(self, run: Run, agent: AbstractAgent[Any, Any], deps: Any) -> None:
        super().__init__(run, Deferred.from_json)
        self._agent = agent
        self._deps = deps
        self._gate = self._make_gate()
        self._guard = Guard(self._gate, run.call_ids())
        self._reader = Reader(run, self._guard.outputs)
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
            capabilities=capabilities,
            toolsets=[self._external()] if self._frontend else None,
            event_stream_handler=hand_over,
        )

    async def _ending(self, result: Any) -> AsyncGenerator[RunItem, None]:
        self._note(result)
        if isinstance(result.output, DeferredToolRequests):
            yield pause_of(
                result.output, result.all_messages(), self._guard, self._frontend, self._actor
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
        said = turns_of(self._new_user_messages())
        prompt: Prompt = user_content(said[-1].content, handles) if said else None
        results = kept.results(self._decisions, self._run.results())
        return kept.messages, prompt or None, results

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
        usage = result.usage
        self._run.usage.append(
            {
                "model": result.response.model_name or "unknown",
                "inputTokens": usage.input_tokens,
                "outputTokens": usage.output_tokens,
                "totalTokens": usage.total_tokens,
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
