"""What keeps others from deciding in somebody's name, and pages from doing more than they show."""

import base64
import hashlib
import re
import sys
from collections.abc import AsyncIterator

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from agui_bridge import Bridge, FunctionRun
from agui_bridge.errors import ConfigurationError
from agui_bridge.inbox import Inbox
from tests.http.inbox.conftest import KEY, Serving
from tests.http.inbox.pages import Person
from tests.support.server import serve

COOKIE = "agui-inbox"


async def test_a_page_may_load_and_run_nothing(serving: Serving) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        for where in (path, "/inbox", "/inbox/decided", "/inbox/none", "/d/none"):
            page = await ann.look(where)
            headers = page.response.headers
            [style] = re.findall("<style>(.*?)</style>", page.response.text, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
            assert headers["content-security-policy"] == (
                f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
                "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
            )
            assert headers["cache-control"] == "no-store"
            assert headers["x-content-type-options"] == "nosniff"
            assert "script" not in page.tags and " style=" not in page.response.text


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"host": "evil.example"},
        {"cookie": ""},
        {"cookie": f"{COOKIE}={'x' * 43}"},
        {"cookie": f"{COOKIE}="},
    ],
    ids=str,
)
async def test_a_form_of_another_page_decides_nothing(
    serving: Serving, headers: dict[str, str]
) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        page = await ann.look(path)
        answer = await ann.press(page, "Approve", headers)
        [row] = await site.rows("ops")
        right = await ann.press(page, "Approve", {"origin": site.base})

    assert (answer.status, row.is_open) == (403, True)
    assert right.status == 200


async def test_a_form_must_bring_the_token_of_its_cookie(serving: Serving) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        page = await ann.look(path)
        wrong: list[str | list[str]] = ["", "x" * 43, "é", []]
        for token in wrong:
            answer = await ann.press(page, "Approve", csrf=token)
            assert answer.status == 403, token
        [row] = await site.rows("ops")

    assert row.is_open


async def test_the_cookie_is_strict_and_by_https_bound_to_its_host(serving: Serving) -> None:
    async with serving() as site, site.person() as ann:
        plain = (await ann.look()).response.headers["set-cookie"]
    secure = Inbox(url="https://agents.example", keys=[KEY])
    async with serving(inbox=secure) as site, site.person() as ann:
        bound = (await ann.look()).response.headers["set-cookie"]

    assert plain.endswith("; HttpOnly; Path=/; SameSite=strict")
    assert bound.startswith("__Host-agui-inbox=") and bound.endswith("; Secure")


async def test_hosts_are_checked_also_where_people_authenticate(serving: Serving) -> None:
    inbox = Inbox(url="https://agents.example", keys=[KEY])
    async with serving(inbox=inbox) as site:
        for host, status in (("agents.example", 200), ("evil.example", 403)):
            async with site.person(host=host) as ann:
                assert (await ann.look()).status == status
        async with site.person(origin="https://agents.example") as ann:
            assert (await ann.look()).status == 200, "a proxy may name this server otherwise"


async def test_pages_that_may_call_the_api_may_not_read_the_inbox(serving: Serving) -> None:
    app = "https://app.example"
    async with serving(cors_origins=[app]) as site, site.person(origin=app) as ann:
        assert (await ann.http.get("/agents")).status_code == 200
        assert (await ann.look()).status == 403


async def test_who_comes_from_elsewhere_is_first_asked_in_by_our_own_page(
    serving: Serving,
) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        elsewhere = {"sec-fetch-site": "cross-site"}
        step = await ann.http.get(path, headers=elsewhere)
        inside = await ann.http.get(path, params={"here": "1"}, headers=elsewhere)

        filtered = await ann.http.get("/inbox?tool=del%26x&tool=ä", headers=elsewhere)

    assert step.headers["refresh"] == "0; url=?here=1"
    assert filtered.headers["refresh"] == "0; url=?tool=del%26x&tool=%C3%A4&here=1"
    assert 'href="?tool=del%26x&amp;tool=%C3%A4&amp;here=1"' in filtered.text
    assert "set-cookie" not in step.headers and "delete" not in step.text
    assert inside.status_code == 200 and "delete" in inside.text


async def test_a_body_that_is_no_form_is_refused(serving: Serving) -> None:
    async with serving() as site, site.person() as ann:
        [path] = await site.ask("ops")
        json = await ann.http.post(path, json={"decision": "approve"})
        broken = await ann.http.post(
            path,
            content=b"decision=%ff",
            headers={"content-type": "application/x-www-form-urlencoded"},
        )
        [row] = await site.rows("ops")

    assert (json.status_code, broken.status_code, row.is_open) == (415, 422, True)


async def test_who_is_not_signed_in_is_sent_to_sign_in(serving: Serving) -> None:
    inbox = Inbox(keys=[KEY], login_url="https://login.example/?next={next}")
    async with serving(inbox=inbox) as site, site.person("") as nobody, site.person() as ann:
        [path] = await site.ask("ops")
        sent = await nobody.http.get(path)
        page = await ann.look(path)
        form = await nobody.press(page, "Approve")
        [row] = await site.rows("ops")

    assert sent.status_code == 303
    assert sent.headers["location"].startswith("https://login.example/?next=http%3A%2F%2F127")
    assert form.status == 401, "a browser follows a form to no other site"
    assert form.links["Sign in"].startswith("https://login.example/") and row.is_open


async def test_without_an_address_to_sign_in_at_the_page_says_so(serving: Serving) -> None:
    async with serving() as site, site.person("") as nobody:
        page = await nobody.look()

    assert (page.status, page.title) == (401, "Please sign in")
    assert "Sign in first." in page.text


async def test_a_character_that_no_store_takes_is_refused_where_it_comes_in(
    serving: Serving,
) -> None:
    async with serving() as site, site.person("bob") as bob:
        looks = [
            await bob.look(path, **{name: "a\x00b"})
            for path in ("/inbox", "/inbox/decided")
            for name in ("agent", "tool", "thread")
        ]
        [path] = await site.ask("ops")
        question = await bob.look(path)
        sent = await bob.press(question, "Approve", remember="\x00")

    assert [page.status for page in looks] == [422] * 6
    assert sent.status == 422
    assert site.ran == []


async def test_below_a_mount_links_and_forms_lead_to_the_right_place() -> None:
    bridge = Bridge(inbox=Inbox(keys=[KEY]))

    @bridge.agent("ops")
    async def ops(run: FunctionRun) -> AsyncIterator[str]:
        yield str(await run.ask("Which one?"))

    host = Starlette(
        routes=[Mount("/ai", bridge.app(anonymous=True))], lifespan=lambda _: bridge.lifespan()
    )
    async with serve(host) as base, Person(base) as ann:
        body = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": []}
        await ann.http.post("/ai/agents/ops", json=body)
        question = await ann.follow(await ann.look("/ai/inbox"), "Which one?")
        done = await ann.press(question, "Send the answer", answer__value="This.")
        back = await ann.follow(done, "Back to what is waiting")
        decided = await ann.follow(done, "Decided")

    assert done.status == 200 and str(back.response.url).endswith("/ai/inbox")
    assert decided.status == 200 and "Answered: This." in decided.text


async def test_it_is_off_unless_it_is_wanted() -> None:
    async with serve(Bridge().app(anonymous=True)) as base, Person(base) as ann:
        for path in ("/inbox", "/d/x", "/inbox/decided"):
            assert (await ann.http.get(path)).status_code == 404


def test_without_its_package_the_error_names_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)

    with pytest.raises(ConfigurationError, match=r'pip install "agui-bridge\[inbox\]"'):
        Bridge(inbox=Inbox()).app(anonymous=True)
