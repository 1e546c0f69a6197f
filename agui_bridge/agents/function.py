"""The adapter of plain async functions: any function becomes an agent with durable pauses."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

from ag_ui.core import BaseEvent

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.agents.execution import Execution
from agui_bridge.agents.function_run import FunctionRun
from agui_bridge.errors import ConfigurationError

__all__ = ["AgentFunction", "FunctionAdapter"]

AgentFunction = (
    Callable[[FunctionRun], AsyncIterator[str | BaseEvent]]
    | Callable[[FunctionRun], Awaitable[Any]]
)
"""An async generator (yields text and content events) or an async function of one argument."""


class FunctionAdapter:
    """Runs an author's function, and again from its top whenever an answer has come.

    Args:
        function: an async generator function that yields text and AG-UI content events, or an
            async function: a str that it returns is text, any other value but None the run's
            result.

    Raises:
        ConfigurationError: it is not callable.
    """

    capabilities = AdapterCapabilities(
        approve=True, decline=True, edit=True, answer=True, cancel=True, stop=True
    )

    def __init__(self, function: AgentFunction) -> None:
        """Make an agent of a function."""
        if not callable(function):
            raise ConfigurationError(
                f"An agent is an async function of one argument, not {type(function).__name__}."
            )
        self._function = function

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            ReplayMismatch: the continuation can't be read, or the function took another path.
            Exception: whatever the author's function raised, unchanged.
        """
        if run.stop.requested:
            return
        execution = Execution(run)
        view = FunctionRun(execution)
        outbox = execution.outbox
        execution.start(lambda: self._function(view))
        try:
            while True:
                if outbox.items:
                    for item in outbox.take():
                        yield item
                elif execution.over:
                    break
                else:
                    await outbox.wait()
        finally:
            await execution.abandon()
        if execution.failure is not None:
            raise execution.failure
        if execution.final is not None:
            yield execution.final

    async def aclose(self) -> None:
        """Release nothing: a function agent holds nothing between runs."""
