"""docs/keyword-agents.md does what it says."""

from __future__ import annotations

import pytest

from agui_bridge.agents.keyword.phrases import PHRASES
from tests.agents.sentences.measuring import row, scores, sets
from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "keyword-agents.md"


@pytest.mark.parametrize(
    ("confirm", "said", "deleted"),
    [(True, "Deleted.", ["expired users"]), (False, "Nothing was deleted.", [])],
)
async def test_the_cleaner_deletes_after_a_yes_and_not_after_a_no(
    confirm: bool, said: str, deleted: list[str]
) -> None:
    page = await run_page(PAGE)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], "cleaner")
        await talk.say("clean up")
        (ask,) = talk.asks
        answer = await talk.answer({"confirm": confirm})

    assert (ask["reason"], ask["message"]) == ("confirmation", "Please confirm: delete them.")
    assert answer.endswith(said)
    assert page["deleted"] == deleted


async def test_the_deployer_is_told_the_whole_form() -> None:
    page = await run_page(PAGE)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], "deployer")
        await talk.say("deploy")
        (ask,) = talk.asks
        said = await talk.answer({"confirm": True, "window": "tonight", "note": "quietly"})

    assert ask["message"] == "Deploy v2.0 to production? [y/n]"
    assert "expiresAt" in ask
    assert said.endswith("Told: Yes, deploy tonight.\nNote: quietly")


def test_the_page_lists_the_phrases() -> None:
    _, _, listed = PAGE.read_text(encoding="utf-8").partition("```text\n")
    listed, _, _ = listed.partition("```")

    assert tuple(each.strip() for each in listed.replace("\n", "·").split("·") if each.strip()) == (
        PHRASES
    )


def test_the_page_tells_the_figures_of_every_set() -> None:
    page = PAGE.read_text(encoding="utf-8")

    for file in sets():
        for language, result in scores(file):
            assert language == "all" or row(file, language, result) in page
