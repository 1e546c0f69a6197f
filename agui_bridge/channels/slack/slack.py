"""Slack: questions as messages with buttons, answered where they are read.

The message is a view: what counts is stored, and who clicks is asked of the approval rule. Only
Slack's own methods are called, never an address that came with a request.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from agui_bridge.channels.channel import Channel, Undelivered
from agui_bridge.channels.http_sender import HttpSender, check_address
from agui_bridge.channels.notice import Notice
from agui_bridge.channels.slack.blocks import fallback, notice_blocks
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import Json, Principal

__all__ = ["Slack", "SlackUser", "is_signed"]

_LONGEST_AGE: Final = 300
"""Seconds after which a request of Slack's counts as one that somebody has kept."""

_FINAL: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_too_long", "no_text"})
"""Errors that the same message always meets."""

_LOST: Final = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
"""Errors of a message that can't be changed any more."""


@dataclass(frozen=True, slots=True)
class SlackUser:
    """Who clicked, as Slack says.

    Attributes:
        id: such as `U012AB3CD`; unique within the team.
        team: the workspace's id.
        name: what they call themselves; anybody may take any.
    """

    id: str
    team: str
    name: str = ""


People = Callable[[SlackUser], Principal | Awaitable[Principal | None] | None]
"""Says who a Slack user is here, async or plain (in a thread); None refuses them."""


@dataclass
class Slack(Channel):
    """Posts messages with buttons to a channel of Slack, and takes the clicks.

    Set `https://HOST/channels/slack/NAME` as the app's interactivity address.

    Attributes:
        token: the bot's, `xoxb-…`, with the scope `chat:write`.
        signing_secret: the app's.
        channel: id of the channel or person to post to, such as `C012AB3CD`.
        people: says who a Slack user is here.
        api: where Slack's methods are.
        timeout: seconds for an answer.

    Raises:
        ConfigurationError: a value is missing.
    """

    token: str = field(repr=False)
    signing_secret: str = field(repr=False)
    channel: str
    people: People
    api: str = field(default="https://slack.com/api", kw_only=True)
    timeout: float = field(default=20.0, kw_only=True)
    per_second: float = field(default=1.0, kw_only=True)
    tells_end: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse at once what can't work."""
        super().__post_init__()
        check_address(self.api)
        for name in ("token", "signing_secret", "channel"):
            if not getattr(self, name):
                raise ConfigurationError(f"channels: Slack needs a {name}.")
        if not callable(self.people):
            raise ConfigurationError("channels: Slack's people must be a function.")
        self._sender = HttpSender(self.timeout)

    async def send(self, notice: Notice) -> Mapping[str, Json] | None:
        """Post a message, in the thread of the first one; at the end change all of them."""
        content = {
            "text": fallback(notice),
            "blocks": notice_blocks(notice, show_args=self.show_args),
            "unfurl_links": False,
        }
        if notice.ended:
            await self._change(notice, content)
            return None
        if notice.earlier:
            content |= {"thread_ts": notice.earlier[0]["ts"], "reply_broadcast": True}
        posted = await self.call("chat.postMessage", channel=self.channel, **content)
        return {"channel": posted.get("channel") or self.channel, "ts": posted.get("ts")}

    async def tell(self, user: str, text: str, channel: str | None = None) -> None:
        """Tell one person something that the others in the channel don't see.

        Args:
            user: id of the person.
            text: plain.
            channel: where; None is the channel of the messages.

        Raises:
            Undelivered: Slack did not take it.
        """
        plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        await self.call(
            "chat.postEphemeral", channel=channel or self.channel, user=user, text=plain
        )

    async def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Call a method of Slack.

        Args:
            method: such as `chat.postMessage`.
            **arguments: the method's.

        Returns:
            What Slack answered.

        Raises:
            SlackRefusal: it refused.
            Undelivered: it did not answer.
        """
        response = await self._sender.post(
            f"{self.api.rstrip('/')}/{method}",
            json=arguments,
            headers={"Authorization": f"Bearer {self.token}"},
        )
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise Undelivered(f"Slack's {method} answered no JSON object")
        if answer.get("ok") is not True:
            error = str(answer.get("error"))[:100]
            raise SlackRefusal(method, error)
        return answer

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sender.aclose()

    async def _change(self, notice: Notice, content: Mapping[str, Json]) -> None:
        for message in notice.earlier:
            try:
                await self.call("chat.update", **{**message, **content})
            except SlackRefusal as error:
                if error.code not in _LOST:
                    raise


class SlackRefusal(Undelivered):
    """Slack refused a call.

    Args:
        method: what was called.
        code: Slack's error.
    """

    def __init__(self, method: str, code: str) -> None:
        super().__init__(f"Slack's {method}: {code}", final=code in _FINAL)
        self.code = code


def is_signed(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """Whether Slack has signed a request, and lately.

    Args:
        secret: the app's signing secret.
        headers: the request's; names in any case that the mapping takes.
        body: as it came.
        now: seconds since the epoch.
    """
    sent = headers.get("x-slack-request-timestamp", "")
    signed = headers.get("x-slack-signature", "")
    if not (sent.isascii() and sent.isdigit() and len(sent) < 16 and signed.isascii()):
        return False
    if abs(now - int(sent)) > _LONGEST_AGE:
        return False
    wanted = hmac.new(secret.encode(), b":".join((b"v0", sent.encode(), body)), hashlib.sha256)
    return hmac.compare_digest(f"v0={wanted.hexdigest()}", signed)
