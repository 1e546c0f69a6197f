"""docs/keyword-agents.md does what it says."""

from __future__ import annotations

import pytest

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
