"""What tools gave in tasks that begin again, so that they are not carried out again.

A node that is interrupted begins again when the answer has come. Of a `ToolNode` that carries out
several calls in one task that is every call of it, the finished ones, too. And LangGraph knows an
answer by its place among the interrupts of the task: so the calls take their turns, too, as they
asked.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt

logger: Final = logging.getLogger("agui_bridge.langgraph")


class Journal:
    """The results of one run's tools, and of those before it that are still needed.

    Args:
        serde: the checkpointer's serializer.
        results: what earlier runs gave, as `dumped` wrote it.
        asked: the calls that interrupted a task, in their order, by the task's namespace.

    Attributes:
        asked: the same, with what this run adds.
    """

    def __init__(
        self, serde: Any, results: Mapping[str, list[str]], asked: Mapping[str, list[str]]
    ) -> None:
        self.asked: dict[str, list[str]] = {task: list(calls) for task, calls in asked.items()}
        self._serde = serde
        self._kept = dict(results)
        self._new: dict[str, Any] = {}
        self._before = {task: tuple(calls) for task, calls in asked.items()}
        self._over: dict[tuple[str, str], asyncio.Event] = {}
        self._interrupted: set[str] = set()

    def recall(self, task: str, call_id: str) -> Any:
        """The result of a call that was carried out already, else None.

        Must be called in turn: it steps over the interrupts that the call was answered.
        """
        if call_id in self._new:
            return self._new[call_id]
        kept = self._kept.get(call_id)
        if kept is None:
            return None
        for _ in range(self._before.get(task, ()).count(call_id)):
            interrupt(None)
        kind, data = kept
        return self._serde.loads_typed((kind, base64.b64decode(data)))

    def is_interrupted(self, task: str) -> bool:
        """Whether a call of a task asks in this run: of its others none can ask before that."""
        return task in self._interrupted

    def record(self, call_id: str, result: Any) -> None:
        """Note what a call gave."""
        self._new[call_id] = result

    @asynccontextmanager
    async def in_turn(self, task: str, call_id: str) -> AsyncGenerator[None, None]:
        """Hold while a call is carried out; those that asked before it in its task go first.

        Args:
            task: the task's namespace.
            call_id: the call.
        """
        over = self._over.setdefault((task, call_id), asyncio.Event())
        first = list(dict.fromkeys(self._before.get(task, ())))
        if call_id in first:
            first = first[: first.index(call_id)]
        for other in first:
            await self._over.setdefault((task, other), asyncio.Event()).wait()
        try:
            yield
        except GraphInterrupt:
            # Only the first of a task is asked; the others come again.
            if task not in self._interrupted:
                self._interrupted.add(task)
                self.asked.setdefault(task, []).append(call_id)
            raise
        finally:
            over.set()

    def dumped(self, finished: Collection[Any]) -> dict[str, list[str]]:
        """The results that the checkpoint does not have, as JSON.

        Args:
            finished: ids of the calls that the checkpoint has a result of.
        """
        kept = {call: one for call, one in self._kept.items() if call not in finished}
        for call, result in self._new.items():
            if call not in finished:
                kept[call] = self._dumped(result)
        return kept

    def _dumped(self, result: Any) -> list[str]:
        try:
            kind, data = self._serde.dumps_typed(result)
        except Exception:
            if not isinstance(result, ToolMessage) or result.artifact is None:
                raise
            logger.warning(
                "The artifact of tool %r can't be kept: while the graph waits it is lost.",
                result.name,
            )
            kind, data = self._serde.dumps_typed(result.model_copy(update={"artifact": None}))
        return [kind, base64.b64encode(data).decode("ascii")]
