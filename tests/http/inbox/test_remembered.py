"""The page of remembered decisions: what a question's page remembers, and how it is ended."""

from __future__ import annotations

from agui_bridge import ApprovalRule
from agui_bridge.protocol.threads.approval_rule import Remember
from tests.http.inbox.conftest import Serving

RANGE = {"/limit": {"min": 0, "max": 50}}
RULE = ApprovalRule("deleting", remember=(Remember("actor"), Remember("scope", RANGE, max_uses=3)))


async def test_what_is_approved_for_good_is_listed_and_revoked(serving: Serving) -> None:
    async with serving(rule=RULE) as site, site.person("bob") as bob:
        [path] = await site.ask("ops", "t-1")
        question = await bob.look(path)
        await bob.press(question, "Approve", remember="scope")
        assert await site.ask("ops", "t-2") == []
        rules = await bob.look("/inbox/rules")
        done = await bob.press(rules, "Revoke")
        again = await bob.press(rules, "Revoke")
        [_] = await site.ask("ops", "t-3")

    assert "do not ask again" in question.text
    assert "For ann, for 30 days, any number of times; with the same arguments." in question.text
    covered = "limit from 0 to 50; all else the same"
    told = f"For everybody, for 30 days, 3 times at most; with {covered}."
    assert told in question.text
    assert f"Not asked again with {covered}" in rules.text
    assert "everybody in" in rules.text
    assert "Used 1 of 3" in rules.text
    assert "Revoked: people are asked again." in done.text
    assert "Nothing was revoked" in again.text
    assert len(site.ran) == 2


async def test_a_question_whose_rule_offers_nothing_has_no_such_field(serving: Serving) -> None:
    async with serving() as site, site.person("bob") as bob:
        [path] = await site.ask("ops")
        question = await bob.look(path)
        rules = await bob.look("/inbox/rules")

    assert "do not ask again" not in question.text
    assert "Nothing is remembered" in rules.text
