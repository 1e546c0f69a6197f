"""Tools that refuse, fail, redirect or say nothing: what became of an answer is never guessed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge_webhook import WebhookAdapter
from tests.adapters.webhook.bench import Between, between
from tests.adapters.webhook.test_callbacks import FINISHED, approval, reply, told
from tests.adapters.webhook.tool import SECRET
from tests.docs.pages import Conversation
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(60)

NOT_YET = {"message": 'The execution "7" is running already.'}
OVER = {"message": 'The execution "7 has finished already.'}
STATUS = "{tool}/status/{execution}"


async def asks(it: Between, **members: Any) -> tuple[Conversation, Any]:
    """A conversation that waits for an approval."""
    it.tool.replies["/start"] = reply({**it.tool.question(**members), "executionId": 7})
    talk = it.talk()
    await talk.say("deploy")
    return talk, talk.asks[0]


Answers = Callable[[Any], Awaitable[Response]]


def once(first: Response, then: Any) -> Answers:
    """Answers first so, and from then on with 200."""
    waiting = [first]

    async def answer(_: Any) -> Response:
        return waiting.pop() if waiting else JSONResponse(then)

    return answer


def redirect(status: int) -> Answers:
    async def answer(_: Any) -> Response:
        return RedirectResponse("http://127.0.0.1:9/", status)

    return answer


async def never(_: Any) -> Response:
    """Answers when nobody waits any more."""
    await asyncio.sleep(3)
    return Response()


async def drips(_: Any) -> Response:
    """Is never silent for long, and has no end."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(300):
            yield b" "
            await asyncio.sleep(0.1)

    return StreamingResponse(pieces())


@pytest.mark.parametrize(
    ("answers", "code", "stands"),
    [
        (reply({}, 401), "UPSTREAM_ERROR", True),
        (reply({}, 429), "UPSTREAM_ERROR", True),
        (redirect(307), "UPSTREAM_ERROR", True),
        (reply(NOT_YET, 409), "UPSTREAM_ERROR", True),
        (reply({}, 404), "INTERRUPT_EXPIRED", False),
        (reply({}, 410), "INTERRUPT_EXPIRED", False),
        (reply(OVER, 409), "INTERRUPT_EXPIRED", False),
        (redirect(303), "RUN_INDETERMINATE", False),
        (reply({}, 400), "RUN_INDETERMINATE", False),
        (reply({}, 502), "RUN_INDETERMINATE", False),
        (never, "RUN_INDETERMINATE", False),
    ],
    ids=["401", "429", "307", "not yet", "404", "410", "over", "303", "400", "502", "silent"],
)
async def test_what_a_refused_answer_means(answers: Answers, code: str, stands: bool) -> None:
    async with between(timeout=1.5 if answers is never else 10.0, patience=0.1) as it:
        talk, ask = await asks(it)
        it.tool.replies["/resume"] = answers
        await talk._send(resume=[approval(ask)])
        assert talk.events[-1]["code"] == code
        assert [one["id"] for one in await it.asked()] == ([ask["id"]] if stands else [])
        sent = len(it.tool.at("/resume"))
        it.tool.replies["/resume"] = reply(FINISHED)
        await talk._send(resume=[approval(ask)])
        # The same answer again is sent where nobody had it, and nowhere else.
        assert len(it.tool.at("/resume")) == sent + stands


async def test_an_answer_is_sent_again_only_until_the_workflow_waits() -> None:
    async with between(patience=5.0) as it:
        talk, ask = await asks(it)
        first = JSONResponse(NOT_YET, 409)
        it.tool.replies["/resume"] = once(first, {**FINISHED, "toolResult": "deployed"})
        assert await talk._send(resume=[approval(ask)]) == "All done."
        ids = [h["webhook-id"] for path, h, _ in it.tool.requests if path == "/resume"]
        assert len(ids) == 2 and len(set(ids)) == 1


@pytest.mark.parametrize("answers", [reply(OVER, 409), reply({}, 404), reply(NOT_YET, 409)])
async def test_a_question_can_be_cancelled_whose_workflow_waits_no_more(answers: Answers) -> None:
    async with between(patience=0.1) as it:
        talk, _ = await asks(it)
        it.tool.replies["/resume"] = answers
        await talk.answer(None)
        assert talk.events[-1]["outcome"]["type"] == "success"


async def test_an_answer_that_was_lost_on_the_way_back_is_looked_up() -> None:
    async with between(timeout=1.5, patience=5.0, status_url=STATUS) as it:
        talk, ask = await asks(it)
        it.tool.replies["/resume"] = never
        it.tool.replies["/status/7"] = reply({"status": "success"})
        await talk._send(resume=[approval(ask)])
        # It has ended, and nobody has told whether it deployed.
        assert talk.events[-1]["outcome"]["type"] == "success"
        assert "whether this tool call was executed is unknown" in json.dumps(talk.events)
        assert len(it.tool.at("/resume")) == 1


async def test_an_answer_that_never_ends_is_given_up() -> None:
    async with between(timeout=1.0, patience=0.3) as it:
        talk, ask = await asks(it)
        it.tool.replies["/resume"] = drips
        await asyncio.wait_for(talk._send(resume=[approval(ask)]), 20)
        assert talk.events[-1]["code"] == "RUN_INDETERMINATE"


@pytest.mark.parametrize("says", [{"status": "waiting"}, {"status": "?"}, [], None])
async def test_a_status_that_settles_nothing_leaves_it_unknown(says: Any) -> None:
    async with between(timeout=1.5, patience=0.5, status_url=STATUS) as it:
        talk, ask = await asks(it)
        it.tool.replies["/resume"] = never
        it.tool.replies["/status/7"] = reply(says)
        await talk._send(resume=[approval(ask)])
        assert talk.events[-1]["code"] == "RUN_INDETERMINATE"
        await it.call_back({**FINISHED, "message": "It was deployed."})
        await eventually(lambda: told(it, "It was deployed."))


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("success", None),
        ("error", "The workflow failed."),
        ("canceled", "The workflow was cancelled."),
    ],
)
async def test_an_end_whose_callback_was_lost_is_found_by_looking(
    status: str, text: str | None
) -> None:
    async with between(patience=0.1, status_url=STATUS) as it:
        it.tool.replies["/start"] = reply({"executionId": 7})
        it.tool.replies["/status/7"] = reply({"status": "running"})
        talk = it.talk()
        await talk.say("deploy")
        it.tool.replies["/status/7"] = reply({"status": status})
        if text is not None:
            await eventually(lambda: told(it, text))
        await eventually(lambda: is_over(it))


async def is_over(it: Between) -> bool:
    engine = await it.bridge.open()
    record = (await engine.store.load(ThreadKey("default", "agent", "t"))).record
    return record is not None and record.watch is None


async def test_a_question_whose_callback_was_lost_is_found_where_the_status_tells_it() -> None:
    async with between(patience=3.0, status_url=STATUS) as it:
        it.tool.replies["/start"] = reply({"executionId": 7})
        shown = {"status": "waiting", "callback": it.tool.question()}
        it.tool.replies["/status/7"] = reply(shown)
        talk = it.talk()
        await talk.say("deploy")
        assert len(talk.asks) == 1
        # The callback comes all the same: it is the same question.
        assert (await it.call_back(it.tool.question())).json() == {"status": "known"}


@pytest.mark.parametrize("status", [302, 401, 404, 409, 500, 503])
async def test_a_start_that_is_refused_leaves_nothing(status: int) -> None:
    async with between() as it:
        it.tool.replies["/start"] = reply({}, status) if status != 302 else redirect(307)
        talk = it.talk()
        await talk.say("deploy")
        assert talk.events[-1]["code"] == "UPSTREAM_ERROR"
        assert await is_over(it)
        it.tool.replies["/start"] = reply(FINISHED)
        assert await talk.say("again") == "All done."


async def test_a_start_whose_answer_is_lost_may_still_call_back() -> None:
    async with between(timeout=1.5, patience=0.3) as it:
        it.tool.replies["/start"] = never
        talk = it.talk()
        await talk.say("deploy")
        assert talk.events[-1]["code"] == "UPSTREAM_ERROR"
        assert "Whether the workflow began is unknown" in talk.events[-1]["message"]
        await it.call_back(it.tool.question())
        await eventually(it.asked)


async def test_a_tool_may_tell_it_all_in_its_answers() -> None:
    async with between() as it:
        talk, _ = await asks(it)
        it.tool.replies["/resume"] = reply({**FINISHED, "toolResult": "deployed v2"})
        assert await talk.answer({"approved": True}) == "All done."
        assert "deployed v2" in json.dumps(talk.events)


async def test_a_wrong_address_in_a_tools_own_answer_is_refused_too() -> None:
    async with between() as it:
        asked = it.tool.question(resumeUrl="http://169.254.169.254/")
        it.tool.replies["/start"] = reply(asked)
        talk = it.talk()
        await talk.say("deploy")
        assert "is not among the adapter's `hosts`" in talk.events[-1]["message"]
        assert not await it.asked()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"url": "n8n.example"}, "url should be an address"),
        ({"callback_url": "/here"}, "callback_url should be an address"),
        ({"secret": "hunter2"}, "secret: must be whsec_"),
        ({"secret": []}, "there is none to sign with"),
        ({"hosts": "n8n.example"}, "hosts is a list"),
        ({"hosts": ["https://n8n.example/"]}, "hosts can't hold"),
        ({"hosts": ["*.example"]}, "hosts can't hold"),
        ({"status_url": "status"}, "should be an address"),
        ({"longest": 90_000}, "longest: must be"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"url": "https://n8n.example/webhook/x", "secret": SECRET}
    given |= {"callback_url": "https://agents.example", **options}
    with pytest.raises(ConfigurationError, match=says):
        WebhookAdapter(given.pop("url"), **given)
