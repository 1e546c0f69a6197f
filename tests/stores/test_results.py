"""A run's result is told again wherever its thread is told of, from every store.

One process carries an answer out, another one is asked afterwards.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import httpx
import pytest

from agui_bridge import Bridge, FunctionRun, Settings
from agui_bridge.inbox import Inbox
from agui_bridge.protocol.wire.sse import Decoder
from agui_bridge.stores.base import Store
from agui_bridge.stores.memory import MemoryStore
from tests.http.inbox.pages import Page, Person
from tests.stores.conftest import Opener
from tests.support.server import client, open_stream_at, post, run_input, serve

RESULT: Final = {"answer": 42, "of": ["six", "nine"], "größe": None}
YES: Final = {"confirm": True}
KEY: Final = "a-key-of-the-tests-0123456789"


def bridge_on(store: Store) -> Bridge:
    """A process: an agent that asks, and gives an object; its words are none."""
    bridge = Bridge(store, settings=Settings(shutdown_grace=0.1), inbox=Inbox(keys=[KEY]))

    @bridge.agent("calc")
    async def calc(run: FunctionRun) -> dict[str, Any]:
        await run.confirm("Compute?")
        return dict(RESULT)

    return bridge


@dataclass
class Asked:
    """The process that is asked for what another one did.

    Attributes:
        base: its URL.
        bridge: the bridge.
        http: a client of it.
        ref: of the question that was answered.
        id: of the same.
        person: somebody with a browser.
        page: the question's page, as they saw it before it was answered.
    """

    base: str
    bridge: Bridge
    http: httpx.AsyncClient
    ref: str
    id: str
    person: Person
    page: Page

    @property
    def resume(self) -> list[dict[str, Any]]:
        """The answer, once more."""
        return [{"interruptId": self.id, "status": "resolved", "payload": YES}]

    async def read(self, path: str, **query: str) -> dict[str, Any]:
        """What is answered with JSON."""
        found: dict[str, Any] = (await self.http.get(path, params=query)).json()
        return found


Surface = Callable[[Asked], Awaitable[Any]]


async def replay(asked: Asked, **members: Any) -> Any:
    told = run_input(None, run="again", resume=asked.resume, **members)
    stream = await post(asked.base, "calc", **told)
    assert stream.events[-1]["outcome"] == {"type": "success"}
    return stream.events[-1].get("result")


async def replay_in_the_draft(asked: Asked) -> Any:
    resume = {"interruptId": asked.id, "payload": YES}
    told = run_input(None, run="again", version=None, resume=resume)
    # The draft's outcome is a text, which no judge of AG-UI 1.0 lets pass.
    response = await asked.http.post("/agents/calc", json=told)
    [*_, last] = Decoder().feed(response.content)
    assert json.loads(last.data)["outcome"] == "success"
    return json.loads(last.data).get("result")


async def connect(asked: Asked, path: str, body: Any = None) -> Any:
    async with open_stream_at(asked.base, path, body) as stream:
        await stream.rest()
    return stream.events[-1].get("result")


async def thread(asked: Asked) -> Any:
    return (await asked.read("/agents/calc/threads/t"))["result"]


async def answer_over_http(asked: Asked) -> Any:
    told = await asked.http.post(f"/interrupts/{asked.ref}/answer", json=asked.resume[0])
    assert told.json()["status"] == "resolved"
    return told.json().get("result")


async def page(asked: Asked) -> Any:
    text = (await asked.person.press(asked.page, "Yes")).text
    _, _, shown = text.partition("What the agent gave ")
    return json.JSONDecoder().raw_decode(shown)[0] if shown else None


async def chat_state(asked: Asked) -> Any:
    path = "/api/v1/chat/interrupt_state"
    state = await asked.read(path, agent_id="calc", session_id="t")
    assert state["interrupted"] is False
    return state.get("result")


async def program_resumes(asked: Asked) -> Any:
    return (await asked.bridge.resume("calc", "t", {asked.id: YES})).get("result")


async def program_answers(asked: Asked) -> Any:
    return (await asked.bridge.answer(asked.ref, YES)).result


COPILOT = run_input(None, version=None, run="connect-run")

ANSWERING: Final[dict[str, Surface]] = {
    "an answer": replay,
    "one in 0.x": lambda asked: replay(asked, version=None),
    "one in the draft": replay_in_the_draft,
    "one of its own": answer_over_http,
    "the inbox's page": page,
    "bridge.resume": program_resumes,
    "bridge.answer": program_answers,
}
LOOKING: Final[dict[str, Surface]] = {
    "connect": lambda asked: connect(asked, "/agents/calc/threads/t/connect"),
    "CopilotKit's connect": lambda a: connect(a, "/copilotkit/agent/calc/connect", COPILOT),
    "the thread": thread,
    "the chat's state": chat_state,
}


@contextlib.asynccontextmanager
async def asked_elsewhere(opener: Opener) -> AsyncIterator[tuple[Asked, str]]:
    """A question of a process; gives another one, and the URL of the first."""
    async with contextlib.AsyncExitStack() as stack:
        first, second = [bridge_on(await opener()) for _ in range(2)]
        here, there = [
            await stack.enter_async_context(serve(bridge.app(anonymous=True)))
            for bridge in (first, second)
        ]
        http = await stack.enter_async_context(client(there))
        person = await stack.enter_async_context(Person(there))
        await post(here, "calc", **run_input("go"))
        (question,) = (await second.pending()).rows
        page = await person.look(f"/inbox/{question.ref}")
        id = question.row.interrupt.id
        yield Asked(there, second, http, question.ref, id, person, page), here


async def test_it_is_told_on_every_surface_by_another_process(opener: Opener) -> None:
    async with asked_elsewhere(opener) as (asked, here):
        told = run_input(None, run="answer", resume=asked.resume)
        assert (await post(here, "calc", **told)).events[-1]["result"] == RESULT
        told_again = ANSWERING | LOOKING
        found = {name: await surface(asked) for name, surface in told_again.items()}
        assert (await asked.http.delete("/agents/calc/threads/t")).status_code == 204
        gone = await asked.http.get("/agents/calc/threads/t")

    assert found == dict.fromkeys(told_again, RESULT)
    assert gone.status_code == 404


@pytest.mark.parametrize("name", ANSWERING)
async def test_it_is_told_to_the_answer_that_began_the_run(name: str) -> None:
    store = MemoryStore()

    async def opener() -> Store:
        return store

    async with asked_elsewhere(opener) as (asked, _):
        assert await ANSWERING[name](asked) == RESULT
