"""docs/python-client.md, docs/dialects.md and the picture of the terminal do what they say."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from html import escape
from typing import get_args

import pytest

from agui_bridge import Bridge, FunctionRun
from agui_bridge.client import ClientDialectName
from agui_bridge.protocol.dialects import DialectChoice
from docs.generators.terminal import FOLDER, PICTURES, picture_of_a_chat
from tests.docs.pages import ROOT, run_page, snippets_of
from tests.support.server import client as client_of, run_input, serve

CLIENT = ROOT / "docs" / "python-client.md"
RECONNECTING = ROOT / "docs" / "reconnecting.md"
DIALECTS = ROOT / "docs" / "dialects.md"


async def test_the_bridge_that_one_comes_back_to() -> None:
    bridge: Bridge = (await run_page(RECONNECTING))["bridge"]
    async with serve(bridge.app(anonymous=True)) as base, client_of(base) as http:
        path = f"{base}/agents/ops/threads/t/connect"
        assert (await http.get(path)).status_code == 404
        await http.post(f"{base}/agents/ops", json=run_input("hi"))
        assert '"content":"You said: hi"' in (await http.get(path)).text


async def test_the_python_client_as_its_page_has_it() -> None:
    page = await run_page(CLIENT)
    deleted: list[str] = []
    bridge = Bridge("memory:")

    @bridge.agent("ops")
    async def ops(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("delete", {"table": "users"})
        yield str(await run.tool(approval, delete))

    async def delete(table: str) -> str:
        deleted.append(table)
        return "deleted"

    @bridge.agent("broken")
    async def broken(run: FunctionRun) -> AsyncIterator[str]:
        raise RuntimeError
        yield ""

    async with serve(bridge.app(anonymous=True)) as base:
        client = await page["talk"](f"{base}/agents/ops")
        assert await page["watch"](f"{base}/agents/ops", client.thread_id) == "deleted"
        assert deleted == ["users"]
        assert client.messages[-1]["content"] == "deleted"
        kinds = await page["kinds"](f"{base}/agents/ops", run_input("go", thread="other"))
        assert kinds[-1] == "RUN_FINISHED"
        said = []
        for agent in ("broken", "nobody"):
            async with page["Client"](f"{base}/agents/{agent}") as each:
                said.append(await page["careful"](each, "hello"))
        assert said == ["the run failed: AGENT_ERROR", "refused: 404 AGENT_NOT_FOUND"]


def test_the_page_of_the_dialects_names_all_of_them() -> None:
    text = DIALECTS.read_text(encoding="utf-8")
    names = {*get_args(DialectChoice), *get_args(ClientDialectName)}
    assert [name for name in names if f"`{name}`" not in text] == []
    for _, example in snippets_of(DIALECTS, "json"):
        json.loads(example)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("terminal-chat.svg", ("May this run?", "100 rows of users deleted")),
        (
            "terminal-form.svg",
            ('must be a whole number, not "soon"', "show_page is a tool of a page"),
        ),
    ],
)
def test_a_picture_of_the_terminal_shows_a_conversation_that_takes_place(
    name: str, shown: tuple[str, ...]
) -> None:
    for picture in (picture_of_a_chat(*PICTURES[name]), (FOLDER / name).read_text("utf-8")):
        for text in shown:
            assert escape(text).replace(" ", "&#160;") in picture
