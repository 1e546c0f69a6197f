"""docs/approvals.md does what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agui_bridge import ApprovalRule, Principal
from agui_bridge.approvals import RuleList
from agui_bridge.config import bridge_from
from tests.docs.pages import ROOT, Conversation, run_page, snippets_of

PAGE = ROOT / "docs" / "approvals.md"
YES = {"approved": True}


def resume(talk: Conversation) -> list[dict[str, object]]:
    return [{"interruptId": a["id"], "status": "resolved", "payload": YES} for a in talk.asks]


async def test_two_administrators_decide_and_the_question_says_so() -> None:
    page = await run_page(PAGE)
    ann, bob = Principal(actor="ann"), Principal(actor="bob")
    cy = Principal(actor="cy", roles=frozenset({"dba"}))
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], "ops")
        await talk.say("orders", principal=ann)
        (shown,) = (json.loads(code) for _, code in snippets_of(PAGE, "json"))
        assert talk.asks[0]["metadata"]["agui_bridge"]["approval"] == shown
        entries = resume(talk)
        await talk._send(principal=ann, resume=entries)
        assert talk.events[-1]["code"] == "SELF_APPROVAL"
        await talk._send(principal=bob, resume=entries)
        assert talk.asks[0]["metadata"]["agui_bridge"]["approval"]["votedBy"] == ["bob"]
        assert await talk._send(principal=cy, resume=entries) == "orders is deleted."


async def test_what_the_agent_wants_besides_holds() -> None:
    page = await run_page(PAGE)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], "cautious")
        await talk.say("dan", principal=Principal(actor="bob"))
        entries = resume(talk)
        await talk._send(principal=Principal(actor="dan"), resume=entries)
        assert talk.events[-1]["code"] == "NOT_AN_APPROVER"
        await talk._send(principal=Principal(actor="bob"), resume=entries)
        assert await talk._send(principal=Principal(actor="cy"), resume=entries) == "Sent."


def test_the_file_is_a_bridge_with_these_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((_, text),) = snippets_of(PAGE, "yaml")
    for name in ("ANN", "BOB", "CY"):
        monkeypatch.setenv(name, f"{name}-0123456789abcdef")
    (tmp_path / "approvals_page.py").write_text("async def ops(run):\n    yield 'hi'\n")
    path = tmp_path / "bridge.yaml"
    path.write_text(text + "agents: {ops: {function: approvals_page:ops}}\n")

    bridge = bridge_from(path)

    rules = bridge.agents["ops"].approvals
    assert isinstance(rules, RuleList)
    assert [rule for _, rule in rules.rules] == [
        ApprovalRule("deletions", ("role:dba",), quorum=2, self_approval=False),
        ApprovalRule(approvers=("ann", "bob")),
    ]
