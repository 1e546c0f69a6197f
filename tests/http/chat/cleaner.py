"""The seed's agent, which asks before it deletes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agui_bridge import KeywordAdapter
from agui_bridge.protocol.answers.forms import FormField

SAID = ("我将要删除", "以下过期用户数据:共 1,234 条记录。")


QUESTION = "Please confirm: 即将删除 1,234 条记录,此操作不可逆。"


FORM = (
    FormField("confirm", "confirm", "确认删除", required=True),
    FormField("when", "select", "When", required=True, options=("now", "tonight")),
    FormField("note", "text", "Note"),
)


def cleaner(**options: Any) -> KeywordAdapter:
    """The seed's agent: it asks, and tells what it was answered."""

    async def agent(run: Any) -> AsyncIterator[str]:
        if run.text.startswith("请"):
            for piece in (*SAID, *QUESTION):
                yield piece
        else:
            yield f"已收到: {run.text}"

    return KeywordAdapter(agent, **{"label": "确认删除", **options})


ASK = "请帮我删除 prod 数据库中所有过期用户数据"


def state_url(agent: str = "agent", session: str = "session-123") -> str:
    return f"/api/v1/chat/interrupt_state?agent_id={agent}&session_id={session}"
