"""Bridges as processes before the SDK's server: killed, racing, and with a network that breaks."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge_a2a import A2AAdapter
from tests.adapters.a2a.bench import Agent, agent
from tests.docs.pages import Conversation
from tests.support.ports import free_port
from tests.support.proxy import Proxy, proxy_to
from tests.support.target import Target
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)


def answer(interrupt: dict[str, Any], text: str = "yes") -> dict[str, Any]:
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": {"text": text}}


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Agent]:
    with agent(tmp_path) as served:
        (tmp_path / "agent-url").write_text(served.url)
        yield served


@pytest.fixture
def targets(tmp_path: Path) -> Iterator[Callable[[], Target]]:
    started: list[Target] = []

    def start() -> Target:
        started.append(Target(tmp_path, lease=3.0, module="tests.adapters.a2a.bridging"))
        return started[-1]

    yield start
    for target in started:
        target.close()


def test_a_question_outlives_bridge_and_agent_and_of_two_that_get_the_answer_one_sends_it(
    begun: Agent, targets: Callable[[], Target]
) -> None:
    first = targets()
    (interrupt,) = first.send("t", "deploy").interrupts
    first.kill()
    begun.kill()
    begun.start()
    others = [targets(), targets()]
    told: list[Any] = []
    racing = [
        threading.Thread(target=lambda it=it: told.append(it.send("t", resume=[answer(interrupt)])))
        for it in others
        for _ in range(2)
    ]
    for each in racing:
        each.start()
    for each in racing:
        each.join()
    assert [each.outcome for each in told] == ["success"] * 4
    assert begun.effects == ["yes"]


@pytest.mark.soak
def test_of_raced_answers_none_is_sent_twice(begun: Agent, targets: Callable[[], Target]) -> None:
    both = [targets(), targets()]
    for number in range(50):
        thread = f"t{number}"
        (interrupt,) = both[0].send(thread, "deploy").interrupts
        racing = [
            threading.Thread(target=it.send, args=(thread,), kwargs={"resume": [answer(interrupt)]})
            for it in both
        ]
        for each in racing:
            each.start()
        for each in racing:
            each.join()
    assert begun.effects == ["yes"] * 50


@asynccontextmanager
async def behind_a_proxy(folder: Path, *options: str) -> AsyncIterator[tuple[Agent, Proxy]]:
    """An agent whose card names a proxy's address."""
    port = free_port()
    async with proxy_to(port) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        begun = await asyncio.to_thread(Agent, folder, ("--url", url, *options), port)
        try:
            yield begun, proxy
        finally:
            begun.kill()


def talk_over(proxy: Proxy, patience: float = 1.0) -> Conversation:
    bridge = Bridge(telemetry=False)
    bridge.add("remote", A2AAdapter(f"http://127.0.0.1:{proxy.port}", patience=patience))
    return Conversation(bridge, "remote")


@pytest.mark.soak
@pytest.mark.parametrize("options", [(), ("--version", "0.3"), ("--binding", "HTTP+JSON")])
async def test_a_stream_that_was_cut_is_taken_up_again(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    async with behind_a_proxy(tmp_path, *options) as (begun, proxy):
        talk = talk_over(proxy, 10.0)
        saying = asyncio.create_task(talk.say("steps"))

        def has_told(step: int) -> bool:
            return f"Step {step}." in json.dumps(talk.events)

        for step in (1, 4):
            await eventually(partial(has_told, step))
            proxy.cut()
        # Nothing is lost, told twice or begun twice.
        assert await saying == "".join(f"Step {n}." for n in range(8)) + "All done."
        assert begun.effects == ["steps"]


async def test_an_answer_whose_stream_is_cut_is_followed_and_not_sent_again(tmp_path: Path) -> None:
    async with behind_a_proxy(tmp_path) as (begun, proxy):
        talk = talk_over(proxy, 10.0)
        await talk.say("deploy")
        proxy.fault, proxy.marker = "lose reply", b"SendStreamingMessage"
        assert await talk.answer({"text": "yes"}) == "deployed v2Done."
        assert talk.events[-1]["outcome"]["type"] == "success"
        assert begun.effects == ["yes"]


async def test_a_message_beside_an_answer_is_said_once_the_task_is_over(begun: Agent) -> None:
    bridge = Bridge(telemetry=False)
    bridge.add("remote", A2AAdapter(begun.url))
    talk = Conversation(bridge, "remote")
    await talk.say("deploy")
    entry = answer(dict(talk.asks[0]))
    message = {"id": "u9", "role": "user", "content": "thanks"}
    assert await talk._send(resume=[entry], messages=[message]) == "deployed v2Done.Noted."
    assert begun.effects[:2] == ["yes", [{"text": "thanks"}]]


@pytest.mark.soak
@pytest.mark.parametrize("fault", ["lose request", "dead"])
async def test_an_answer_whose_fate_is_unknown_is_indeterminate(tmp_path: Path, fault: str) -> None:
    async with behind_a_proxy(tmp_path) as (begun, proxy):
        talk = talk_over(proxy)
        await talk.say("deploy")
        (ask,) = talk.asks
        if fault == "dead":
            answering = asyncio.create_task(talk.answer({"text": "slowly"}))
            await eventually(lambda: begun.effects == ["slowly"])
            begun.kill()
            await answering
        else:
            proxy.fault, proxy.marker = "lose request", b"SendStreamingMessage"
            await talk.answer({"text": "yes"})
        assert talk.events[-1]["code"] == "RUN_INDETERMINATE"
        done = begun.effects
        await talk._send(resume=[answer(dict(ask))])
        assert begun.effects == done


async def test_a_card_that_is_not_reachable_leaves_the_question_open(tmp_path: Path) -> None:
    async with behind_a_proxy(tmp_path) as (begun, proxy):
        talk = talk_over(proxy)
        await talk.say("deploy")
        (ask,) = talk.asks
        proxy.take_down()
        await talk.answer({"text": "yes"})
        assert talk.events[-1]["code"] == "UPSTREAM_ERROR"
        proxy.down = False
        assert await talk._send(resume=[answer(dict(ask))]) == "deployed v2Done."
        assert begun.effects == ["yes"]
