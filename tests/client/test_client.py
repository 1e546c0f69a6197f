"""The client against a real bridge: conversations, answers, refusals, stop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from agui_bridge import Bridge, FunctionRun
from agui_bridge.client import (
    AnswerFault,
    Cancelled,
    Client,
    HttpError,
    NotReached,
    Resolved,
    RunFailed,
)
from tests.support.server import PATIENCE, serve


@dataclass
class Site:
    """A served bridge and what its agent did.

    Attributes:
        sent: every execution of the tool.
    """

    base: str = ""
    sent: list[str] = field(default_factory=list)

    def client(self, agent: str = "ops", thread: str | None = None, **options: Any) -> Client:
        return Client(f"{self.base}/agents/{agent}", thread_id=thread, timeout=PATIENCE, **options)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    bridge, site = Bridge("memory:"), Site()

    async def send(to: str) -> str:
        site.sent.append(to)
        return f"sent to {to}"

    @bridge.agent("ops")
    async def ops(run: FunctionRun) -> AsyncIterator[str]:
        verb = run.text.split()[0]
        if verb == "send":
            yield "I ask. "
            answer = await run.approve("send", {"to": "ann"})
            yield str(await run.tool(answer, send)) if answer.approved else "Declined."
        elif verb == "both":
            answers = await asyncio.gather(
                *(run.approve("send", {"to": to}, key=to) for to in ("ann", "bob"))
            )
            for each in answers:
                if each.approved:
                    await run.tool(each, send)
            yield f"{sum(each.approved for each in answers)} approved."
        elif verb == "count":
            run.state["count"] = run.state.get("count", 0) + 1
            yield f"{run.state['count']}"
        elif verb == "fail":
            raise RuntimeError("secret")
        elif verb == "slow":
            for number in range(1000):
                yield f"{number} "
                await asyncio.sleep(0.02)
        else:
            yield f"You said: {run.text}"

    async with serve(bridge.app(anonymous=True)) as base:
        site.base = base
        yield site


async def test_a_conversation_keeps_messages_and_state(site: Site) -> None:
    async with site.client() as client:
        kinds = [event["type"] async for event in client.run("count one")]
        end = await client.complete("count two")
    assert kinds[0] == "RUN_STARTED"
    assert kinds[-1] == "RUN_FINISHED"
    assert end.outcome == "success"
    assert client.state == {"count": 2}
    assert [(m["role"], m["content"]) for m in client.messages] == [
        ("user", "count one"),
        ("assistant", "1"),
        ("user", "count two"),
        ("assistant", "2"),
    ]


DIALECTS = ["1.1", "1.0", "0.x", "langgraph", "draft"]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_approval_is_asked_and_carried_out_once(site: Site, dialect: str) -> None:
    async with site.client(dialect=dialect) as client:
        assert (await client.complete("send it")).outcome == "interrupt"
        (ask,) = client.pending_interrupts
        call = client.tool_call(ask.tool_call_id)
        if dialect == "draft":
            # It knows no tool calls: the proposal tells what is asked.
            assert ask.metadata is not None
            assert ask.metadata["proposal"] == {"tool": "send", "args": {"to": "ann"}}
        else:
            assert call is not None
            assert call["function"] == {"name": "send", "arguments": '{"to":"ann"}'}
        end = await client.complete(resume={ask.id: Resolved({"approved": True})})
    assert (end.outcome, client.pending_interrupts, site.sent) == ("success", (), ["ann"])
    assert client.messages[-1]["content"] == "sent to ann"
    results = [m["content"] for m in client.messages if m["role"] == "tool"]
    assert results == ["sent to ann"]


async def test_parallel_questions_are_answered_together_one_of_them_cancelled(site: Site) -> None:
    async with site.client() as client:
        await client.complete("both")
        first, second = client.pending_interrupts
        await client.complete(
            resume={second.id: Cancelled(), first.id: Resolved({"approved": True})}
        )
    assert site.sent == ["ann"]
    assert client.messages[-1]["content"] == "1 approved."


@pytest.mark.parametrize("dialect", ["langgraph", "draft"])
async def test_parallel_questions_are_answered_one_after_the_other(
    site: Site, dialect: str
) -> None:
    async with site.client(dialect=dialect) as client:
        await client.complete("both")
        (first,) = client.pending_interrupts
        end = await client.complete(resume={first.id: Resolved({"approved": True})})
        assert (end.outcome, site.sent) == ("interrupt", [])
        (second,) = client.pending_interrupts
        assert second.id != first.id
        end = await client.complete(resume={second.id: Resolved({"approved": True})})
    assert (end.outcome, site.sent) == ("success", ["ann", "bob"])


async def test_langgraph_has_no_cancel_and_the_draft_has_ours(site: Site) -> None:
    async with site.client(dialect="langgraph") as client:
        await client.complete("send it")
        (ask,) = client.pending_interrupts
        with pytest.raises(AnswerFault, match="can't cancel"):
            await client.complete(resume={ask.id: Cancelled()})
    async with site.client(dialect="draft") as client:
        await client.complete("send it")
        (ask,) = client.pending_interrupts
        assert (await client.complete(resume={ask.id: Cancelled()})).outcome == "success"
    assert site.sent == []


async def test_what_is_open_must_be_answered_before_anything_new_is_sent(site: Site) -> None:
    async with site.client() as client:
        await client.complete("send it")
        (ask,) = client.pending_interrupts
        before = client.messages
        with pytest.raises(AnswerFault) as fault:
            await client.complete("something else")
        assert (fault.value.code, fault.value.interrupt_ids) == ("INTERRUPT_PENDING", (ask.id,))
        assert client.messages == before
        with pytest.raises(RunFailed) as refused:
            await client.complete("something else", while_pending=True)
        assert refused.value.code == "INTERRUPT_PENDING"
        # The refusal's snapshot has taken the message back; the question is still open.
        assert client.messages == before
        assert [open.id for open in client.pending_interrupts] == [ask.id]
    assert site.sent == []


async def test_a_fresh_client_loads_the_thread_and_answers_its_open_question(site: Site) -> None:
    async with site.client() as first:
        await first.complete("send it")
    async with site.client(thread=first.thread_id) as second:
        assert await second.load()
        assert second.messages == first.messages
        assert second.pending_interrupts == first.pending_interrupts
        (ask,) = second.pending_interrupts
        await second.complete(resume={ask.id: Resolved({"approved": False})})
    assert second.messages[-1]["content"] == "Declined."
    assert site.sent == []
    async with site.client(thread="never seen") as third:
        assert not await third.load()


async def test_a_fresh_client_follows_a_run_that_goes_on(site: Site) -> None:
    async with (
        site.client() as first,
        contextlib.aclosing(first.run("slow")) as events,
        asyncio.timeout(PATIENCE),
    ):
        while (await anext(events))["type"] != "TEXT_MESSAGE_CONTENT":
            pass
        async with site.client(thread=first.thread_id) as second:
            kinds, stopping = [], None
            async for event in second.follow():
                kinds.append(event["type"])
                if kinds.count("TEXT_MESSAGE_CONTENT") == 3:
                    stopping = asyncio.create_task(second.stop())
            assert stopping is not None
            await stopping
            async for _ in events:
                pass
            assert kinds[:3] == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
            assert second.end is not None
            assert second.end.outcome == "cancelled"
            assert second.messages == first.messages
            assert second.messages[-1]["content"].startswith("0 1 2 ")


@pytest.mark.parametrize("dialect", ["1.1", "1.0", "0.x", "langgraph", "draft"])
async def test_a_client_that_comes_back_to_a_question_answers_it(site: Site, dialect: Any) -> None:
    async with site.client(dialect=dialect) as first:
        await first.complete("send it")
    async with site.client(thread=first.thread_id, dialect=dialect) as second:
        kinds = [event["type"] async for event in second.follow()]
        assert kinds[-1] == "RUN_FINISHED"
        assert second.messages == first.messages
        assert second.pending_interrupts == first.pending_interrupts
        (ask,) = second.pending_interrupts
        await second.complete(resume={ask.id: Resolved({"approved": True})})
    assert site.sent == ["ann"]


async def test_a_thread_that_there_is_not_is_an_http_error(site: Site) -> None:
    async with site.client(thread="never seen") as client:
        with pytest.raises(HttpError) as unknown:
            async for _ in client.follow():
                pass
    assert (unknown.value.status, unknown.value.code) == (404, "THREAD_NOT_FOUND")


async def test_refusals_are_raised_however_the_agent_tells_them_to_others() -> None:
    bridge = Bridge("memory:")

    @bridge.agent("ops", refusals="ask")
    async def ops(run: FunctionRun) -> str:
        return "yes" if (await run.approve("send", {})).approved else "no"

    async with serve(bridge.app(anonymous=True)) as base:
        async with Client(f"{base}/agents/ops") as client:
            await client.complete("go")
            with pytest.raises(RunFailed) as refused:
                await client.complete("and?", while_pending=True)
            assert refused.value.code == "INTERRUPT_PENDING"
            assert len(client.pending_interrupts) == 1
        asking = {"AG-UI-Refusals": "ask"}
        async with Client(f"{base}/agents/ops", thread_id=client.thread_id, headers=asking) as page:
            assert (await page.complete("and?", while_pending=True)).outcome == "interrupt"


async def test_a_failed_run_raises_after_its_events(site: Site) -> None:
    kinds = []
    async with site.client() as client:
        with pytest.raises(RunFailed) as failed:
            async for event in client.run("fail"):
                kinds.append(event["type"])
    assert kinds[-1] == "RUN_ERROR"
    assert failed.value.code == "AGENT_ERROR"
    assert "secret" not in failed.value.message
    assert client.end is not None
    assert client.end.error is failed.value


async def test_an_unknown_agent_is_an_http_error_and_the_message_is_taken_back(site: Site) -> None:
    async with site.client("nobody") as client:
        with pytest.raises(HttpError) as refused:
            await client.complete("hello")
    assert (refused.value.status, refused.value.code) == (404, "AGENT_NOT_FOUND")
    assert client.messages == []


async def test_a_server_that_is_not_there_has_seen_nothing() -> None:
    async with Client("http://127.0.0.1:9/agents/ops") as client:
        with pytest.raises(NotReached, match=r"127\.0\.0\.1:9"):
            await client.complete("hello")
        assert client.messages == []
        with pytest.raises(NotReached):
            await client.load()


async def test_stop_ends_the_run_in_order_and_keeps_the_partial_text(site: Site) -> None:
    async with site.client() as client, asyncio.timeout(PATIENCE):
        kinds, stopping = [], None
        async for event in client.run("slow"):
            kinds.append(event["type"])
            if kinds.count("TEXT_MESSAGE_CONTENT") == 3:
                stopping = asyncio.create_task(client.stop())
        assert stopping is not None
        await stopping
        assert client.end is not None
        assert (client.end.outcome, kinds[-1]) == ("cancelled", "RUN_FINISHED")
        assert client.messages[-1]["content"].startswith("0 1 2 ")
        # And the server's own record is the same.
        kept = client.messages[-1]["content"]
        assert await client.load()
        assert client.messages[-1]["content"] == kept
        assert (await client.complete("hello")).outcome == "success"


async def test_leaving_the_loop_aborts_the_run(site: Site) -> None:
    async with site.client() as client, asyncio.timeout(PATIENCE):
        async with contextlib.aclosing(client.run("slow")) as events:
            async for event in events:
                if event["type"] == "TEXT_MESSAGE_CONTENT":
                    break
        # The disconnect stops it: soon the thread takes a message again.
        while True:
            try:
                await client.complete("hello")
                break
            except RunFailed as busy:
                assert busy.code == "RUN_IN_PROGRESS"
        assert client.messages[-1]["content"] == "You said: hello"


async def test_one_client_has_one_run_at_a_time(site: Site) -> None:
    async with site.client() as client, contextlib.aclosing(client.run("slow")) as events:
        await anext(events)
        with pytest.raises(RuntimeError, match="runs already"):
            await client.complete("hello")
