"""What stands before tools that no `ToolNode` carries out: in nodes, and in agents that tools call.

LangChain tells its callbacks before each tool begins, wherever that is. They can't change what is
executed or returned, but they can keep it from beginning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.config import get_stream_writer
from langgraph.types import StreamWriter, interrupt
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run
from agui_bridge.errors import AgentMistake
from agui_bridge.frameworks.rounds import refused
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE
from agui_bridge.protocol.answers.unexecuted import STOPPED, denied_by_policy
from agui_bridge.tool_gate import AskFirst, Execute, GateVerdict, Refuse, ToolGate
from agui_bridge_langgraph.calls.guard import PASSED, POLICY, Guard, Told
from agui_bridge_langgraph.tools import is_told

STRUCTURED: Final = "agui_bridge_structured"
"""Marks the metadata of a call that gives a value to the graph's code: a router's, for one."""

_PATIENCE: Final = 60.0
"""Seconds that the run's loop may be busy when a tool in a thread asks it."""


class _Nested:
    """The tools of a run that no `ToolNode` carries out.

    Args:
        run: the run.
        gate: the run's.
        guard: the run's.
        told: takes what is to be told besides the stream.
    """

    def __init__(self, run: Run, gate: ToolGate, guard: Guard, told: Told) -> None:
        self._told = told
        self.seen: set[UUID] = set()
        self._run = run
        self._gate = gate
        self._guard = guard
        self._running: dict[UUID, Any] = {}
        self._begun: dict[UUID, tuple[tuple[str, str, Any], str]] = {}

    async def own_id(
        self, native: str | None, metadata: Mapping[str, Any] | None, writer: StreamWriter
    ) -> str | None:
        """The id on the wire of a call; None of one that no model made.

        Args:
            native: the model's.
            metadata: what LangGraph says of the task that carries it out.
            writer: writes to the graph's stream.
        """
        task = (metadata or {}).get("langgraph_checkpoint_ns")
        if native is None or task is None:
            return native
        own = await self._guard.own_id(native, str(task), writer)
        # So that one knows where an agent within it works.
        self._guard.tasks.setdefault(str(task), set()).add(own)
        return own

    def passed(self, native: str | None, name: str) -> bool:
        """Whether the guard has let the call through."""
        return PASSED.get() in ((native, name), (None, name))

    def step_over(self, call_id: str | None) -> None:
        """Step over the interrupt of an earlier question of the policy."""
        if call_id in self._guard.judged:
            interrupt({POLICY: call_id})

    async def before(self, own: str, name: str, inputs: Any) -> GateVerdict:
        """What the gate says of a call."""
        return await self._gate.before(own, name, to_jsonable_python(inputs or {}, fallback=str))

    async def begin(
        self, run_id: UUID, call: tuple[str, str, Any], metadata: Mapping[str, Any] | None
    ) -> None:
        """Hold a stop until the tool ends.

        Args:
            run_id: of the tool's run; it is the call's id, too, where no model's is known.
            call: its id on the wire, the tool and the arguments.
            metadata: what LangGraph says of the task that carries it out.
        """
        if call[0] == str(run_id):
            self._guard.unnamed.add(call[1])
        self._begun[run_id] = call, str((metadata or {}).get("langgraph_checkpoint_ns"))
        self._running[run_id] = self._gate.running(call[0])
        await self._running[run_id].__aenter__()

    async def end(self, run_id: UUID, output: Any = None, *, ended: bool = False) -> None:
        """Let go of what `begin` held; what the tool gave is told if nothing else tells it.

        Args:
            run_id: of the tool's run.
            output: what it gave.
            ended: whether it came to its end.

        Raises:
            AgentMistake: it asks something in its middle, where nobody can be asked.
        """
        self.seen.discard(run_id)
        call, task = self._begun.pop(run_id, (None, ""))
        asking = call[1] if call is not None and is_told(output) else None
        if asking is not None:
            # Nobody hears of it.
            pass
        elif call is not None and isinstance(output, ToolMessage):
            await self._told("ran", (*call, output))
        elif call is not None and call[0] == str(run_id) and ended:
            await self._told("ran by code", (task, *call[1:], output))
        running = self._running.pop(run_id, None)
        if running is not None:
            await running.__aexit__(None, None, None)
        if asking is not None:
            raise refused(asking, self._gate)

    def heed(self, verdict: GateVerdict, call_id: str | None) -> None:
        """Keep a tool from beginning, unless the verdict lets it.

        Raises:
            GraphInterrupt: the policy has people asked.
            AgentMistake: the run's stop, a person or the policy is against it.
        """
        match verdict:
            case Refuse(text=text):
                raise AgentMistake(text)
            case AskFirst(ask=ask) if call_id:
                # A callback can't change the arguments: they are approved as they are.
                asked = replace(ask, parameters=None, allowed=(APPROVE, DECLINE))
                self._guard.asks[call_id] = asked
                interrupt({POLICY: call_id})
            case AskFirst(ask=ask):
                raise AgentMistake(denied_by_policy(ask.message))

    def begin_unasked(self, run_id: UUID, name: str) -> None:
        """Let a tool begin in the loop itself, where nothing can be waited for.

        Args:
            run_id: of the tool's run.
            name: the tool.

        Raises:
            AgentMistake: there is a policy, or a stop.
            Fenced: another process may have the run.
        """
        if self._run.policy is not None:
            raise AgentMistake(
                "A tool is called with invoke() in async code, where no policy can be asked: "
                "use ainvoke()."
            )
        if self._run.stop.requested:
            raise AgentMistake(STOPPED)
        self._gate.raise_fault()
        self._run.check_lease()
        self._gate.begun.add(str(run_id))
        self._guard.unnamed.add(name)


class _ToolsAlone:
    """What a handler has to say to be spared every token, and what it says of a model's call."""

    ignore_llm = True
    ignore_chain = True
    ignore_retriever = True
    ignore_retry = True

    @staticmethod
    def mark(metadata: dict[str, Any] | None, told: Mapping[str, Any]) -> None:
        """Mark a call for a structured output: its reply is a value for the graph's code."""
        options = told.get("options") or {}
        if metadata is not None and "ls_structured_output_format" in options:
            metadata[STRUCTURED] = True


class _InTasks(_ToolsAlone, AsyncCallbackHandler):
    """Hears of tools that are called in async code."""

    raise_error = True
    # In the task that begins the tool, so that it can be interrupted.
    run_inline = True

    def __init__(self, nested: _Nested, told: Told) -> None:
        self._nested = nested
        self._told = told
        self._loop = asyncio.get_running_loop()

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **told: Any,
    ) -> None:
        """Look at a model's call; LangChain calls this before each."""
        self.mark(metadata, told)

    async def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        **told: Any,
    ) -> None:
        """Let a tool through the gate; LangChain calls this before each."""
        if asyncio.get_running_loop() is not self._loop:
            return
        nested, native, name = self._nested, told.get("tool_call_id"), _name(serialized, told)
        nested.seen.add(run_id)
        if nested.passed(native, name):
            return
        call_id = await nested.own_id(native, told.get("metadata"), _writer())
        nested.step_over(call_id)
        own = str(call_id or run_id)
        verdict = await nested.before(own, name, inputs)
        nested.heed(verdict, call_id)
        if isinstance(verdict, Execute):
            await nested.begin(run_id, (own, name, inputs), told.get("metadata"))

    async def on_tool_end(self, output: Any, *, run_id: UUID, **told: Any) -> None:
        """Note that a tool has come to its end."""
        if asyncio.get_running_loop() is self._loop:
            await self._nested.end(run_id, output, ended=True)

    async def on_tool_error(self, error: BaseException, *, run_id: UUID, **told: Any) -> None:
        """Note that a tool has failed."""
        if asyncio.get_running_loop() is self._loop:
            await self._nested.end(run_id)

    async def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **told: Any) -> None:
        """Pass on what the graph's author dispatches."""
        if asyncio.get_running_loop() is self._loop:
            await self._told("event", (name, data))


class _InThreads(_ToolsAlone, BaseCallbackHandler):
    """Hears of tools that are called in sync code: what async handlers raise there is lost."""

    raise_error = True
    run_inline = True

    def __init__(self, nested: _Nested, told: Told) -> None:
        self._nested = nested
        self._told = told
        self._loop = asyncio.get_running_loop()

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **told: Any,
    ) -> None:
        """Look at a model's call; LangChain calls this before each."""
        self.mark(metadata, told)

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        **told: Any,
    ) -> None:
        """Let a tool through the gate; LangChain calls this before each."""
        nested, native, name = self._nested, told.get("tool_call_id"), _name(serialized, told)
        if run_id in nested.seen or nested.passed(native, name):
            return
        if self._is_loops_thread():
            nested.begin_unasked(run_id, name)
            return
        call_id = self._at_home(nested.own_id(native, told.get("metadata"), _writer()))
        nested.step_over(call_id)
        own = str(call_id or run_id)
        verdict = self._at_home(nested.before(own, name, inputs))
        nested.heed(verdict, call_id)
        if isinstance(verdict, Execute):
            self._at_home(nested.begin(run_id, (own, name, inputs), told.get("metadata")))

    def on_tool_end(self, output: Any, *, run_id: UUID, **told: Any) -> None:
        """Note that a tool has come to its end."""
        if not self._is_loops_thread():
            self._at_home(self._nested.end(run_id, output, ended=True))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **told: Any) -> None:
        """Note that a tool has failed."""
        if not self._is_loops_thread():
            self._at_home(self._nested.end(run_id))

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **told: Any) -> None:
        """Pass on what the graph's author dispatches."""
        if not self._is_loops_thread():
            self._at_home(self._told("event", (name, data)))

    def _is_loops_thread(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def _at_home(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)


def callbacks_of(run: Run, gate: ToolGate, guard: Guard, told: Told) -> list[BaseCallbackHandler]:
    """The handlers that a run's configuration needs, in this order.

    Args:
        run: the run.
        gate: the run's.
        guard: the run's.
        told: takes what is to be told besides the stream.
    """
    nested = _Nested(run, gate, guard, told)
    return [_InTasks(nested, told), _InThreads(nested, told)]


def _writer() -> StreamWriter:
    """What writes to the stream of the graph that this is in."""
    try:
        return get_stream_writer()
    except (RuntimeError, KeyError):
        return lambda _: None


def _name(serialized: dict[str, Any] | None, told: dict[str, Any]) -> str:
    return str((serialized or {}).get("name") or told.get("name"))
