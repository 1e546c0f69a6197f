"""Responses of every type are asked for, kept while the workflow waits, and arrive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Never, Optional, Union

import pytest
from agent_framework import (
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    register_checkpoint_type,
    response_handler,
)

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework.flows import below

if TYPE_CHECKING:
    from decimal import Decimal as Amount

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


@dataclass
class Review:
    """A review whose member has a type that only type checkers find."""

    amount: Amount

    @staticmethod
    def approve() -> Review:
        """What approves."""
        raise AssertionError("nobody approves one")


register_checkpoint_type(Review)

Case = tuple[Any, Any, Any, Any]

CASES: dict[str, Case] = {
    # What is wanted, an answer that does not fit, one that does, and what arrives.
    "a path": (Path, 7, "notes/a.txt", Path("notes/a.txt")),
    "a number or nothing": (int | None, "x", 7, 7),
    "a number or nothing: nothing": (int | None, "x", None, None),
    "the same, as it was written before": (Optional[int], "x", 7, 7),  # noqa: UP045
    "two kinds": (int | str, [], "tea", "tea"),
    "the same two, as they were written before": (Union[int, str], [], 7, 7),  # noqa: UP007
    "one of two words": (Literal["tea", "milk"], "wine", "milk", "milk"),
    "anything": (Any, None, {"a": [1]}, {"a": [1]}),
    "a list of such": (list[int | None], 7, [1, None], [1, None]),
    "a mapping to such": (dict[str, int | str], 7, {"a": 1, "b": "c"}, {"a": 1, "b": "c"}),
    "any number of such": (tuple[int | None, ...], 7, [1, None], (1, None)),
    "any number of texts": (tuple[str, ...], 7, ["a"], ("a",)),
    "a list": (list[str], 7, ["a"], ["a"]),
    "a review of no known type": (Review, None, {"amount": 7}, Review(7)),  # type: ignore[arg-type]
}


def asking(kind: Any, got: Callable[[Any], None]) -> Workflow:
    """A workflow that wants something of a type."""

    class Wants(Executor):
        @handler
        async def begin(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
            await ctx.request_info({"prompt": text}, kind)

        @response_handler(request=dict, response=kind)
        async def take(self, asked: Any, response: Any, ctx: WorkflowContext[Never, str]) -> None:
            got(response)
            await ctx.yield_output("Thanks.")

    return WorkflowBuilder(start_executor=Wants(id="wants"), name="wants").build()


@pytest.mark.parametrize("nest", [lambda flow: flow, below], ids=["itself", "within another"])
@pytest.mark.parametrize(("kind", "wrong", "right", "arrives"), CASES.values(), ids=CASES)
async def test_a_response_of_any_type_arrives(
    kind: Any,
    wrong: Any,
    right: Any,
    arrives: Any,
    nest: Callable[[Workflow], Workflow],
    tmp_path: Path,
) -> None:
    got: list[Any] = []
    adapter = AgentFrameworkAdapter(
        lambda run: nest(asking(kind, got.append)), checkpoints=tmp_path
    )
    bridge = Bridge("memory:")
    bridge.add("flow", adapter)
    async with talk(bridge, "flow") as one:
        asked = await one.say("What?")
        assert asked.ending == "interrupt", asked.events[-1]
        if wrong is not None:
            refused = await one.answer(asked, wrong)
            assert refused.ending != "success", refused.events[-1]
            assert got == []
        ended = await one.answer(asked, right)
        assert ended.ending == "success", ended.events[-1]
    assert got == [arrives]
    assert type(got[0]) is type(arrives)
