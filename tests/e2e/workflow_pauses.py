"""Every way in which a workflow of the Mastra server pauses, and what must have been done then."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import httpx

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter
from tests.e2e.mastra import Talk, fresh
from tests.support.mastra import MastraProcess

__all__ = [
    "NO",
    "PAUSES",
    "YES",
    "Conversing",
    "Pausing",
    "done_with",
    "statuses",
    "workflows_before",
]

YES = {"ok": True}
NO = {"ok": False}
DATE = {"date": "2026-12-01"}


@dataclass(frozen=True)
class Pausing:
    """A workflow, and how people answer it.

    Attributes:
        workflow: its id.
        input: its input, as a format of the test's number.
        rounds: the answers, one list for each time that it asks.
        done: what is executed then, in any order, as formats: the step, the item and the answer.
    """

    workflow: str
    input: str
    rounds: tuple[tuple[Any, ...], ...]
    done: tuple[str, ...]


ONE = '{{"id": "{n}"}}'
TWO = '{{"ids": ["{n}x", "{n}y"]}}'
THREE = '{{"ids": ["{n}x", "{n}y", "{n}z"]}}'
SOME = '{{"ids": ["b{n}", "a{n}x", "a{n}y"]}}'
ITEMS = ("each-item {n}x True", "each-item {n}y False", "each-item {n}z True")

PAUSES = {
    "foreach": Pausing("eachTwoWorkflow", THREE, ((YES, NO), (YES,)), ITEMS),
    "foreach, one by one": Pausing("eachOneWorkflow", THREE, ((YES,), (NO,), (YES,)), ITEMS),
    "foreach, some ask": Pausing(
        "eachSomeWorkflow",
        SOME,
        ((NO, YES),),
        ("some-item b{n} None", "some-item a{n}x False", "some-item a{n}y True"),
    ),
    "nested": Pausing(
        "nestedTwoWorkflow", ONE, ((YES,),), ("inner-step {n} True", "after-nested {n} None")
    ),
    "nested three deep": Pausing(
        "nestedThreeWorkflow", ONE, ((NO,),), ("inner-step {n} False", "after-nested {n} None")
    ),
    "nested parallel": Pausing(
        "nestedParallelWorkflow",
        ONE,
        ((YES, NO),),
        ("left {n} True", "right {n} False", "after-nested {n} None"),
    ),
    "foreach of nested": Pausing(
        "eachNestedWorkflow",
        TWO,
        ((YES,), (NO,)),
        ("inner-step {n}x True", "inner-step {n}y False"),
    ),
    # Within a nested workflow one answer is for all items that wait: the question says so.
    "foreach within nested": Pausing(
        "nestedEachWorkflow",
        THREE,
        ((NO,), (YES,)),
        ("each-item {n}x False", "each-item {n}y False", "each-item {n}z True"),
    ),
    "parallel": Pausing(
        "parallelWorkflow",
        ONE,
        ((NO, YES),),
        ("left {n} False", "right {n} True", "joined {n} None"),
    ),
    "parallel with nested": Pausing(
        "parallelNestedWorkflow",
        ONE,
        ((YES, YES),),
        ("inner-step {n} True", "right {n} True", "joined {n} None"),
    ),
    "branches": Pausing(
        "branchWorkflow",
        ONE,
        ((YES, NO),),
        ("first-branch {n} True", "second-branch {n} False", "joined {n} None"),
    ),
    "sleeps": Pausing(
        "sleepWorkflow", ONE, ((YES,),), ("before-nap {n} True", "after-nap {n} None")
    ),
    "until": Pausing(
        "untilWorkflow",
        ONE,
        ((NO,), (YES,)),
        ("round {n} False", "round {n} True", "after-loop {n} None"),
    ),
    "while": Pausing(
        "whileWorkflow",
        ONE,
        ((NO,), (YES,)),
        ("round {n} False", "round {n} True", "after-loop {n} None"),
    ),
    "bail": Pausing("bailWorkflow", ONE, ((NO,),), ()),
    "no bail": Pausing("bailWorkflow", ONE, ((YES,),), ("after-bail {n} None",)),
    "twice in a step": Pausing("twiceWorkflow", ONE, ((DATE,), (YES,)), ("twice {n} True",)),
}


class Conversing(Talk):
    """A conversation with a workflow on a thread of its own."""

    def __init__(self, bridge: Bridge, pausing: Pausing, thread: str = "", n: int = 0) -> None:
        super().__init__(bridge, pausing.workflow, thread)
        self.pausing = pausing
        self.n = n or fresh()

    async def begin(self) -> None:
        """Start the workflow."""
        await self.say(self.pausing.input.format(n=self.n))

    async def answer_all(self, asks: Iterable[Any], answers: Iterable[Any]) -> str:
        """Answer these questions; gives how the run ended."""
        entries = [
            {"interruptId": ask["id"], "status": "resolved", "payload": payload}
            for ask, payload in zip(asks, answers, strict=True)
        ]
        await self.send(resume=entries)
        return self.ending

    def done(self, mastra: MastraProcess) -> list[str]:
        """What was executed, sorted."""
        return done_with(mastra, self.n)

    @property
    def wanted(self) -> list[str]:
        """What must have been executed once all is answered."""
        return sorted(done.format(n=self.n) for done in self.pausing.done)


def done_with(mastra: MastraProcess, n: int) -> list[str]:
    """What was executed with a number, sorted: the step, the item and the answer."""
    return sorted(
        f"{done['what']} {done['result']['id']} {done['result'].get('ok')}"
        for done in mastra.executions()
        if str(n) in str(done["result"].get("id"))
    )


def workflows_before(mastra: MastraProcess, store: str = "memory:", **settings: Any) -> Bridge:
    """A bridge with the server's workflows, which is told nothing of their schemas."""
    bridge = Bridge(store)
    others = ("agentStepWorkflow", "nestedAgentStepWorkflow", "slowWorkflow", "eventedWorkflow",
              "eventedEachWorkflow")  # fmt: skip
    for name in sorted({*(pausing.workflow for pausing in PAUSES.values()), *others}):
        bridge.add(name, MastraAdapter(mastra.url, name, kind="workflow"), **settings)
    return bridge


def statuses(mastra: MastraProcess, workflow: str, n: int) -> list[str]:
    """How the workflow's runs of a number stand at Mastra."""
    listed = httpx.get(f"{mastra.url}/api/workflows/{workflow}/runs", trust_env=False)
    kept = (run["snapshot"] for run in listed.json()["runs"])
    runs = [json.loads(run) if isinstance(run, str) else run for run in kept]
    return [run["status"] for run in runs if str(n) in json.dumps(run["context"].get("input"))]
