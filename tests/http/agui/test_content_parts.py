"""Parts of later versions and of 0.x travel through a run, its pause and its history."""

from __future__ import annotations

from tests.http.conftest import Serving
from tests.support.server import run_input

LATER = {"type": "hologram", "of": {"x": [1]}}
LEGACY = {"type": "binary", "mimeType": "image/png", "data": "aGk=", "filename": "a.png"}
UPGRADED = {
    "type": "image",
    "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"},
    "metadata": {"filename": "a.png"},
}


async def test_unknown_and_legacy_parts_are_stored_and_reach_the_agent(serving: Serving) -> None:
    content = [{"type": "text", "text": "Look:"}, LATER, LEGACY]
    messages = [{"id": "m", "role": "user", "content": content}]
    kept = [{"type": "text", "text": "Look:"}, LATER, UPGRADED]
    async with serving() as site:
        begun = await site.http.post("/agents/agent", json=run_input(None, messages=messages))
        assert begun.status_code == 200 and '"RUN_ERROR"' not in begun.text
        [run] = site.agent.runs
        assert run.raw_messages[0]["content"] == kept
        assert [part.type for part in run.messages[0].content] == ["text", "image"]
        assert run.text == "Look:"

        shown = (await site.http.get("/agents/agent/threads/t")).json()
        assert shown["messages"][0]["content"] == kept
        [ask] = shown["interrupts"]
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}
        resumed = await site.http.post(
            "/agents/agent", json=run_input(None, run="r2", resume=[entry])
        )
        assert '"RUN_ERROR"' not in resumed.text and "hologram" in resumed.text
