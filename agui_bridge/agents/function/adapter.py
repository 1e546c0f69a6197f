"""The adapter of plain async functions: any function becomes an agent with durable pauses."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final

from ag_ui.core import BaseEvent

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.agents.function.execution import FunctionExecution
from agui_bridge.agents.function.outbox import Item
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError

logger: Final = logging.getLogger("agui_bridge.agents")

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
        ConfigurationError: it is not async, or can't be called with one argument.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        approve=True,
        decline=True,
        edit=True,
        answer=True,
        cancel=True,
        subagents=True,
        stop=True,
        policy=True,
        checkpoints=True,
    )

    def __init__(self, function: AgentFunction) -> None:
        """Make an agent of a function."""
        _check(function)
        self._function = function

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            ReplayMismatch: the continuation can't be read, or the function took another path.
            NotDelivered: the policy failed before this run, which has answers to carry out, said
                or began anything.
            UpstreamError: the author's code raised NotDelivered. Nothing may reopen then: the
                function has seen the answer, and its steps may have run.
            AgentMistake: the author's code called sys.exit() or the like.
            Exception: whatever else the author's function raised, unchanged.
        """
        execution = FunctionExecution(run)
        if run.stop.requested:
            run.not_begun = execution.not_begun
            return
        view = FunctionRun(execution)
        outbox = execution.outbox
        taken: Iterator[Item] = iter(())
        execution.start(lambda: self._function(view))
        try:
            while True:
                if outbox.items:
                    taken = iter(outbox.take())
                    for item in taken:
                        yield item
                elif execution.over:
                    break
                else:
                    await outbox.wait()
        finally:
            # Whoever reads may have left in the middle of what was taken.
            execution.reports.leave(taken)
            await execution.abandon()
            run.not_begun = execution.not_begun
            execution.usage.drop_repeated()
        failure = execution.failure
        if execution.undone:
            logger.error("the answers stay open: %s", failure, exc_info=failure)
            raise NotDelivered(str(failure)) from failure
        if isinstance(failure, NotDelivered):
            raise UpstreamError(str(failure)) from failure
        if failure is not None:
            raise failure
        if execution.final is not None:
            yield execution.final

    async def aclose(self) -> None:
        """Release nothing: a function agent holds nothing between runs."""


_EXAMPLE = """An agent is an async function of one argument, the run:

    async def agent(run):
        name = await run.ask("Your name?")
        yield f"Hello {name}"
"""


def _check(function: Any) -> None:
    """Refuse what is no agent before anybody talks to it."""
    named: Any = function
    while isinstance(named, functools.partial):
        named = named.func
    name = getattr(named, "__qualname__", type(named).__name__)
    if not callable(function):
        raise ConfigurationError(f"{name} is not callable. {_EXAMPLE}")
    # A sync decorator that passes on what an async function returns is fine.
    target = inspect.unwrap(named if inspect.isroutine(named) else type(named).__call__)
    if not any(
        test(candidate)
        for candidate in (named, target)
        for test in (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    ):
        raise ConfigurationError(
            f"{name} is not async: it is defined with `def`, a lambda or a class. {_EXAMPLE}"
        )
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except ValueError:  # a callable without a readable signature, such as a compiled one
        return
    try:
        signature.bind(object())
    except TypeError as error:
        raise ConfigurationError(
            f"{name}{signature} can't be called with the run alone: {error}. {_EXAMPLE}"
            "\nBind what it needs besides with functools.partial."
        ) from None
