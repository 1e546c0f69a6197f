"""What waits for the person in the terminal, on all threads of an agui-bridge server."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from agui_bridge.cli.chat.refusals import ADDRESS, told_refusal
from agui_bridge.cli.chat.screen import Screen
from agui_bridge.client import ClientError, HttpError, InboxClient
from agui_bridge.text.shown_call import in_room
from agui_bridge.text.visible import visible_json, visible_line, visible_name

__all__ = ["show_waiting"]

_MOST: Final = 20
_LONGEST: Final = 100


async def show_waiting(url: str, headers: Mapping[str, str], screen: Screen) -> None:
    """List the open questions that the person may answer, oldest first.

    Args:
        url: of the agent, `…/agents/NAME`.
        headers: sent with the request.
        screen: where they are shown.
    """
    server, found, _ = url.rpartition("/agents/")
    if not found:
        screen.note("Only an agui-bridge server tells what waits on other threads.")
        return
    try:
        async with InboxClient(server, headers=headers) as inbox:
            page = await inbox.pending(mine=True, limit=_MOST)
    except HttpError as error:
        screen.fail(told_refusal(error))
        return
    except ClientError as error:
        screen.fail(str(error))
        return
    try:
        rows = [
            (
                visible_line(question["threadId"]),
                visible_line(question["agent"]),
                _since(question),
                _asked(question),
            )
            for question in page["interrupts"]
        ]
        rest = " There are more." if page["cursor"] is not None else ""
        if page["count"] is not None and page["count"] > len(rows):
            rest = f" {page['count'] - len(rows)} more wait."
    except (KeyError, TypeError, ValueError):
        screen.fail(f"{server} lists something else than questions.\n{ADDRESS}")
        return
    if not rows:
        screen.note("Nothing waits for you.")
        return
    screen.table(rows, ("thread", "agent", "since", "asks"))
    screen.note(f"To answer one: agui-bridge chat {server} --agent AGENT --thread THREAD.{rest}")


def _since(question: Mapping[str, Any]) -> str:
    history = question["history"]
    if not history:
        return ""
    asked = datetime.fromisoformat(history[0]["at"]).astimezone(UTC)
    return f"{asked:%Y-%m-%d %H:%M} UTC"


def _asked(question: Mapping[str, Any]) -> str:
    call = question.get("toolCall")
    if call is not None:
        line = f"{visible_name(call['name'])} {visible_json(call['args'])}"
    else:
        line = visible_line(question.get("message") or question["reason"])
    return in_room(line, _LONGEST).text
