"""Workflows: what they request is asked, answered once, and kept without a pickle."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Workflow

from agui_bridge import Bridge, Run, Verdict
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import AdapterScenario, AdapterSuite, talk
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework.flows import agents, as_agent, below, orders
from tests.adapters.agent_framework.mailer import Mailer
from tests.adapters.mails import YES

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

HOME = {"street": "Main Street", "number": 5}


class TestOrders(AdapterSuite):
    # It asks for addresses, begins no tools, and tells no model anything.
    leaves_out = (
        *(
            "undelivered",
            "approval",
            "parallel",
            "nested",
            "beside",
            "twice",
            "stages",
            "acting",
            "amid",
        ),
        *("edit", "policy", "respond", "slow", "heard", "image", "free"),
    )

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.path = tmp_path

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[Any] = []
        yield AdapterScenario(
            adapter=lambda: AgentFrameworkAdapter(
                lambda run: orders(done.append), checkpoints=self.path
            ),
            text="hello",
            question="tea",
            answer=HOME,
            arrives={"item": "tea", **HOME},
            executed=lambda: done,
            elsewhere=("edit", "respond", "stop", "policy", "approve", "decline"),
        )


def serving(done: list[Any], folder: Path) -> Bridge:
    """A bridge with the workflow of orders, not yet begun."""
    bridge = Bridge("memory:")
    bridge.add("flow", AgentFrameworkAdapter(lambda run: orders(done.append), checkpoints=folder))
    return bridge


def files(folder: Path) -> list[Path]:
    """The checkpoints that are kept."""
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_a_form_of_the_responses_type_is_asked_and_two_at_once_have_their_own_answers(
    tmp_path: Path,
) -> None:
    done: list[Any] = []
    async with talk(serving(done, tmp_path), "flow") as one:
        asked = await one.say("tea milk")
        first = asked.asks[0]
        assert (first["reason"], first["message"]) == (
            "agent_framework:request_info",
            "Where does tea go?",
        )
        assert set(first["responseSchema"]["properties"]) == {"street", "number"}
        assert len(files(tmp_path)) == 1
        ended = await one.answer(asked, HOME, {"street": "Elm Street"})
        assert (ended.ending, done, files(tmp_path)) == (
            "success",
            [
                {"item": "tea", **HOME},
                {"item": "milk", "street": "Elm Street", "number": 1},
            ],
            [],
        )
        assert "Sent tea to Main Street." in ended.text


async def test_the_continuation_has_no_pickle(tmp_path: Path) -> None:
    kept: list[Any] = []

    class Watched(AgentFrameworkAdapter):
        async def run(self, run: Run) -> Any:
            async for item in super().run(run):
                if hasattr(item, "continuation"):
                    kept.append(item.continuation)
                yield item

    bridge = Bridge("memory:")
    done: list[Any] = []
    bridge.add("flow", Watched(lambda run: orders(done.append), checkpoints=tmp_path))
    async with talk(bridge, "flow") as one:
        await one.say("tea")
    assert set(kept[0]) == {"checkpoint", "place", "requests", "actor", "named"}
    assert "pickle" not in json.dumps(kept[0])
    assert "pickle" in files(tmp_path)[0].read_text()


async def test_a_resumed_workflow_asks_again(tmp_path: Path) -> None:
    done: list[Any] = []
    async with talk(serving(done, tmp_path), "flow") as one:
        again = await one.answer(await one.say("tea"), {"street": "again"})
        assert again.asks[0]["message"] == "Where, please, does tea go?"
        assert done == []
        assert (await one.answer(again, HOME)).ending == "success"
    assert done == [{"item": "tea", **HOME}]


async def test_what_a_stopped_pause_left_is_deleted_with_the_next_run(tmp_path: Path) -> None:
    done: list[Any] = []
    async with talk(serving(done, tmp_path), "flow") as one:
        await one.say("tea")
        await one.stop()
        assert (await one.say("hello")).text == "Hello."
    assert (done, files(tmp_path)) == ([], [])


async def test_a_checkpoint_that_is_gone_leaves_the_answer_to_be_given_again(
    tmp_path: Path,
) -> None:
    done: list[Any] = []
    async with talk(serving(done, tmp_path), "flow") as one:
        asked = await one.say("tea")
        (file,) = files(tmp_path)
        content = file.read_bytes()
        file.unlink()
        assert (await one.answer(asked, HOME)).ending != "success"
        file.write_bytes(content)
        assert (await one.answer(asked, HOME)).ending == "success"
    assert done == [{"item": "tea", **HOME}]


# --- agents in workflows ---


def mailing(mailer: Mailer, folder: Path) -> Bridge:
    """A bridge with a workflow of the mailer."""
    bridge = Bridge("memory:")
    bridge.add("flow", AgentFrameworkAdapter(lambda run: agents(mailer.agent), checkpoints=folder))
    return bridge


@pytest.mark.parametrize("approved", [True, False])
async def test_a_call_of_an_agent_in_a_workflow_is_approved_or_not(
    tmp_path: Path, approved: bool
) -> None:
    mailer = Mailer()
    async with talk(mailing(mailer, tmp_path), "flow") as one:
        asked = await one.say("send bob")
        assert [ask["reason"] for ask in asked.asks] == ["tool_call"]
        assert mailer.done == []
        answer = YES if approved else {"approved": False, "reason": "not him"}
        ended = await one.answer(asked, answer)
        assert (ended.ending, ended.text) == ("success", "Done with 1 calls.")
    assert mailer.done == ([{"to": "bob", "body": "original"}] if approved else [])
    if not approved:
        assert "Reason: not him" in mailer.results("send_email")[0]


async def test_a_policy_judges_an_agent_in_a_workflow(tmp_path: Path) -> None:
    mailer = Mailer()
    bridge = mailing(mailer, tmp_path)
    bridge.policy(lambda call: Verdict("deny", "not him"))
    async with talk(bridge, "flow") as one:
        assert (await one.say("look bob")).ending == "success"
    assert mailer.done == []


async def test_what_a_policy_denies_after_an_approval_is_told_as_that(tmp_path: Path) -> None:
    mailer = Mailer()
    bridge = mailing(mailer, tmp_path)
    bridge.policy(lambda call: Verdict("deny", "not him"))
    async with talk(bridge, "flow") as one:
        ended = await one.answer(await one.say("send bob"), YES)
    told = ["The policy denied this tool call; it was not executed. Reason: not him"]
    assert (mailer.done, mailer.results("send_email")) == ([], told)
    assert [e["content"] for e in ended.events if e["type"] == "TOOL_CALL_RESULT"] == told


@pytest.mark.parametrize("nest", [below, as_agent])
@pytest.mark.parametrize("action", ["deny", "allow"])
async def test_a_policy_judges_an_agent_of_a_workflow_within_a_workflow(
    tmp_path: Path, nest: Callable[[Workflow], Workflow], action: Any
) -> None:
    mailer, bridge = Mailer(), Bridge("memory:")
    adapter = AgentFrameworkAdapter(lambda run: nest(agents(mailer.agent)), checkpoints=tmp_path)
    bridge.add("flow", adapter)
    bridge.policy(lambda call: Verdict(action, "not him"))
    async with talk(bridge, "flow") as one:
        assert (await one.say("look bob")).ending == "success"
    assert mailer.done == (["looked up bob"] if action == "allow" else [])


async def test_a_call_of_an_agent_of_a_workflow_within_a_workflow_is_approved_once(
    tmp_path: Path,
) -> None:
    mailer, bridge = Mailer(), Bridge("memory:")
    adapter = AgentFrameworkAdapter(lambda run: below(agents(mailer.agent)), checkpoints=tmp_path)
    bridge.add("flow", adapter)
    async with talk(bridge, "flow") as one:
        asked = await one.say("send bob")
        for _ in range(2):
            await one.answer(asked, YES)
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_a_workflow_is_told_the_whole_conversation(tmp_path: Path) -> None:
    mailer = Mailer()
    async with talk(mailing(mailer, tmp_path), "flow") as one:
        await one.say("look bob")
        await one.say("hello")
    assert "look bob" in mailer.told()
    assert mailer.done == ["looked up bob"]


# --- what can't be ---


def test_a_workflow_itself_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="give a function that builds one"):
        Bridge("memory:").add("flow", orders(lambda _: None))


async def test_a_workflow_without_a_storage_says_what_to_give() -> None:
    bridge = Bridge("memory:")
    bridge.add("flow", AgentFrameworkAdapter(lambda run: orders(lambda _: None)))
    async with talk(bridge, "flow") as one:
        assert (await one.say("tea")).ending != "success"


async def test_nobody_is_asked_about_a_tool_that_no_agent_of_the_workflow_has(
    tmp_path: Path,
) -> None:
    mailer = Mailer()
    async with talk(mailing(mailer, tmp_path), "flow") as one:
        asked = await one.say("invent bob")
        assert len(asked.asks) == 1
        ended = await one.answer(asked, YES)
        assert (ended.ending, ended.text) == ("success", "Done with 2 calls.")
    assert mailer.results("fly") == ['Error: Requested function "fly" not found.']
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_while_an_approved_tool_is_gone_the_question_stays_and_once_it_is_back_it_runs(
    tmp_path: Path,
) -> None:
    mailer = Mailer()
    options = mailer.agent.default_options
    async with talk(mailing(mailer, tmp_path), "flow") as one:
        asked = await one.say("send bob")
        options["tools"] = [one for one in mailer.tools if one.name != "send_email"]
        again = await one.answer(asked, YES)
        assert "call 'send_email' has no such tool any more" in str(again.fault)
        assert (again.asks, mailer.done) == (asked.asks, [])
        options["tools"] = mailer.tools
        assert (await one.answer(again, YES)).ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}]
