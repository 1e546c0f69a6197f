"""What a task tells, asks and comes to, in each way that an agent's card may offer."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge_a2a import A2AAdapter
from tests.adapters.a2a.agent import SIGN_IN, WAYS
from tests.adapters.a2a.bench import Agent
from tests.docs.pages import Conversation
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)


@dataclass(frozen=True)
class Served:
    """The agent, spoken to in one way."""

    agent: Agent
    url: str

    @property
    def effects(self) -> list[Any]:
        return self.agent.effects


@pytest.fixture(params=WAYS)
def served(request: pytest.FixtureRequest, shared: Agent) -> Served:
    return Served(shared, f"{shared.url}/{request.param}")


def talk_with(served: Served, thread: str = "t", **options: Any) -> Conversation:
    bridge = Bridge(telemetry=False)
    bridge.add("remote", A2AAdapter(served.url, **options))
    return Conversation(bridge, "remote", thread)


def end_of(talk: Conversation) -> tuple[str, Any]:
    end = talk.events[-1]
    return end["type"], end.get("code") or end["outcome"]["type"]


def entry(ask: Any, payload: Any) -> dict[str, Any]:
    return {"interruptId": ask["id"], "status": "resolved", "payload": payload}


async def test_a_question_without_a_schema_is_answered_with_text(
    served: Served, since: int
) -> None:
    talk = talk_with(served)
    assert await talk.say("deploy") == "I will deploy."
    (ask,) = talk.asks
    assert (ask["reason"], ask["message"]) == ("input_required", "Deploy v2 to production?")
    assert ask["responseSchema"]["required"] == ["text"]
    # The task asks again what it did not understand: a question of its own.
    assert await talk.answer({"text": "maybe"}) == ""
    assert talk.asks[0]["message"] == "Yes or no?"
    assert await talk.answer({"text": "yes"}) == "deployed v2Done."
    assert end_of(talk) == ("RUN_FINISHED", "success")
    assert served.effects[since:] == ["maybe", "yes"]


async def test_a_schema_beside_the_question_is_that_of_the_answer(
    served: Served, since: int
) -> None:
    talk = talk_with(served)
    await talk.say("order")
    (ask,) = talk.asks
    assert ask["responseSchema"]["properties"]["size"]["enum"] == ["S", "M"]
    await talk.answer({"size": "XL"})
    assert end_of(talk) == ("RUN_ERROR", "INVALID_RESUME_PAYLOAD")
    assert served.effects[since:] == []
    assert await talk._send(resume=[entry(ask, {"size": "M"})]) == "Ordered."
    assert served.effects[since:] == [{"size": "M"}]


@pytest.mark.parametrize(
    ("verb", "said", "code", "told"),
    [
        ("reject", "Not on a Friday.", "AGENT_REFUSED", "rejected"),
        ("fail", "The disk is full.", "UPSTREAM_ERROR", "failed"),
        ("give up", "I gave up.", "UPSTREAM_ERROR", "cancelled there"),
    ],
)
async def test_an_end_that_is_no_success_is_told_as_what_it_is(
    served: Served, verb: str, said: str, code: str, told: str
) -> None:
    talk = talk_with(served)
    assert await talk.say(verb) == said
    assert end_of(talk) == ("RUN_ERROR", code)
    assert told in talk.events[-1]["message"]


async def test_artifacts_are_text_data_and_files(served: Served) -> None:
    talk = talk_with(served)
    assert await talk.say("report") == "One, two, three."
    told = [e["content"] for e in talk.events if e["type"] == "ACTIVITY_SNAPSHOT"]
    pdf = {
        "name": "r.pdf",
        "mediaType": "application/pdf",
        "url": "https://files.example.com/r.pdf",
    }
    assert told == [
        {"name": "table", "parts": [{"type": "data", "data": {"rows": 3}}]},
        {
            "name": "files",
            "parts": [
                {"type": "file", **pdf},
                {"type": "file", "name": "a.txt", "mediaType": "text/plain", "bytes": "YWJj"},
                {"type": "file", "name": "x.html", "mediaType": "text/html"},
            ],
        },
    ]
    texts = [e for e in talk.events if e["type"] == "TEXT_MESSAGE_START"]
    assert len(texts) == 1


async def test_files_of_a_message_arrive_and_the_next_message_is_in_the_same_conversation(
    served: Served, since: int
) -> None:
    talk = talk_with(served)
    source = {"type": "data", "value": "YWJj", "mimeType": "image/png"}
    page = {"type": "url", "value": "https://example.com/a.pdf", "mimeType": "application/pdf"}
    content: Any = [
        {"type": "text", "text": "look"},
        {"type": "image", "source": source},
        {"type": "document", "source": page},
    ]
    await talk.say(content)
    await talk.say("and then")
    parts, context, _, again = served.effects[since:]
    assert context == again
    assert parts == [
        {"text": "look"},
        {"raw": "YWJj", "mediaType": "image/png"},
        {"url": "https://example.com/a.pdf", "mediaType": "application/pdf"},
    ]


async def test_a_sign_in_is_asked_with_its_address_and_watched_to_its_end(served: Served) -> None:
    signed_in = served.agent.folder / "signed-in"
    signed_in.unlink(missing_ok=True)
    talk = talk_with(served, patience=0.5)
    await talk.say("sign in")
    (ask,) = talk.asks
    assert ask["reason"] == "a2a:auth_required"
    assert ask["metadata"]["a2a"] == {"url": SIGN_IN, "host": "login.example.com"}
    # No credential fits into the answer.
    await talk.answer({"done": True, "token": "s3cret"})
    assert end_of(talk) == ("RUN_ERROR", "INVALID_RESUME_PAYLOAD")
    await talk._send(resume=[entry(ask, {"done": True})])
    # It was not: the task asks still.
    assert [a["reason"] for a in talk.asks] == ["a2a:auth_required"]
    signed_in.touch()
    assert await talk.answer({"done": True}) == "You are signed in."
    assert end_of(talk) == ("RUN_FINISHED", "success")


async def test_a_cancelled_question_is_cancelled_there(served: Served, since: int) -> None:
    talk = talk_with(served)
    await talk.say("deploy")
    await talk.answer(None)
    assert end_of(talk) == ("RUN_FINISHED", "success")
    assert served.effects[since:] == ["cancelled"]


async def test_a_question_that_a_stop_has_closed_is_cancelled_there(
    served: Served, since: int
) -> None:
    talk = talk_with(served)
    await talk.say("deploy")
    await talk._bridge.stop("remote", "t")
    assert await talk.say("hello") == "Hello."
    assert served.effects[since:] == ["cancelled"]


async def test_a_stop_reaches_a_task_that_works(served: Served, since: int) -> None:
    talk = talk_with(served)
    working = asyncio.create_task(talk.say("slow"))
    await eventually(lambda: "Working." in json.dumps(talk.events))
    assert (await talk._bridge.stop("remote", "t")).status == "success"
    assert await working == "Working."
    assert served.effects[since:] == ["cancelled"]
    assert await talk.say("hello") == "Hello."
