"""What `run.*` gives until it is awaited: neither true nor false, and noticed if it is dropped.

`if run.confirm("Delete all?"):` without `await` would be true for every coroutine, and what people
were to decide would be done unasked. A call that is kept, and awaited later, is none the worse.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from types import FrameType
from typing import Any, NoReturn, TypeVar, cast

from agui_bridge.errors import AgentMistake

C = TypeVar("C", bound=type[Any])


class Unawaited(Coroutine[Any, Any, Any]):
    """A call of `run.*` that is still to be awaited.

    Args:
        name: of the call, such as `run.ask`.
        begin: begins it.
        forget: called with a mistake if it is dropped before.
    """

    __slots__ = ("_begin", "_begun", "_forget", "_name")

    def __init__(
        self,
        name: str,
        begin: Callable[[], Coroutine[Any, Any, Any]],
        forget: Callable[[AgentMistake], None],
    ) -> None:
        self._name = name
        self._begin = begin
        self._forget = forget
        self._begun: Coroutine[Any, Any, Any] | None = None

    def __await__(self) -> Generator[Any, Any, Any]:
        """Wait for what it gives."""
        return self._running().__await__()

    def send(self, value: Any) -> Any:
        """Go on, as a task does."""
        return self._running().send(value)

    def throw(self, *error: Any) -> Any:
        """Raise something where it waits, as a task does."""
        return self._running().throw(*error)

    def close(self) -> None:
        """Give it up."""
        self._running().close()

    def __bool__(self) -> bool:
        """Refuse to be a condition; asyncio asks as well, for the text of a task."""
        if self._begun is None and not _is_asyncio(sys._getframe(1)):
            raise self._refused()
        return True

    def __eq__(self, other: object) -> bool:
        """Refuse to be compared."""
        if self is not other and self._begun is None:
            raise self._refused()
        return self is other

    __hash__ = Coroutine.__hash__

    def __str__(self) -> str:
        """Refuse to be a text; `repr` tells what it is."""
        if self._begun is None:
            raise self._refused()
        return repr(self)

    def __getattr__(self, name: str) -> NoReturn:
        """Say what an attribute of its result wants."""
        raise AttributeError(f"{self._mistake()} It has no `{name}` yet.")

    def __del__(self) -> None:
        """Tell that nobody awaited it."""
        if self._begun is None:
            self._forget(self._mistake())

    def _running(self) -> Coroutine[Any, Any, Any]:
        if self._begun is None:
            self._begun = self._begin()
        return self._begun

    def _refused(self) -> AgentMistake:
        """What to raise where it was used; that is noticed, so its end need not be."""
        self.close()
        return self._mistake()

    def _mistake(self) -> AgentMistake:
        return AgentMistake(f"{self._name}(…) was not awaited: write `await {self._name}(…)`.")


def _is_asyncio(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("asyncio.")


def must_await(cls: C) -> C:
    """Have what a class's async methods give be awaited (decorator)."""
    for name in dir(cls):
        method = getattr(cls, name)
        if not name.startswith("_") and inspect.iscoroutinefunction(method):
            setattr(cls, name, _guarded(f"run.{name}", method))
    return cls


def _guarded(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Unawaited:
        return Unawaited(name, partial(method, self, *args, **kwargs), self._forgot)

    return cast(Callable[..., Any], called)
