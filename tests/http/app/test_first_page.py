"""The page at `/`: what is here and how to use it, where everybody may know."""

import re

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from agui_bridge import Bridge
from agui_bridge.inbox import Inbox
from tests.http.conftest import by_token
from tests.support.agents import Scripted
from tests.support.server import client, serve


def bridge_of(**options: object) -> Bridge:
    bridge = Bridge(**options)  # type: ignore[arg-type]  # options of Bridge, a few in each test
    bridge.add("ops", Scripted(["Hello."]), description="Deletes <rows> & tables.")
    return bridge


async def test_it_names_the_agents_and_how_to_talk_to_them() -> None:
    async with serve(bridge_of().app(anonymous=True)) as base, client(base) as http:
        page = await http.get("/")
        linked = [await http.get(path) for path in re.findall(r'href="\./([^"]+)"', page.text)]

    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert "Deletes &lt;rows&gt; &amp; tables." in page.text
    assert f"agui-bridge chat {base} --agent ops" in page.text
    assert f"curl -N {base}/agents/ops" in page.text
    assert f"runtimeUrl=&quot;{base}/copilotkit&quot;" in page.text
    assert [one.status_code for one in linked] == [200, 200]


async def test_it_loads_nothing_and_runs_no_script() -> None:
    async with serve(bridge_of().app(anonymous=True)) as base, client(base) as http:
        page = await http.get("/")

    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha")
    assert "<script" not in page.text and page.headers["cache-control"] == "no-store"


async def test_it_leads_to_the_inbox_where_there_is_one() -> None:
    async with serve(bridge_of(inbox=Inbox()).app(anonymous=True)) as base, client(base) as http:
        page = await http.get("/")
        assert 'href="./inbox"' in page.text
        assert (await http.get("/inbox")).status_code == 200


@pytest.mark.parametrize(("wanted", "status"), [(None, 404), (False, 404), (True, 200)])
async def test_where_people_sign_in_it_is_there_if_it_is_wanted(
    wanted: bool | None, status: int
) -> None:
    bridge = bridge_of(authenticate=by_token, first_page=wanted)
    async with serve(bridge.app()) as base, client(base) as http:
        page = await http.get("/")

    assert page.status_code == status
    assert ("Authorization: Bearer YOUR_TOKEN" in page.text) is (status == 200)


async def test_it_can_be_switched_off() -> None:
    async with serve(bridge_of(first_page=False).app(anonymous=True)) as base, client(base) as http:
        assert (await http.get("/")).status_code == 404


async def test_an_app_that_the_routes_join_keeps_its_own_first_page() -> None:
    joined = Starlette(routes=bridge_of().routes(anonymous=True))
    async with serve(joined) as base, client(base) as http:
        assert (await http.get("/")).status_code == 404


async def test_below_a_mount_its_addresses_are_those_there() -> None:
    bridge = bridge_of()
    host = Starlette(
        routes=[Mount("/ai", bridge.app(anonymous=True))], lifespan=lambda _: bridge.lifespan()
    )
    async with serve(host) as base, client(base) as http:
        page = await http.get("/ai/")

    assert f"{base}/ai/agents/ops" in page.text


async def test_another_host_and_another_method_are_refused() -> None:
    async with serve(bridge_of().app(anonymous=True)) as base, client(base) as http:
        foreign = await http.get("/", headers={"host": "evil.example"})
        posted = await http.post("/", json={})

    assert foreign.json()["error"]["code"] == "FORBIDDEN"
    assert (posted.status_code, posted.headers["allow"]) == (405, "GET, HEAD")


async def test_a_server_without_agents_says_so() -> None:
    async with serve(Bridge().app(anonymous=True)) as base, client(base) as http:
        assert "There is none yet." in (await http.get("/")).text
