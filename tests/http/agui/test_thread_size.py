"""A thread at its size over HTTP: what each surface refuses, what is shown, and what is paged."""

from typing import Any, Final

import httpx
import pytest

from agui_bridge.http.agui.threads import EarlierPage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.archived import StoredMessage, as_archived
from agui_bridge.protocol.threads.messages.sizes import THREAD_SIZE
from tests.http.conftest import Serving, Site
from tests.support.agents import Scripted
from tests.support.server import open_stream_at, run_input

MOST: Final = 4_000


def said(name: str, size: int) -> dict[str, Any]:
    return {"id": name, "role": "user", "content": f"{name} ".ljust(size, "x")}


async def fill(site: Site, turns: int) -> None:
    """Turns of about 1,000 bytes, each said by a page that keeps no list."""
    for n in range(turns):
        await site.run(None, messages=[said(f"m{n}", 900)])


SURFACES: Final = ("ag-ui", "copilotkit", "chat")


async def send(site: Site, surface: str, size: int) -> httpx.Response:
    """Say something through a surface, on its thread `t`."""
    message = said("new", size)
    if surface == "chat":
        body = {"agent_id": "agent", "session_id": "t", "message": message["content"]}
        return await site.http.post("/api/v1/chat/stream", json=body)
    path = "/agents/agent" if surface == "ag-ui" else "/copilotkit/agent/agent/run"
    return await site.http.post(path, json=run_input(None, messages=[message]))


@pytest.mark.parametrize("turns", [0, 6])
@pytest.mark.parametrize("surface", SURFACES)
async def test_every_surface_refuses_what_passes_the_bound_alone(
    serving: Serving, surface: str, turns: int
) -> None:
    async with serving(Scripted(["yes"]), max_thread_bytes=MOST) as site:
        await fill(site, turns)
        had = await site.everything()

        refused = await send(site, surface, MOST + 1)

        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
        assert await site.everything() == had
        assert (await send(site, surface, 900)).status_code == 200


async def test_a_stream_says_once_that_the_bound_is_near(serving: Serving) -> None:
    async with serving(Scripted(["yes"]), max_thread_bytes=MOST) as site:
        await fill(site, 3)
        stream = await site.run(None, messages=[said("near", 500)])
    (told,) = [e for e in stream.events if e["type"] == "CUSTOM"]
    assert (told["name"], told["value"]["max"]) == (THREAD_SIZE, MOST)
    assert MOST * 0.8 < told["value"]["bytes"] <= MOST


async def test_people_scroll_back_to_what_was_archived(serving: Serving) -> None:
    async with serving(Scripted(["yes"]), max_thread_bytes=MOST) as site:
        await fill(site, 7)
        path = "/agents/agent/threads/t"
        shown = (await site.http.get(path)).json()
        assert next(m["content"][:2] for m in shown["messages"] if m["role"] == "user") == "m3"
        earlier = (await site.http.get(path, params={"before": shown["earlier"]})).json()
        last = (await site.http.get(path, params={"before": earlier["earlier"]})).json()

    texts = [m["content"].strip("x ") for m in earlier["messages"]]
    assert texts == ["m0", "yes", "m1", "yes", "m2", "yes"]
    marks = [m["metadata"]["agui_bridge"]["archived"] for m in earlier["messages"]]
    assert marks == [{"reason": "size"}] * 6
    assert (last["messages"], last["earlier"]) == ([], None)
    assert {k: v for k, v in earlier.items() if k not in ("messages", "earlier")} == {
        k: v for k, v in shown.items() if k not in ("messages", "earlier")
    }


async def test_a_page_of_archived_messages_is_bounded(serving: Serving) -> None:
    async with serving(Scripted(["yes"]), max_thread_bytes=2_000_000) as site:
        for n in range(8):
            await site.run(None, messages=[said(f"m{n}", 400_000)])
        path = "/agents/agent/threads/t"
        page = (await site.http.get(path)).json()
        pages = []
        while page["earlier"] is not None:
            page = (await site.http.get(path, params={"before": page["earlier"]})).json()
            pages.append([m["id"] for m in page["messages"] if m["role"] == "user"])
    assert [id for page in reversed(pages) for id in page] == [f"m{n}" for n in range(6)]
    assert max(map(len, pages)) == 2


def test_what_stands_in_the_thread_is_on_no_page_of_what_was_archived() -> None:
    marked = as_archived(said("a", 10), "size")
    rows = [StoredMessage(id, n, {**marked, "id": id}) for n, id in enumerate("abc", 1)]
    taken_back = StoredMessage("d", 4, said("d", 10))
    page = EarlierPage([*rows, taken_back])
    loaded = Loaded(None, 0.0, messages=(rows[1],))
    assert [message["id"] for message in page.shown(loaded)] == ["a", "c"]
    assert page.earlier == "1"


@pytest.mark.parametrize("before", ["x", "-1", "1.5", "9" * 19, "9" * 30, ""])
async def test_a_place_that_no_answer_gave_is_refused(serving: Serving, before: str) -> None:
    async with serving(Scripted(["yes"])) as site:
        await fill(site, 1)
        answer = await site.http.get("/agents/agent/threads/t", params={"before": before})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "INVALID_INPUT")


async def test_who_comes_back_is_shown_what_stands(serving: Serving) -> None:
    async with serving(Scripted(["yes"]), max_thread_bytes=MOST) as site:
        await fill(site, 7)
        path = "/agents/agent/threads/t/connect"
        async with open_stream_at(site.base, path, run_input(None)) as stream:
            await stream.rest()
    (snapshot,) = [e["messages"] for e in stream.events if e["type"] == "MESSAGES_SNAPSHOT"]
    assert [m["id"] for m in snapshot if m["role"] == "user"] == ["m3", "m4", "m5", "m6"]
