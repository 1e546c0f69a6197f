"""Channels: where people are told of questions, and how what is told gets there."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agui_bridge.channels.channel import Channel, Undelivered
    from agui_bridge.channels.notice import Notice
    from agui_bridge.channels.slack import Slack, SlackUser
    from agui_bridge.channels.smtp import Smtp
    from agui_bridge.channels.webhooks import Teams, Webhook

__all__ = ["Channel", "Notice", "Slack", "SlackUser", "Smtp", "Teams", "Undelivered", "Webhook"]

_HOMES: Final = {
    "Channel": "channel",
    "Notice": "notice",
    "Slack": "slack",
    "SlackUser": "slack",
    "Smtp": "smtp",
    "Teams": "webhooks",
    "Undelivered": "channel",
    "Webhook": "webhooks",
}
"""Where each name is made. Its module is imported when somebody asks for it: every bridge knows
what a channel is, and most have none."""

if not TYPE_CHECKING:  # To checkers the imports above say all; any name would pass otherwise.

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
