"""Models that give calls no ids, or those of others; and those that fail once a tool has acted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from agno.models.message import Message
from agno.models.response import ModelResponse

from agui_bridge import ProposedCall, Verdict
from agui_bridge.testing import talk
from examples.agno.offline import OfflineModel
from tests.adapters.agno.mailer import Mailer
from tests.adapters.agno.talking import BRIDGES, TEAMS
from tests.adapters.mails import YES

pytestmark = pytest.mark.anyio

NO = {"approved": False, "reason": "not him"}
MAILS = [{"to": to, "body": "original"} for to in ("bob", "second-bob")]


@dataclass
class OneId(OfflineModel):
    """A model that gives all calls one id, or none."""

    own: str | None = None

    async def ainvoke_stream(self, *given: Any, **options: Any) -> AsyncIterator[ModelResponse]:
        """Stream a reply."""
        async for one in super().ainvoke_stream(*given, **options):
            for call in one.tool_calls or ():
                call["id"] = self.own
            yield one


def odd(own: str | None) -> Mailer:
    """A mailer on such a model."""
    mailer = Mailer()
    mailer.agent.model = OneId(reply=mailer._reply, own=own)
    return mailer


def results(run: Any) -> list[str]:
    """What a run told of calls."""
    return [event["content"] for event in run.events if event["type"] == "TOOL_CALL_RESULT"]


@pytest.mark.parametrize("own", [None, "", "call"])
@pytest.mark.parametrize("say", ["both bob", "twice bob"])
async def test_calls_of_one_id_are_asked_about_and_answered_one_by_one(
    say: str, own: str | None
) -> None:
    mailer = odd(own)
    async with BRIDGES.talking(mailer) as one:
        asked, answers, told = await one.say(say), [YES, NO], list[str]()
        calls = [ask["toolCallId"] for ask in asked.asks]
        while asked.asks:
            given = [answers.pop(0) for _ in asked.asks]
            asked = await one.answer(asked, *given)
            calls += [ask["toolCallId"] for ask in asked.asks]
            told += results(asked)
        assert asked.ending == "success"
        await one.say("hello")
    assert (len(set(calls)), mailer.done) == (2, MAILS[:1])
    assert "Reason: not him" in mailer.results("send_email")[1]
    assert sorted(told) == sorted(mailer.results("send_email"))


@pytest.mark.parametrize("own", [None, "call"])
async def test_calls_of_one_id_run_with_their_own_arguments(own: str | None) -> None:
    mailer, judged = odd(own), list[Any]()

    def policy(call: ProposedCall) -> Verdict:
        judged.append(call.args)
        return Verdict("allow")

    (mail,) = [one for one in mailer.tools if getattr(one, "name", "") == "send_email"]
    mail.requires_confirmation = False
    bridge = BRIDGES.serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        ended = await one.say("both bob")
    assert (mailer.done, judged) == (MAILS, MAILS)
    assert results(ended) == ["sent to bob", "sent to second-bob"]


@pytest.mark.parametrize(
    ("bridges", "say"),
    [
        *((BRIDGES, say) for say in ("look bob", "send bob", "book bob")),
        *((TEAMS, say) for say in ("look bob", "knowninside bob", "inside bob", "bookinside bob")),
    ],
)
async def test_a_run_whose_tools_have_acted_is_not_begun_again(bridges: Any, say: str) -> None:
    mailer = Mailer()
    members: Any = mailer.team.members
    for agent in (mailer.agent, mailer.team, *members):
        agent.retries, agent.delay_between_retries = 2, 0
    reply, failures = mailer._reply, [1, 2]

    async def fail(messages: list[Message], named: set[str]) -> AsyncIterator[Any]:
        if mailer.done and failures:
            failures.pop()
            raise RuntimeError("the provider is gone")
        async for one in reply(messages, named):
            yield one

    mailer.model.reply = fail
    async with bridges.talking(mailer) as one:
        ended = await one.say(say)
        if ended.asks:
            answer = {"hour": 5, "note": ""} if "book" in say else YES
            ended = await one.answer(ended, answer)
        assert not ended.asks
    assert len(mailer.done) == 1
