"""docs/auto-resume.md: its conversations are those that the code has."""

from __future__ import annotations

from typing import Any

from tests.docs.pages import ROOT, Conversation, run_page

PAGE = ROOT / "docs" / "auto-resume.md"


async def test_the_conversation_and_the_extractor() -> None:
    page: dict[str, Any] = await run_page(PAGE)
    async with page["bridge"].lifespan():
        talk = Conversation(page["bridge"], "cleaner", keeps_list=True)
        assert await talk.say("Delete the old records") == "Please confirm: delete old records"
        (ask,) = talk.asks
        await talk.say("yes, but not the new ones")
        assert talk.asks[0]["id"] == ask["id"]
        assert talk.asks[0]["message"].startswith("The message was not understood")
        assert await talk.say("Yes, confirmed") == "Records deleted successfully"
        assert len(page["deleted"]) == 1

        coffee = Conversation(page["bridge"], "barista", keeps_list=True)
        assert await coffee.say("coffee") == "Which size?"
        assert await coffee.say("the usual") == "A large coffee."
