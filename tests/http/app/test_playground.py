"""The playground: off unless it is wanted, and a page that finds the agents where they are."""

import sys
from importlib.util import find_spec

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from tests.http.conftest import by_token
from tests.support import unavailable
from tests.support.agents import Scripted
from tests.support.server import client, post, run_input, serve


@pytest.fixture
def bridge() -> Bridge:
    if find_spec("agui_inspector") is None:
        unavailable("agui-inspector", "install the extra `playground`")
    bridge = Bridge(playground=True)
    bridge.add("ops", Scripted(["Hello."]))
    return bridge


async def test_it_is_off_by_default() -> None:
    async with serve(Bridge().app(anonymous=True)) as base, client(base) as http:
        assert (await http.get("/playground")).status_code == 404
        assert (await http.get("/playground/config.json")).status_code == 404


async def test_the_page_and_its_parts_are_served(bridge: Bridge) -> None:
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        page = await http.get("/playground", follow_redirects=True)
        script = await http.get("/playground/app.js")
        missing = await http.get("/playground/../pyproject.toml")

    assert page.url.path == "/playground/" and "<script" in page.text
    assert page.headers["content-security-policy"].startswith("script-src 'self'")
    assert script.headers["content-type"].startswith("text/javascript")
    assert missing.status_code == 404


async def test_the_agents_are_those_of_the_bridge_also_later_ones(bridge: Bridge) -> None:
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        [first] = (await http.get("/playground/config.json")).json()["agents"]
        bridge.add("late", Scripted(["Late."]))
        both = (await http.get("/playground/config.json")).json()["agents"]

    assert first == {"id": "ops", "url": "/agents/ops?refusals=ask&tell=calls"}
    assert [agent["url"] for agent in both] == [
        "/agents/ops?refusals=ask&tell=calls",
        "/agents/late?refusals=ask&tell=calls",
    ]


async def test_below_a_mount_it_finds_the_agents_there(bridge: Bridge) -> None:
    host = Starlette(
        routes=[Mount("/ai", bridge.app(anonymous=True))], lifespan=lambda _: bridge.lifespan()
    )
    async with serve(host) as base, client(base) as http:
        page = await http.get("/ai/playground", follow_redirects=True)
        [agent] = (await http.get("/ai/playground/config.json")).json()["agents"]
        answer = await post(base, "ops", prefix="/ai", **run_input())

    assert page.url.path == "/ai/playground/"
    assert agent["url"] == "/ai/agents/ops?refusals=ask&tell=calls"
    assert answer.events


async def test_a_page_from_elsewhere_is_refused(bridge: Bridge) -> None:
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        answer = await http.get("/playground/config.json", headers={"host": "evil.example"})

    assert answer.status_code == 403


async def test_the_page_needs_no_token_and_its_runs_do(bridge: Bridge) -> None:
    bridge.authenticate = by_token
    async with serve(bridge.app()) as base, client(base) as http:
        assert (await http.get("/playground/config.json")).status_code == 200
        assert (await http.post("/agents/ops", json=run_input())).status_code == 401


def test_without_its_package_the_error_names_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "agui_inspector", None)

    with pytest.raises(ConfigurationError, match=r'pip install "agui-bridge\[playground\]"'):
        Bridge(playground=True).app(anonymous=True)
