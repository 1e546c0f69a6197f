"""The deployment approval, by the very curl lines of its page, against a scripted model."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import ROOT, serving
from tests.docs.pages import snippets_of
from tests.servers.model.script import Reply, Requested
from tests.servers.model.server import ScriptedModel
from tests.support import unavailable
from tests.support.chat import Chat, Frames
from tests.support.server import client

FOLDER = ROOT / "examples" / "deploy_approval"
STREAM, STATE, CONFIRM, REFUSE = (code for _, code in snippets_of(FOLDER / "README.md", "bash"))

PLAN = "v2.0 will replace v1.9 on 12 machines. "
QUESTION = "Please confirm: deploy v2.0 to production."
YES, NO = "Confirmed. v2.0 is deployed.", "Nothing was deployed."


def model_says(request: Requested) -> Reply:
    told = request.messages[-1]["content"]
    if told.startswith("Yes, I confirm."):
        return Reply([YES])
    if told.startswith("No, I do not confirm."):
        return Reply([NO])
    return Reply([PLAN, QUESTION[:10], QUESTION[10:]])


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    """Where `agui-bridge serve agent.yaml` listens."""
    async with ScriptedModel(*[model_says] * 8) as model:
        agent = str(FOLDER / "agent.yaml")
        variables = {"OPENAI_BASE_URL": model.base_url, "NO_PROXY": "127.0.0.1,localhost"}
        with serving(tmp_path, agent, "--port", "0", **variables) as server:
            yield server.url


async def run(command: str, url: str) -> str:
    """Run a command of the page, with the port changed."""
    if shutil.which("curl") is None:
        unavailable("curl", "install it")
    port = url.rpartition(":")[2]
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", command.replace("localhost:8888", f"localhost:{port}"),
        env={"NO_PROXY": "localhost", "PATH": "/usr/bin:/bin"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode()


def frames(printed: str) -> Frames:
    found = Frames()
    found.feed(printed.encode())
    return found


async def test_the_pages_curl_lines_ask_tell_confirm_and_refuse(url: str) -> None:
    asked = frames(await run(STREAM, url))
    assert asked.text == PLAN and asked.interrupt is not None
    state = json.loads(await run(STATE, url))
    assert (state["interrupted"], state["state"]) == (True, asked.interrupt)
    assert state["state"]["reason"] == QUESTION
    confirmed = frames(await run(CONFIRM, url))
    assert (confirmed.text, confirmed.done) == (YES, True)
    assert json.loads(await run(STATE, url)) == {"interrupted": False}
    assert '"code":"INTERRUPT_NOT_PENDING"' in await run(REFUSE, url)
    await run(STREAM, url)
    refused = frames(await run(REFUSE, url))
    assert (refused.text, refused.done) == (NO, True)


async def test_one_session_confirms_and_another_refuses(url: str) -> None:
    async def decide(http: Any, session: str, confirm: bool) -> str:
        chat = Chat(http, "approval-agent", session)
        asked = await chat.say("Deploy v2.0 to production.")
        assert asked.interrupt is not None
        assert [field["name"] for field in asked.interrupt["fields"]] == ["confirm", "note"]
        return (await chat.answer(confirm=confirm)).text

    async with client(url) as http:
        said = await asyncio.gather(decide(http, "one", True), decide(http, "two", False))
    assert list(said) == [YES, NO]
