"""Microsoft Teams: a card with a link to the question, through a Workflows webhook.

Buttons that answer in place need a registered bot. The decision is made in the inbox.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agui_bridge.channels.channel import Channel
from agui_bridge.channels.http_sender import HttpSender, check_address
from agui_bridge.channels.notice import Notice, cut
from agui_bridge.protocol.threads.records import Json

__all__ = ["Teams", "card"]

_LONGEST_TEXT: Final = 2000
_LONGEST_NAME: Final = 300
"""So a card stays below the 28 KB that Teams takes, whatever the agent says."""


@dataclass
class Teams(Channel):
    """Posts a card to a Teams channel or chat.

    Attributes:
        url: the address of a Workflow "When a Teams webhook request is received"; a secret.
        timeout: seconds for an answer.

    Raises:
        ConfigurationError: the address is none.
    """

    url: str = field(repr=False)
    timeout: float = field(default=20.0, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse at once what can't work."""
        super().__post_init__()
        check_address(self.url)
        self._sender = HttpSender(self.timeout)

    async def send(self, notice: Notice) -> Mapping[str, Json] | None:
        """Post the card."""
        shown = card(notice, show_args=self.show_args)
        body = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
        await self._sender.post(
            self.url, content=body, headers={"content-type": "application/json"}
        )
        return None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sender.aclose()


def card(notice: Notice, *, show_args: bool = False) -> dict[str, Any]:
    """A notice as the message that Teams takes.

    Args:
        notice: what to tell.
        show_args: whether a tool call's arguments are shown.
    """
    body: list[Json] = [
        {**_text(notice.title, _LONGEST_NAME), "weight": "Bolder", "size": "Medium"}
    ]
    if message := notice.message(show_args=show_args):
        body.append(_text(message))
    facts = [
        {"title": label, "value": _plain(value, _LONGEST_NAME)} for label, value in notice.facts
    ]
    body.append({"type": "FactSet", "facts": facts})
    if show_args and notice.args is not None:
        body.append({**_text(notice.args), "fontType": "Monospace"})
    content: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if notice.links.page is not None:
        content["actions"] = [
            {"type": "Action.OpenUrl", "title": "Decide", "url": notice.links.page}
        ]
    kind = "application/vnd.microsoft.card.adaptive"
    attachment = {"contentType": kind, "contentUrl": None, "content": content}
    return {"type": "message", "attachments": [attachment]}


def _text(text: str, most: int = _LONGEST_TEXT) -> dict[str, Json]:
    return {"type": "TextBlock", "text": _plain(text, most), "wrap": True}


def _plain(text: str, most: int) -> str:
    """A visible text whose Markdown is shown, not followed: cards know links and emphasis."""
    shown = cut(text, most)
    return "".join(f"\\{letter}" if letter in "\\`*_[]()#<>~|!" else letter for letter in shown)
