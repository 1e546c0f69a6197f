"""The kit on our own adapter of A2A agents, which speaks to another bridge's A2A server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import pytest

from agui_bridge import ApprovalRule, Bridge, Settings
from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_a2a import A2AAdapter
from agui_bridge_a2a.card import Binding
from tests.a2a.agents import made
from tests.docs.pages import Conversation
from tests.support.effects import Effects
from tests.support.server import serve

pytestmark = pytest.mark.timeout(120)

NO_CALLS_OF_ITS_OWN = (
    *("ids", "approve", "result", "decline", "edit", "cancel", "parallel", "threads", "policy"),
    *("beside", "twice", "stages", "nested", "acting", "free", "amid", "heard", "respond"),
    *("stop-by-itself", "stop-acting"),
)
"""An approval at the other bridge is a question here: the call runs there."""


class Bindings(AdapterSuite):
    """A server for each check."""

    binding: ClassVar[Binding]
    leaves_out = NO_CALLS_OF_ITS_OWN
    folder: Path

    @pytest.fixture(autouse=True)
    def its_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        effects = Effects(self.folder / "effects")
        other = made("memory:", effects)
        async with serve(other.app(anonymous=True)) as base:
            yield AdapterScenario(
                adapter=lambda: A2AAdapter(f"{base}/a2a/all", binding=self.binding),
                question="order",
                answer={"size": "M"},
                slow="slow",
                executed=lambda: [{"size": each[-1]} for each in effects.counted.elements()],
                unreachable=lambda: A2AAdapter("http://127.0.0.1:9"),
                patience=10.0,
            )


class TestJsonRpc(Bindings):
    binding = "JSONRPC"


@pytest.mark.soak
class TestHttpJson(Bindings):
    binding = "HTTP+JSON"


@contextlib.asynccontextmanager
async def before(other: Bridge, agent: str) -> AsyncIterator[Bridge]:
    """A bridge whose agent `remote` is one of another bridge."""
    async with serve(other.app(anonymous=True)) as base:
        front = Bridge(telemetry=False)
        front.add("remote", A2AAdapter(f"{base}/a2a/{agent}", patience=1.0))
        yield front
        await front.aclose()


async def test_an_approval_there_is_a_question_here_that_rules_for_the_tool_guard(
    bridge: Bridge, effects: Effects
) -> None:
    async with before(bridge, "ops") as front:

        @front.approvals
        def rule(question: object) -> ApprovalRule | None:
            return ApprovalRule("dba", approvers=("dba",)) if _tool(question) else None

        talk = Conversation(front, "remote")
        await talk.say("users")
        await talk.answer({"approved": True})
        assert talk.events[-1]["code"] == "NOT_AN_APPROVER"
    assert effects.counted == {}


def _tool(question: object) -> bool:
    return getattr(question, "tool", None) == "delete_rows"


@pytest.mark.parametrize(
    ("payload", "told", "done"),
    [
        ({"approved": True}, "rows of users deleted", {"deleted users": 1}),
        ({"approved": False, "reason": "no"}, "Kept: no.", {}),
        (None, "Kept: refused.", {}),
    ],
)
async def test_answers_are_given_on(
    bridge: Bridge, effects: Effects, payload: object, told: str, done: dict[str, int]
) -> None:
    async with before(bridge, "ops") as front:
        talk = Conversation(front, "remote")
        assert await talk.say("users") == "I will delete. "
        assert await talk.answer(payload) == told
        assert talk.events[-1]["outcome"]["type"] == "success"
    assert effects.counted == done


async def test_what_expired_there_has_expired_here(tmp_path: Path) -> None:
    other = made("memory:", Effects(tmp_path / "effects"), settings=Settings(sweep_interval=0.05))
    async with before(other, "brief") as front:
        talk = Conversation(front, "remote")
        await talk.say("now")
        await asyncio.sleep(0.5)
        await talk.answer({"size": "M"})
        assert talk.events[-1]["code"] == "INTERRUPT_EXPIRED"
