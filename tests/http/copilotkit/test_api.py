"""CopilotKit's routes over real sockets: what is run, answered and stopped through them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import __version__
from agui_bridge.adapters import Run, RunItem
from tests.http.conftest import Serving, Site, by_token
from tests.http.copilotkit.routes import Client, Way
from tests.support.agents import Answering, Scripted, approval, eventually

pytestmark = pytest.mark.parametrize("way", ["rest", "single"])

APPROVE = {"approved": True}


def asked(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The interrupts that a stream tells."""
    [end] = [e for e in events if e["type"] == "RUN_FINISHED"]
    interrupts: list[dict[str, Any]] = end["outcome"].get("interrupts", [])
    return interrupts


def answer(interrupt: dict[str, Any], payload: Any) -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}


def synthetic(interrupt: dict[str, Any]) -> dict[str, Any]:
    """The tool message that CopilotKit makes of an answer, in the place of a result."""
    call = interrupt["toolCallId"]
    return {
        "id": f"made-{call}",
        "role": "tool",
        "toolCallId": call,
        "content": '{"approved":true}',
    }


async def test_info_lists_the_agents_with_what_they_can_do(serving: Serving, way: Way) -> None:
    async with serving() as site:
        info = (await Client(site, way).info()).json()
        capabilities = (await site.http.get("/agents/agent/capabilities")).json()

    assert (info["version"], info["mode"]) == (__version__, "sse")
    assert list(info["agents"]) == ["agent"]
    assert info["agents"]["agent"]["description"] == "For tests."
    assert info["agents"]["agent"]["capabilities"] == capabilities


async def test_an_approval_with_the_run_id_of_the_question_runs_the_tool_once(
    serving: Serving, way: Way
) -> None:
    agent = Answering(approval())
    async with serving(agent) as site:
        client = Client(site, way)
        [interrupt] = asked((await client.run("go", run="r1")).events)
        question = {"id": "u-go", "role": "user", "content": "go"}
        resume: dict[str, Any] = {
            "run": "r1",
            "resume": [answer(interrupt, APPROVE)],
            "messages": [question, synthetic(interrupt)],
        }
        first = await client.run(**resume)
        again = await client.run(**resume)
        thread = (await site.http.get("/agents/agent/threads/t")).json()

    assert first.events[-1]["outcome"] == again.events[-1]["outcome"] == {"type": "success"}
    assert len(agent.executed) == 1
    results = [m["content"] for m in thread["messages"] if m["role"] == "tool"]
    assert results == ["done"]


async def test_a_message_typed_while_paused_goes_on_the_record_with_the_answer(
    serving: Serving, way: Way
) -> None:
    agent = Answering(approval())
    async with serving(agent) as site:
        client = Client(site, way)
        [interrupt] = asked((await client.run("go")).events)
        typed = {"id": "typed", "role": "user", "content": "be quick"}
        await client.run(
            resume=[answer(interrupt, APPROVE)], messages=[typed, synthetic(interrupt)]
        )
        thread = (await site.http.get("/agents/agent/threads/t")).json()

    assert len(agent.executed) == 1
    assert [m["content"] for m in thread["messages"] if m["role"] == "user"] == ["go", "be quick"]


async def test_a_message_without_an_answer_is_refused_and_the_question_stands(
    serving: Serving, way: Way
) -> None:
    agent = Answering(approval())
    async with serving(agent) as site:
        client = Client(site, way)
        first = asked((await client.run("go")).events)
        refused = await client.run("never mind")

    assert refused.events[-1]["code"] == "INTERRUPT_PENDING"
    assert asked(refused.events) == first
    assert not agent.executed


async def partial(run: Run) -> AsyncIterator[RunItem]:
    yield "so far"
    await asyncio.Event().wait()


@pytest.mark.parametrize("run", [None, "r"])
async def test_stop_ends_the_stream_and_keeps_the_partial_text(
    serving: Serving, way: Way, run: str | None
) -> None:
    async with serving(Scripted(partial)) as site:
        client = Client(site, way)
        async with client.open("run", "go") as stream:
            await stream.until("TEXT_MESSAGE_CONTENT")
            assert await client.stop(run=run) == {"stopped": True}
            await stream.rest()
        thread = (await site.http.get("/agents/agent/threads/t")).json()

    assert stream.events[-1]["result"] == {"stopReason": "USER_INTERRUPTED"}
    assert "outcome" not in stream.events[-1]
    assert thread["messages"][-1]["content"] == "so far"


async def test_a_stop_that_names_another_run_stops_nothing(serving: Serving, way: Way) -> None:
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await go.wait()
        yield ", and on"

    async with serving(Scripted(script)) as site:
        client = Client(site, way)
        async with client.open("run", "go") as stream:
            await stream.until("TEXT_MESSAGE_CONTENT")
            refused = await client.stop(run="an-earlier-one")
            go.set()
            await stream.rest()

    assert refused["stopped"] is False and "another one" in refused["message"]
    assert stream.events[-1]["outcome"] == {"type": "success"}


async def test_a_stop_closes_the_question_of_the_run_that_it_names_alone(
    serving: Serving, way: Way
) -> None:
    async with serving(Answering(approval())) as site:
        client = Client(site, way)
        await client.run("go", run="asked")
        late = await client.stop(run="an-earlier-one")
        waiting = (await site.http.get("/agents/agent/threads/t")).json()
        meant = await client.stop(run="asked")
        closed = (await site.http.get("/agents/agent/threads/t")).json()

    assert late["stopped"] is False and "another one" in late["message"]
    assert waiting["status"] == "interrupted"
    assert meant == {"stopped": True}
    assert closed["status"] == "idle"


async def test_a_stop_of_nothing_says_so(serving: Serving, way: Way) -> None:
    async with serving(Scripted(["done"])) as site:
        client = Client(site, way)
        unknown = await client.stop("unheard-of")
        await client.run("go")
        idle = await client.stop()

    assert unknown["stopped"] is idle["stopped"] is False
    assert unknown["message"] and idle["message"]


async def test_a_run_goes_on_when_its_page_is_gone(serving: Serving, way: Way) -> None:
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await go.wait()
        yield ", and on"

    # The plain endpoint's policy is another one.
    async with serving(Scripted(script), on_disconnect="stop") as site:
        async with Client(site, way).open("run", "go") as stream:
            await stream.until("TEXT_MESSAGE_CONTENT")
        await asyncio.sleep(0.05)
        go.set()

        async def done() -> bool:
            thread = (await site.http.get("/agents/agent/threads/t")).json()
            return bool(thread["messages"][-1]["content"] == "so far, and on")

        await eventually(done)


async def test_whoever_has_no_token_gets_nothing(serving: Serving, way: Way) -> None:
    async with serving(authenticate=by_token) as site:
        client = Client(site, way)
        assert (await client.info()).status_code == 401
        for method in ("run", "connect"):
            with pytest.raises(AssertionError, match="UNAUTHENTICATED"):
                await refused(client, method)


async def test_an_unknown_agent_is_an_error_that_names_the_known(
    serving: Serving, way: Way
) -> None:
    async with serving() as site:
        for method in ("run", "connect"):
            with pytest.raises(AssertionError, match="there are: agent"):
                await refused(Client(site, way), method, agent="other")


async def refused(client: Client, method: str, **members: Any) -> None:
    """A request whose stream does not begin: fails with the answer's body."""
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(client.open(method, "go", **members))


async def test_another_scope_sees_a_thread_of_its_own(serving: Serving, way: Way) -> None:
    headers = {"authorization": "Bearer ann"}
    async with serving(authenticate=by_token, headers=headers) as site:
        body = {"threadId": "t", "runId": "r", "messages": []}
        said = {"id": "u", "role": "user", "content": "a secret"}
        await _post(site, way, "run", {**body, "messages": [said]})
        own = await _post(site, way, "connect", body)
        site.http.headers["authorization"] = "Bearer eve"
        other = await _post(site, way, "connect", body)

    assert b"a secret" in own and other == b""


async def _post(site: Site, way: Way, method: str, body: dict[str, Any]) -> bytes:
    path, sent = f"/copilotkit/agent/agent/{method}", body
    if way == "single":
        path = "/copilotkit"
        sent = {"method": f"agent/{method}", "params": {"agentId": "agent"}, "body": body}
    response = await site.http.post(path, json={"tools": [], "context": [], **sent})
    assert response.status_code == 200, response.text
    return response.content
