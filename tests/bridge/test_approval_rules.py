"""Which rule a question gets: the bridge's, narrowed by its agent; and who asked for it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import ApprovalRule, Bridge, Escalation, FunctionRun
from agui_bridge.approvals import Approvals, Match, Question, RuleList
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import ThreadKey
from tests.bridge.several_people import Office, always, shown


@pytest.mark.parametrize(
    ("rule", "asking", "may"),
    [
        (None, {"approvers": ["bob"]}, {"bob"}),
        (ApprovalRule(approvers=("ann", "bob")), {"approvers": ["bob", "eve"]}, {"bob"}),
        (ApprovalRule(approvers=("ann",)), {"approvers": ["role:dba"]}, set()),
        (ApprovalRule(approvers=("role:dba",)), {"approvers": ["role:law"]}, {"cy"}),
        (ApprovalRule(approvers=("bob",)), {"quorum": 1}, {"bob"}),
    ],
)
async def test_an_agent_narrows_the_rule_and_never_widens_it(
    rule: ApprovalRule | None, asking: dict[str, Any], may: set[str]
) -> None:
    found = set()
    for who in ("ann", "bob", "cy", "eve"):
        office = Office(always(rule), **asking)
        await office.say("ann", "rows")
        if (await office.answer(who, await office.ids()))["type"] == "RUN_FINISHED":
            found.add(who)
        assert bool(office.done) is (who in found)
    assert found == may


async def test_an_agent_asks_for_more_people_but_not_for_fewer() -> None:
    for wanted, asked_for in ((1, 2), (2, 1)):
        office = Office(always(ApprovalRule(quorum=wanted)), quorum=asked_for)
        await office.say("ann", "rows")
        assert shown(await office.answer("ann", await office.ids()))[0]["votes"] == 1
        assert office.done == []


def failing(question: Question) -> ApprovalRule:
    raise RuntimeError("no directory")


@pytest.mark.parametrize(
    ("approvals", "asking", "said"),
    [
        (failing, {}, "The approvals hook failed on the question about 'delete_rows'"),
        (lambda question: "bob", {}, "gave 'bob' for the question about 'delete_rows'"),
        (
            always(ApprovalRule(approvers=("ann",), self_approval=False)),
            {},
            "names nobody (ann asked for the run)",
        ),
        (always(ApprovalRule(approvers=("bob",))), {"approvers": ["cy"]}, "names nobody"),
    ],
)
async def test_a_question_without_a_rule_that_holds_is_not_stored(
    approvals: Approvals, asking: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    office = Office(approvals, **asking)

    with caplog.at_level(logging.CRITICAL, "agui_bridge"):
        event = await office.say("ann", "rows")

    assert (event["type"], event["code"]) == ("RUN_ERROR", "AGENT_ERROR")
    assert said in event["message"] and "not asked" in event["message"]
    assert await office.rows() == []


async def test_who_asked_stays_so_over_questions_that_others_answered() -> None:
    async def twice(run: FunctionRun) -> AsyncIterator[str]:
        for name in ("one", "two"):
            await run.approve(name, {})
        yield "Done."

    office = Office(always(ApprovalRule(self_approval=False)), twice)
    await office.say("ann", "go")
    await office.answer("bob", await office.ids())
    second = [ask.id for ask in await office.rows() if ask.is_open]

    assert (await office.answer("ann", second))["code"] == "SELF_APPROVAL"
    message = {"id": "more", "role": "user", "content": "And two."}
    assert (await office.answer("bob", second, messages=[message]))["outcome"]["type"] == "success"


async def test_whose_message_comes_along_with_an_answer_has_asked_too() -> None:
    async def twice(run: FunctionRun) -> AsyncIterator[str]:
        for name in ("one", "two"):
            await run.approve(name, {})
        yield "Done."

    office = Office(always(ApprovalRule(self_approval=False)), twice)
    await office.say("ann", "go")
    message = {"id": "more", "role": "user", "content": "And delete all."}
    await office.answer("bob", await office.ids(), messages=[message])
    (second,) = [ask for ask in await office.rows() if ask.is_open]

    assert (second.asked_by, second.joined_by) == ("ann", ("bob",))
    assert (await office.answer("bob", [second.id]))["code"] == "SELF_APPROVAL"
    assert (await office.answer("cy", [second.id]))["outcome"]["type"] == "success"


async def test_who_asked_stays_so_when_somebody_else_returns_an_applications_result() -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        await run.frontend_tool("pick", {})
        await run.approve("one", {})
        yield "Done."

    office = Office(always(ApprovalRule(self_approval=False)), agent)
    event = await office.say("ann", "go")
    (call,) = event["outcome"]["pendingToolCallIds"]
    await office.send(
        "bob", messages=[{"id": "r", "role": "tool", "toolCallId": call, "content": "x"}]
    )

    (row,) = await office.rows()
    assert (row.asked_by, row.joined_by) == ("ann", ())


async def test_a_message_answers_only_for_those_who_may() -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield f"So be it: {await run.confirm('Sure?')}"

    office = Office(always(ApprovalRule(approvers=("bob",))), agent)
    await office.say("ann", "go")
    engine = await office.bridge.open()
    loaded = await engine.store.load(ThreadKey("team", "office", "t"), messages=True)
    said = [dict(m.message) for m in loaded.messages]

    replies = {}
    for who in ("ann", "bob"):
        message = {"id": f"yes {who}", "role": "user", "content": "Yes"}
        replies[who] = await office.send(who, messages=[*said, message])

    (again,) = replies["ann"]["outcome"]["interrupts"]
    assert again["message"] == "Only bob may answer this. Sure?"
    assert replies["bob"]["outcome"]["type"] == "success"


async def test_an_escalation_keeps_a_question_that_only_its_asker_could_answer() -> None:
    step = Escalation(60.0, ("bob",))
    office = Office(always(ApprovalRule(approvers=("ann",), self_approval=False, escalate=(step,))))

    assert (await office.say("ann", "rows"))["outcome"]["type"] == "interrupt"


def test_a_bridge_has_one_say_on_who_may_answer() -> None:
    bridge = Bridge()
    bridge.approvals(always(None))
    with pytest.raises(ConfigurationError, match="There are approvals already"):
        bridge.approvals(always(None))


def test_a_list_that_nobody_can_satisfy_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"approvals\[0\]: it wants the approval of 2"):
        RuleList([(Match(), ApprovalRule(approvers=("ann",), quorum=2))])


@pytest.mark.parametrize(("state", "may"), [({"name": "old"}, True), ({"name": "new"}, False)])
async def test_who_changes_the_state_with_an_answer_has_asked_for_what_follows(
    state: dict[str, str], may: bool
) -> None:
    async def twice(run: FunctionRun) -> AsyncIterator[str]:
        await run.approve("first", {})
        await run.approve("second", {"name": run.state["name"]})
        yield "Done."

    office = Office(always(ApprovalRule(self_approval=False)), agent=twice)
    said = {"id": "u", "role": "user", "content": "Go."}
    await office.send("ann", messages=[said], state={"name": "old"})
    await office.answer("bob", await office.ids(), state=state)
    (second,) = [ask.id for ask in await office.rows() if ask.is_open]
    last = await office.answer("bob", [second])

    assert last.get("code") == (None if may else "SELF_APPROVAL")
