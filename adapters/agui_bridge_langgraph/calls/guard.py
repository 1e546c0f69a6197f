"""What stands before every tool of a graph's run, without a change of the graph's author."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from contextvars import ContextVar
from typing import Any, Final
from uuid import uuid4

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.prebuilt import ToolNode
from langgraph.types import StreamWriter, interrupt

from agui_bridge.errors import AgentMistake
from agui_bridge.frameworks.needs_input import NeedsInput, answering, collecting
from agui_bridge.frameworks.private_names import PrivateName
from agui_bridge.frameworks.rounds import Rounds, refused
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Cancel, Decision, Decline
from agui_bridge.tool_gate import AskFirst, Execute, Refuse, ToolGate
from agui_bridge_langgraph.calls.journal import Journal
from agui_bridge_langgraph.calls.wire_ids import WireIds
from agui_bridge_langgraph.tools import is_told, needed_of, parameters_of, tool_messages, watched

POLICY: Final = "agui_bridge.policy"
"""Marks the interrupts by which the bridge's policy asks."""

Told = Callable[[str, Any], Coroutine[Any, Any, None]]
"""Takes what is to be told besides the stream: a kind, and what it is."""


class Guard:
    """Lets calls of `ToolNode`s through the gate, and carries each out once.

    Args:
        gate: the run's.
        wire: the ids of its calls.
        journal: the run's.
        judged: see the attribute.
        interrupting: see the attribute.
        rounds: the calls whose tools ask in their middle.
        decisions: what was decided about calls, by their id.
        at_breakpoint: whether it was decided before their node began.
        told: takes what is to be told besides the stream: a kind, and what it is.
        begins: called when a tool begins.
        caught_up: returns once all is read that the graph has streamed; gets what writes to it.

    Attributes:
        asks: questions of the policy, by tool call id.
        judged: ids of calls that the policy asked about in earlier runs.
        interrupting: ids of calls whose tools raised interrupts themselves, in earlier runs too.
        tasks: ids of calls, by the namespace of the task that carries them out.
        asking: ids of the calls whose tools raised an interrupt, by its id.
        places: namespaces of the tasks in which these were raised, by the same.
        unnamed: names of the tools that began, and the graph's code did not say for which call.
    """

    def __init__(
        self,
        gate: ToolGate,
        wire: WireIds,
        journal: Journal,
        judged: Collection[str],
        interrupting: Collection[str],
        rounds: Rounds,
        decisions: Mapping[str, Decision],
        *,
        at_breakpoint: bool,
        told: Told,
        begins: Callable[[], None],
        caught_up: Callable[[StreamWriter], Awaitable[None]],
    ) -> None:
        self.asks: dict[str, Ask] = {}
        self.judged: frozenset[str] = frozenset(judged)
        self.interrupting: set[str] = set(interrupting)
        self.tasks: dict[str, set[str]] = {}
        self._gate = gate
        self._wire = wire
        self._rounds = rounds
        self._decisions = decisions
        self._at_breakpoint = at_breakpoint
        self._journal = journal
        self._told = told
        self._begins = begins
        self._caught_up = caught_up
        self.asking: dict[str, str] = {}
        self.places: dict[str, str] = {}
        self.unnamed: set[str] = set()
        self._at_work: dict[asyncio.Task[Any], str] = {}
        self._executing: set[str] = set()

    async def own_id(self, native: str, task: str, writer: StreamWriter) -> str:
        """The id on the wire of a call that is about to be carried out.

        Args:
            native: the model's.
            task: namespace of the task that carries it out.
            writer: writes to the graph's stream.
        """
        own = self._wire.begun_again(native, task)
        if own is not None:
            return own
        if not self._wire.is_certain(native):
            # What was said before tells which one it is.
            await self._caught_up(writer)
        return self._wire.begun(native, task)

    async def around(self, request: Any, execute: Any, inner: Any) -> Any:
        """Carry a call out once, whatever its node does.

        Args:
            request: LangGraph's `ToolCallRequest`.
            execute: carries it out.
            inner: what the graph's author has around their tools, or None.

        Raises:
            GraphInterrupt: somebody is asked.
            Fenced, PolicyFailed: see `ToolGate.before`.
        """
        native = str(request.tool_call["id"])
        task = str(request.runtime.config["configurable"].get("checkpoint_ns", ""))
        at_work = asyncio.current_task()
        assert at_work is not None
        self._at_work[at_work] = ""
        at_work.add_done_callback(lambda done: self._at_work.pop(done, None))
        call_id = await self.own_id(native, task, request.runtime.stream_writer)
        self._at_work[at_work] = call_id
        self.tasks.setdefault(task, set()).add(call_id)
        OWN_ID.set(call_id)

        async def begin(asked: Any) -> Any:
            return await self._carry_out(call_id, task, asked, execute)

        async with self._journal.in_turn(task, call_id):
            result = self._journal.recall(task, call_id)
            if result is None:
                try:
                    # What was refused before is not asked about once more.
                    refused = self._at_breakpoint and self._is_refused(call_id)
                    within = inner is not None and not refused
                    result = await (inner(request, begin) if within else begin(request))
                except GraphInterrupt as asked:
                    if self._rounds.before(call_id) and call_id not in self._rounds.asks:
                        # The tool would begin again, and its answers are given once.
                        raise self._mixed(str(request.tool_call["name"])) from None
                    for found in asked.args[0]:
                        self.asking.setdefault(found.id, call_id)
                        self.places.setdefault(found.id, task)
                    raise
                result = self._in_our_words(call_id, result)
                self._journal.record(call_id, result)
        for message in tool_messages(result):
            # What LangGraph tells of it, too, is known by its id.
            message.id = message.id or str(uuid4())
            about = {"langgraph_checkpoint_ns": task}
            if message.tool_call_id == native:
                await self._told("result", (call_id, message, request.tool_call))
            else:
                await self._told("messages", (message, about))
        return result

    async def _carry_out(self, call_id: str, task: str, request: Any, execute: Any) -> Any:
        call = request.tool_call
        native, name, args = str(call["id"]), str(call["name"]), call["args"]
        if call_id in self.judged:
            # Steps over its own interrupt: the gate knows the answer.
            interrupt({POLICY: call_id})
        for _ in range(self._rounds.before(call_id)):
            interrupt({POLICY: call_id})
        returned: list[NeedsInput] = []
        made: list[NeedsInput] = []
        parameters = parameters_of(request.tool)
        async with self._gate.acting(call_id, name, args, parameters=parameters) as verdict:
            match verdict:
                case Execute(args=approved, edited=edited):
                    is_other = dict(approved) != args
                    if is_other:
                        request = request.override(tool_call={**call, "args": dict(approved)})
                    request = request.override(tool=watched(request.tool, returned.append))
                    passed = PASSED.set((native, name))
                    self._executing.add(call_id)
                    self._begins()
                    try:
                        with answering(self._rounds.given(call_id)), collecting(made):
                            result = await execute(request)
                    except GraphInterrupt:
                        self.interrupting.add(call_id)
                        raise
                    except Exception as error:
                        if is_told(error, made):
                            raise refused(name, self._gate) from error
                        raise
                    finally:
                        self._executing.discard(call_id)
                        PASSED.reset(passed)
                    needed = returned[-1] if returned else needed_of(result, made)
                    if needed is None:
                        if is_told(result, made):
                            raise refused(name, self._gate)
                        if is_other and (edited or self._was_edited(call_id)):
                            _note_what_ran(result, native, approved)
                        return result
                    if call_id in self.interrupting:
                        # LangGraph knows answers by their order: this one would go to the tool.
                        raise self._mixed(name)
                    if self._journal.is_interrupted(task):
                        # The node begins again, and would carry this round out again.
                        raise refused(f"{name}, beside another that asks", self._gate)
                    too_often = self._rounds.ask(call_id, needed, self._gate)
                    if too_often is not None:
                        return ToolMessage(
                            too_often, tool_call_id=native, name=name, status="error"
                        )
                case Refuse(text=text):
                    return ToolMessage(text, tool_call_id=native, name=name, status="error")
                case AskFirst(ask=ask):
                    self.asks[call_id] = ask
        interrupt({POLICY: call_id})
        # It was given the answer to what the tool, or what is around it, asked in an earlier run.
        raise self._mixed(name)

    def _was_edited(self, call_id: str) -> bool:
        """Whether a person changed a call that goes on, where it runs with other arguments."""
        return bool(self._rounds.before(call_id) and self._gate.executed[call_id].approvers)

    def _mixed(self, tool: str) -> AgentMistake:
        """Have the run fail: which answer is whose can't be told."""
        mistake = AgentMistake(
            f"One call of the tool {tool!r} asks by interrupt(), and by NeedsInput or a policy as "
            "well. LangGraph can't tell their answers apart: have it ask in one way."
        )
        self._gate.fail(mistake)
        return mistake

    def _in_our_words(self, call_id: str, result: Any) -> Any:
        """The result of a call; of one that a person refused what the history has, too."""
        decision = self._decisions.get(call_id)
        if isinstance(decision, Decline | Cancel) and isinstance(result, ToolMessage):
            return result.model_copy(update={"content": decision.text})
        return result

    def _is_refused(self, call_id: str) -> bool:
        return isinstance(self._decisions.get(call_id), Decline | Cancel)

    async def settled(self) -> None:
        """Return when no tool runs any more, and have none begin.

        Where one call of a task is interrupted, LangGraph leaves the others to themselves.
        """
        for task, call_id in list(self._at_work.items()):
            if call_id not in self._executing:
                task.cancel()
        if self._at_work:
            await asyncio.wait(list(self._at_work))

    def cancel(self) -> None:
        """End what LangGraph left to itself, at once."""
        for task in list(self._at_work):
            task.cancel()


# --- hooks ---

GUARD: Final[ContextVar[Guard | None]] = ContextVar(
    "agui_bridge_langgraph.calls.guard", default=None
)
"""The guard of the run that this task belongs to; LangGraph's tasks inherit it."""

PASSED: Final[ContextVar[tuple[str | None, str] | None]] = ContextVar(
    "agui_bridge_langgraph.passed", default=None
)
"""Id, the model's, and tool of the call that `Guard.around` let through; its tool begins within."""

OWN_ID: Final[ContextVar[str | None]] = ContextVar("agui_bridge_langgraph.own_id", default=None)
"""Id on the wire of the call that `Guard.around` is carrying out."""

_HOOKED: Final[weakref.WeakSet[ToolNode]] = weakref.WeakSet()


def names_of_nodes() -> list[PrivateName]:
    """What is replaced of LangGraph's nodes of tools."""
    node = ToolNode([])
    return [PrivateName(node, "_awrap_tool_call"), PrivateName(node, "_wrap_tool_call")]


def hook(graph: Any) -> None:
    """Have every `ToolNode` of a graph and its subgraphs ask the guard of its run.

    Outside of a run of the bridge they do what they did. Once is enough; again does no harm.

    Args:
        graph: a compiled graph.
    """
    for node in graph.nodes.values():
        if isinstance(node.bound, ToolNode) and node.bound not in _HOOKED:
            _HOOKED.add(node.bound)
            _hook_node(node.bound)
    for _, subgraph in graph.get_subgraphs():
        hook(subgraph)


def are_hooked(graph: Any, names: Collection[str]) -> bool:
    """Whether nothing but tools that pass the guard is carried out in some nodes.

    Args:
        graph: a compiled graph, which `hook` has seen.
        names: of its nodes.
    """
    return all(name in graph.nodes and graph.nodes[name].bound in _HOOKED for name in names)


def _hook_node(node: Any) -> None:
    inner = _inner_of(node)

    async def around(request: Any, execute: Any) -> Any:
        guard = GUARD.get()
        if guard is None:
            return await (inner(request, execute) if inner is not None else execute(request))
        return await guard.around(request, execute, inner)

    node._awrap_tool_call = around


def _inner_of(node: Any) -> Any:
    """What the author has around their tools, as an async function; None if there is nothing."""
    inner, sync = node._awrap_tool_call, node._wrap_tool_call
    if inner is not None or sync is None:
        return inner

    async def called(request: Any, execute: Any) -> Any:
        # As LangGraph does: a sync wrapper has its tool called in sync, too. Here in a thread, so
        # that the tool can pass the gate in the meantime.
        loop = asyncio.get_running_loop()

        def execute_here(asked: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(execute(asked), loop).result()

        return await asyncio.to_thread(sync, request, execute_here)

    return called


def _note_what_ran(result: Any, native: str, args: Mapping[str, Any]) -> None:
    """Have the model read what ran in place of its call, which its own message goes on to hold."""
    note = (
        "The person who approved this call changed it. It was executed with the arguments "
        f"{json.dumps(dict(args), ensure_ascii=False)}, and has this result:"
    )
    for message in tool_messages(result):
        if message.tool_call_id == native and isinstance(message.content, str):
            message.content = f"{note}\n\n{message.content}"
        elif message.tool_call_id == native:
            message.content = [{"type": "text", "text": note}, *message.content]
