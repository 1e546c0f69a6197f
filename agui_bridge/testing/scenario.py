"""What an adapter's author tells the kit: how to make it, how to make it pause, how to count."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields

from agui_bridge.adapters import Adapter, AdapterCapabilities
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import Json

_SHORTEST_SECRET = 6
_COUNTED = (
    *("approval", "parallel", "question", "beside", "twice", "stages", "nested", "acting"),
    *("free", "amid", "later"),
)
"""Messages whose effects are counted."""


def strings_of(value: Json) -> Iterable[str]:
    """Every text in a JSON value that is long enough to be an id or a token; no keys."""
    if isinstance(value, str):
        if len(value) >= _SHORTEST_SECRET:
            yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from strings_of(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from strings_of(member)


@dataclass(frozen=True, kw_only=True)
class AdapterScenario:
    """An adapter before its framework, real or simulated, and what makes it do what.

    Messages are sent as they stand, each on new threads; leave out what the framework can't do.

    Attributes:
        adapter: makes the adapter. Each call stands for another process before the same framework.
        text: a message that is answered with text alone.
        approval: a message that makes it ask for approval of one tool call.
        parallel: a message that makes it ask for approval of several calls in one pause.
        question: a message that makes it ask a question that is about no tool call.
        answer: a payload that answers the question.
        arrives: what `executed` then tells, when that is not the payload itself.
        slow: a message on which it says something at once, and then works longer than `patience`
            unless it is stopped.
        subagent: a message on which a sub-agent works.
        beside: a message on which it executes one call unasked, and asks for approval of another.
        twice: a message on which it asks for approval, and once that is given, for another one.
        stages: a message on which it asks for approval, and then executes another call unasked.
        nested: a message on which a sub-agent asks for approval of a call of its own.
        acting: a message on which it carries out one call after another unasked, each for a moment.
        amid: a message on which it begins a call unasked, whose tool asks a question at that call
            and is carried out once `answer` has answered it.
        free: a message that makes it ask a question to which any JSON is an answer.
        later: a message on which it begins work and ends its run; the work asks for approval of one
            tool call then.
        image: what is said beside a picture that it can look at.
        heard: what its model was told last: all of that request, as JSON, noted at the model.
        edited: other arguments that the call of `approval` may be approved with.
        executed: what has been carried out so far, counted outside of the adapter: the arguments
            of each execution of a tool, and the payload of each answer that arrived.
        restart: ends the framework and starts it again, if that can be done.
        unreachable: makes the adapter of a framework that can't be reached.
        reached: serves a process's bridge where its framework calls back, for as long as the
            process lives.
        private: the texts of a continuation that nobody else may see; by default all but what
            the question shows itself, names of tools, ids of `run.mint`, and what stands in the
            conversation.
        elsewhere: declared capabilities that another scenario shows.
        patience: seconds that anything may take.

    Raises:
        ConfigurationError: something is given without what it needs.
    """

    adapter: Callable[[], Adapter]
    text: str = "hello"
    approval: str | None = None
    parallel: str | None = None
    question: str | None = None
    answer: Json = None
    arrives: Json = None
    slow: str | None = None
    subagent: str | None = None
    beside: str | None = None
    twice: str | None = None
    stages: str | None = None
    nested: str | None = None
    acting: str | None = None
    free: str | None = None
    amid: str | None = None
    later: str | None = None
    image: str | None = None
    heard: Callable[[], Json | Awaitable[Json]] | None = None
    edited: Mapping[str, Json] | None = None
    executed: Callable[[], Sequence[Json] | Awaitable[Sequence[Json]]] | None = None
    restart: Callable[[], Awaitable[None]] | None = None
    unreachable: Callable[[], Adapter] | None = None
    reached: Callable[[Bridge], AbstractAsyncContextManager[None]] | None = None
    private: Callable[[Json], Iterable[str]] = strings_of
    elsewhere: Collection[str] = ()
    patience: float = 10.0

    def __post_init__(self) -> None:
        asks = [name for name in _COUNTED if getattr(self, name)]
        if asks and self.executed is None:
            raise ConfigurationError(
                f"{asks[0]} needs `executed`: what is carried out must be counted."
            )
        if self.edited is not None and self.approval is None:
            raise ConfigurationError("edited needs `approval`: it is that call's arguments.")
        known = {field.name for field in fields(AdapterCapabilities)}
        if unknown := sorted(set(self.elsewhere) - known):
            raise ConfigurationError(f"elsewhere: there is no capability {unknown[0]!r}.")

    @property
    def pause(self) -> str | None:
        """A message that makes it pause: `approval`, else `question`."""
        return self.approval or self.question

    @property
    def yes(self) -> Json:
        """The payload that makes it go on after `pause`."""
        return {"approved": True} if self.approval else self.answer

    async def executions(self) -> list[Json]:
        """What has been carried out so far."""
        if self.executed is None:
            return []
        found = self.executed()
        return list(await found if inspect.isawaitable(found) else found)

    async def was_heard(self) -> Json:
        """What the framework's model was told last."""
        found = self.heard() if self.heard is not None else None
        return await found if inspect.isawaitable(found) else found
