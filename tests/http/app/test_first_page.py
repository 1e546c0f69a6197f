"""The page at `/`: what is here and how to use it, where everybody may know."""

import asyncio
import re
import subprocess
from html import unescape

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from agui_bridge import Bridge
from agui_bridge.inbox import Inbox
from tests.http.conftest import by_token
from tests.support.agents import Answering, Scripted, approval
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


async def test_where_people_sign_in_each_way_says_so() -> None:
    bridge = bridge_of(authenticate=by_token, first_page=True)
    async with serve(bridge.app()) as base, client(base) as http:
        shown = unescape((await http.get("/")).text)

    header = "'Authorization: Bearer YOUR_TOKEN'"
    assert f"agui-bridge chat {base} --agent ops --header {header}" in shown
    assert f"-H {header}" in shown
    assert f'"{base}/agents/ops", headers: {{ Authorization: "Bearer YOUR_TOKEN" }}' in shown
    assert 'agent="ops" headers={{ Authorization: "Bearer YOUR_TOKEN" }}>' in shown


@pytest.mark.parametrize("name", ["~root", "~", "ops"])
async def test_a_shell_takes_its_commands_as_they_are_meant(name: str) -> None:
    bridge = Bridge()
    bridge.add(name, Scripted(["Hello."]))
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        shown = unescape((await http.get("/")).text)
    [line] = re.findall("agui-bridge chat .*(?=</pre>)", shown)
    # What the shell makes of it, a tilde at the beginning of a word included.
    words = ["bash", "-c", f"printf '%s\\n' {line}"]
    done = await asyncio.to_thread(
        subprocess.run, words, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["agui-bridge", "chat", base, "--agent", name]


async def test_the_line_for_curl_begins_a_new_thread_whoever_pastes_it_and_when() -> None:
    bridge = Bridge()
    bridge.add("ops", Answering(approval()))
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        shown = unescape((await http.get("/")).text)
        [line] = re.findall("curl -N .*?(?=</pre>)", shown, re.DOTALL)
        # The clock of a shell has whole seconds.
        twice = f"{line}; date() {{ echo 1; }}; {line}"
        done = await asyncio.to_thread(
            subprocess.run, ["bash", "-c", twice], capture_output=True, text=True, check=True
        )

    assert done.stdout.count('"type":"interrupt"') == 2 and "RUN_ERROR" not in done.stdout


async def test_it_says_where_to_answer() -> None:
    async with serve(bridge_of(inbox=Inbox()).app(anonymous=True)) as base, client(base) as http:
        assert "Answer it in the inbox or the terminal chat." in (await http.get("/")).text


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


@pytest.mark.parametrize(
    ("told", "prefix"),
    [("/ai", "/ai"), ("/team/ai/", "/team/ai"), ("", ""), ('/"><b>', ""), ("//evil", "")],
)
async def test_behind_a_proxy_that_takes_a_prefix_away_its_addresses_have_it(
    told: str, prefix: str
) -> None:
    async with serve(bridge_of().app(anonymous=True)) as base, client(base) as http:
        page = await http.get("/", headers={"x-forwarded-prefix": told})

    assert f"agui-bridge chat {base}{prefix} --agent ops" in page.text
    # Also where the proxy shows the page at `/ai`, without a slash at the end.
    assert f'href="{prefix or "."}/agents"' in page.text


async def test_a_prefix_that_the_server_knows_is_not_told_twice() -> None:
    app = bridge_of().app(anonymous=True)

    async def below(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "root_path": "/ai"}, receive, send)

    async with serve(below) as base, client(base) as http:
        page = await http.get("/", headers={"x-forwarded-prefix": "/ai"})

    assert f"agui-bridge chat {base}/ai --agent ops" in page.text


@pytest.mark.parametrize(("count", "asks"), [(1, "When it asks"), (2, "When one of them asks")])
async def test_it_speaks_of_as_many_agents_as_there_are(count: int, asks: str) -> None:
    bridge = Bridge()
    for number in range(count):
        bridge.add(f"agent{number}", Scripted(["Hello."]))
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        assert asks in (await http.get("/")).text


async def test_another_host_and_another_method_are_refused() -> None:
    async with serve(bridge_of().app(anonymous=True)) as base, client(base) as http:
        foreign = await http.get("/", headers={"host": "evil.example"})
        posted = await http.post("/", json={})

    assert foreign.json()["error"]["code"] == "FORBIDDEN"
    assert (posted.status_code, posted.headers["allow"]) == (405, "GET, HEAD")


async def test_a_server_without_agents_says_so() -> None:
    async with serve(Bridge().app(anonymous=True)) as base, client(base) as http:
        page = await http.get("/")
    assert "There is none yet." in page.text and "Talk to one" not in page.text
