"""The client that SuperAgent's documentation shows, unchanged but for where the server is."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agui_bridge import Bridge, FunctionRun, KeywordAdapter
from agui_bridge.agents.keyword.phrases import CHINESE_REPLIES
from tests.support import unavailable
from tests.support.chat import Frames
from tests.support.server import PATIENCE, serve

HERE = Path(__file__).parent
# JavaScript's patterns stop at a line separator.
LAST = "共 1,234 条\u2028记录。\n\n"
ASK = "请帮我删除 prod 数据库中所有过期用户数据"
QUESTION = "请确认:即将删除 1,234 条记录,此操作不可逆。"


async def agent(run: FunctionRun) -> AsyncIterator[str]:
    if run.text == ASK:
        for token in ("我将要删除", "以下过期用户数据:", LAST, QUESTION):
            yield token
    elif run.text == CHINESE_REPLIES.yes:
        yield "已收到您的确认。\n\n删除完成。"
    else:
        yield "没有删除。"


async def talk(base: str, *calls: dict[str, Any]) -> list[Any]:
    """Have the client make its calls; gives what the person saw at each."""
    node = shutil.which("node")
    if node is None:
        unavailable("Node.js", "install version 20 or later")
    process = await asyncio.create_subprocess_exec(
        node,
        str(HERE / "superagent.mjs"),
        base,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    lines = "".join(json.dumps(call) + "\n" for call in calls)
    async with asyncio.timeout(PATIENCE):
        printed, _ = await process.communicate(lines.encode())
    assert process.returncode == 0
    return [json.loads(line) for line in printed.splitlines()]


async def test_the_documented_client_asks_confirms_and_refuses() -> None:
    bridge = Bridge()
    bridge.add("approval-agent", KeywordAdapter(agent, label="确认删除"))
    call = {"agent": "approval-agent", "message": ASK}
    async with serve(bridge.app(anonymous=True)) as base:
        confirmed, refused, plain = await talk(
            base,
            {**call, "session": "s1", "input": {"confirm": True}},
            {**call, "session": "s2", "input": {"confirm": False}},
            {**call, "session": "s3", "message": "hi", "input": None},
        )
    fields = [{"name": "confirm", "type": "confirm", "label": "确认删除", "required": True}]
    for seen in (confirmed, refused):
        assert seen["text"] == f"我将要删除以下过期用户数据:{LAST}"
        assert seen["dialogs"] == [{"reason": QUESTION, "fields": fields}]
    for seen, said in ((confirmed, "已收到您的确认。\n\n删除完成。"), (refused, "没有删除。")):
        resumed = Frames()
        resumed.feed(seen["bodies"][1].encode())
        assert (resumed.text, resumed.done) == (said, True)
    assert (plain["text"], plain["dialogs"]) == ("没有删除。", [])
