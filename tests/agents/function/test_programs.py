"""Random programs, paused and resumed as they come, against what they must have done."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings, strategies as st

from agui_bridge.adapters import Ask
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.protocol.answers.decisions import Answer, Approve, Cancel, Decision, Decline
from tests.agents.function.harness import Thread, show


@dataclass(frozen=True)
class Act:
    """One call; `fate` is its answer, or how many loop passes its function takes."""

    kind: str
    name: str
    fate: int


@dataclass(frozen=True)
class Parallel:
    branches: tuple[tuple[Any, ...], ...]
    grouped: bool


ACTS = st.builds(
    Act,
    st.sampled_from(["step", "call", "approve", "ask", "stream"]),
    st.sampled_from("xyz"),
    st.integers(0, 3),
)
BODIES = st.recursive(
    st.lists(ACTS, max_size=4).map(tuple),
    lambda body: st.lists(
        ACTS
        | st.builds(Parallel, st.lists(body, min_size=1, max_size=3).map(tuple), st.booleans()),
        max_size=4,
    ).map(tuple),
    max_leaves=6,
)
PROGRAMS = st.lists(st.integers(0, 9) | BODIES, max_size=6)
"""What the generator does in turn: a number is yielded, a body carried out."""


class Interpreter:
    """Carries a program out through `run`, noting each side effect."""

    def __init__(self, effects: Counter[str]) -> None:
        self.effects = effects

    def agent(self, program: list[Any]) -> Callable[..., Any]:
        async def agent(run: FunctionRun) -> AsyncIterator[str]:
            for n, part in enumerate(program):
                if isinstance(part, int):
                    run.state["sum"] = run.state.get("sum", 0) + part
                    yield f"<{part}>"
                else:
                    await self.body(run, part, f"/{n}")

        return agent

    async def body(self, run: FunctionRun, body: tuple[Any, ...], path: str) -> None:
        for n, node in enumerate(body):
            if isinstance(node, Act):
                await self.act(run, node, path)
                continue
            parts = [self.body(run, b, f"{path}/{n}.{i}") for i, b in enumerate(node.branches)]
            if node.grouped:
                async with asyncio.TaskGroup() as group:
                    for part in parts:
                        group.create_task(part)
            else:
                await asyncio.gather(*parts)

    async def act(self, run: FunctionRun, act: Act, path: str) -> None:
        async def effect(label: str = "") -> str:
            for _ in range(act.fate * 3):
                await asyncio.sleep(0)
            self.effects[f"{act.kind} {act.name} {path}{label}"] += 1
            return act.name

        async def chunks() -> AsyncIterator[str]:
            yield "["
            yield await effect() + "]"

        if act.kind == "step":
            assert await run.step(act.name, effect, key=path) == act.name
        elif act.kind == "call":
            assert await run.call(act.name, {}, effect, key=path) == act.name
        elif act.kind == "stream":
            assert await run.stream(act.name, chunks, key=path) == f"[{act.name}]"
        elif act.kind == "ask":
            await run.ask(act.name, metadata={"fate": act.fate}, key=path)
        else:
            approval = await run.approve(act.name, {}, metadata={"fate": act.fate}, key=path)
            assert approval.approved == (act.fate < 2)
            if approval:
                await run.tool(approval, effect)


def decide(ask: Ask) -> Decision:
    """The answer that the act's fate means."""
    assert ask.metadata is not None
    fate = ask.metadata["fate"]
    if ask.tool_call is None:
        return Answer(fate) if fate < 3 else Cancel()
    return (Approve({}), Approve({}), Decline("no"), Cancel("expired"))[fate]


def expected(program: list[Any]) -> tuple[Counter[str], Counter[str]]:
    """The side effects and the emitted pieces of an uninterrupted run, without their order."""
    effects: Counter[str] = Counter()
    wire: Counter[str] = Counter()

    def walk(body: tuple[Any, ...], path: str) -> None:
        for n, node in enumerate(body):
            if isinstance(node, Parallel):
                for i, branch in enumerate(node.branches):
                    walk(branch, f"{path}/{n}.{i}")
                continue
            acts = node.kind in ("step", "call", "stream") or (
                node.kind == "approve" and node.fate < 2
            )
            effects[f"{node.kind} {node.name} {path}"] += acts
            if node.kind == "stream":
                wire.update(["[", f"{node.name}]"])
            if node.kind == "call":
                wire.update([f"START {node.name}", "ARGS {}", "END", f"RESULT {node.name}"])
            if node.kind == "approve" and acts:
                wire[f"RESULT {node.name}"] += 1

    for n, part in enumerate(program):
        if isinstance(part, int):
            wire[f"<{part}>"] += 1
        else:
            walk(part, f"/{n}")
    return +effects, +wire


def piece(shown: Any) -> str:
    """One emitted item without its ids."""
    if isinstance(shown, str):
        return shown
    kind = shown[0].removeprefix("TOOL_CALL_")
    return kind if kind == "END" else f"{kind} {shown[2]}"


@settings(max_examples=150)
@given(PROGRAMS)
def test_each_effect_and_each_event_happens_once_whatever_the_pauses(program: list[Any]) -> None:
    effects: Counter[str] = Counter()

    async def drive() -> tuple[list[Any], Any]:
        thread = Thread(lambda: Interpreter(effects).agent(program), state={})
        outcome = await thread.go()
        emitted = list(outcome.wire)
        while outcome.final is not None:
            assert outcome.pause.asks
            outcome = await thread.answer(decide)
            emitted += [show(item) for item in outcome.items]
        return emitted, thread.state

    emitted, state = asyncio.run(drive())
    emitted = [item for item in emitted if item[0] != "STATE_DELTA"]
    wanted_effects, wanted_wire = expected(program)
    assert effects == wanted_effects
    assert Counter(piece(item) for item in emitted) == wanted_wire
    yielded = [part for part in program if isinstance(part, int)]
    assert [i for i in emitted if isinstance(i, str) and i[0] == "<"] == [f"<{n}>" for n in yielded]
    assert state.get("sum", 0) == sum(yielded)
