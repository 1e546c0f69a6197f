"""What the kit finds out by itself about an endpoint that nobody described."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agui_bridge.conformance import CHECKS
from agui_bridge.conformance.lab import Lab
from agui_bridge.conformance.runner import find_offer, run_checks
from tests.conformance.judged import reference_lab

UNTOLD = [c for c in CHECKS if c.id in ("answer.edit", "answer.bad-edit", "other.capabilities")]


def untold(lab: Lab) -> Lab:
    """The same endpoint with nothing said of edits and capabilities."""
    answers = lab.config.answers.model_copy(update={"edit": None, "bad_edits": ()})
    config = lab.config.model_copy(update={"answers": answers, "capabilities": None})
    return replace(lab, config=config)


async def statuses(*flaws: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """How the checks end that need what was found out, and what that is."""
    async with reference_lab(*flaws) as lab:
        lab = untold(lab)
        lab = replace(lab, offer=await find_offer(lab))
        results = await run_checks(lab, UNTOLD)
        return {r.check.id: f"{r.status} {r.detail}".strip() for r in results}, lab.offer.found


async def test_what_the_approval_offers_is_checked_and_told() -> None:
    ended, found = await statuses()

    assert ended["answer.edit"] == ended["answer.bad-edit"] == "pass"
    assert ended["other.capabilities"] == "pass"
    assert any("/agent/capabilities, humanInTheLoop is {" in line for line in found)
    assert any(line.startswith("edits: offered") for line in found)
    assert "its approval: about a tool call, reason 'tool_call', with responseSchema" in " ".join(
        found
    )


async def test_what_it_does_not_offer_is_skipped_with_the_reason() -> None:
    ended, found = await statuses("no-schema", "no-capabilities")

    assert "offer no edits" in ended["answer.edit"]
    assert "/agent/capabilities tells none" in ended["other.capabilities"]
    assert all(told.startswith("skip") for told in ended.values())
    assert any(line.endswith("/agent/capabilities tells none") for line in found)


@pytest.mark.parametrize(
    ("flaw", "check"), [("ignores-edits", "answer.edit"), ("unchecked-edits", "answer.bad-edit")]
)
async def test_a_flaw_is_noticed_by_answers_that_were_made_up_too(flaw: str, check: str) -> None:
    ended, _ = await statuses(flaw)

    assert ended[check].startswith("fail")


async def test_edits_are_made_of_the_streamed_arguments_where_the_messages_lack_the_call() -> None:
    ended, _ = await statuses("empty-snapshot")
    ignored, _ = await statuses("empty-snapshot", "ignores-edits")

    assert ended["answer.edit"] == ended["answer.bad-edit"] == "pass"
    assert ignored["answer.edit"].startswith("fail executed with other arguments")


async def test_an_endpoint_that_does_not_ask_is_told_as_that() -> None:
    _, found = await statuses("no-outcome")

    assert any("prompts.approval raised no interrupt, it ended with" in line for line in found)


async def test_looking_leaves_nothing_open_and_nothing_executed() -> None:
    async with reference_lab() as lab:
        await find_offer(lab)
        sent, cancelled = lab.exchanges
        left = await lab.client.get(lab.url.replace("/agent", "/effects"), params={"marker": ""})

    assert sent.outcome == "interrupt"
    assert cancelled.succeeded
    assert left.json() == []
