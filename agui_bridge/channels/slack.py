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
from agui_bridge.channels.notice import Notice, cut, message_of, shown_call
from agui_bridge.channels.webhooks import HttpSender, check_address
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, has_decline
from agui_bridge.protocol.answers.forms import FormField, fields_from_schema
from agui_bridge.protocol.threads.records import Interrupt, Json, Principal
from agui_bridge.text.shown import shown_word

# --- notices and forms as Slack's blocks, within Slack's limits whatever the agent says ---
#
# What an agent says stands in `plain_text`, where nothing is a mention, a link or markup.
# Source: https://docs.slack.dev/reference/block-kit/blocks

REASON: Final = "decline_with_reason"
ANSWER: Final = "answer"
OPEN: Final = "open"
"""Buttons besides `approve` and `decline`."""

FIELD: Final = "field"
"""`action_id` of every field of a form."""

_HEADER: Final = 150
_TEXT: Final = 3000
_FACT: Final = 300
_BUTTON_VALUE: Final = 2000
_URL: Final = 3000
_LABEL: Final = 2000
_OPTION: Final = 75
_MOST_OPTIONS: Final = 100
_MOST_FIELDS: Final = 20
_METADATA: Final = 3000
_TITLE: Final = 24

Block = dict[str, Any]


def fallback(notice: Notice) -> str:
    """The text of a notification, in which Slack knows markup.

    Args:
        notice: what to tell.
    """
    text = cut(notice.title, _HEADER)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def notice_blocks(notice: Notice, *, show_args: bool = False) -> list[Block]:
    """A notice as blocks; one that tells of an end has no buttons.

    Args:
        notice: what to tell.
        show_args: whether a tool call's arguments are shown, and its preview.
    """
    blocks: list[Block] = [{"type": "header", "text": _plain(notice.title, _HEADER)}]
    if message := notice.message(show_args=show_args):
        blocks.append(_section(message))
    if show_args and notice.args is not None:
        blocks.append(_section(notice.args))
        if notice.preview:
            blocks.append(_section(notice.preview))
    facts = "\n".join(f"{label}: {cut(value, _FACT)}" for label, value in notice.facts)
    blocks.append(_section(facts))
    if not notice.ended and (buttons := _buttons(notice, show_args=show_args)):
        blocks.append({"type": "actions", "block_id": "decide", "elements": buttons})
    return blocks


def may_approve(ask: Interrupt, *, show_args: bool) -> bool:
    """Whether a message has a button that approves: only beside all that would run.

    Args:
        ask: the question.
        show_args: whether a tool call's arguments are shown.
    """
    shown = shown_call(ask, title=_HEADER, text=_TEXT, name=_FACT)
    return show_args and shown is not None and shown.is_whole and APPROVE in ask.allowed


def answer_schema(ask: Interrupt) -> Mapping[str, Json]:
    """The schema of a question's answer, without the decline that may stand beside it.

    Args:
        ask: the question.
    """
    schema = ask.response_schema or {}
    return {**schema, "anyOf": schema["anyOf"][:1]} if has_decline(schema) else schema


def form_of(ask: Interrupt) -> tuple[FormField, ...]:
    """The fields in which a question can be answered in Slack; none where it can't.

    Nothing says that all which an answer lets run is in its message: that is answered in the inbox.

    Args:
        ask: the question.
    """
    if ask.lets_run:
        return ()
    fields = fields_from_schema(answer_schema(ask))
    fits = len(fields) <= _MOST_FIELDS and all(len(f.options) <= _MOST_OPTIONS for f in fields)
    return fields if fits else ()


def view(ask: Interrupt, kind: str, metadata: str, *, show_args: bool = False) -> Block | None:
    """A form, for `views.open`; None where there is none that fits.

    Args:
        ask: the question.
        kind: `REASON` or `ANSWER`.
        metadata: comes back with the form.
        show_args: whether arguments are shown.
    """
    if len(metadata) > _METADATA:
        return None
    if kind == REASON:
        blocks = [_input(0, FormField("reason", label="Reason"), multiline=True)]
    else:
        blocks = [_input(number, field) for number, field in enumerate(form_of(ask))]
        if not blocks:
            return None
        if message := message_of(ask, show_args=show_args):
            blocks.insert(0, _section(message))
    return {
        "type": "modal",
        "callback_id": kind,
        "private_metadata": metadata,
        "title": _plain("Decline" if kind == REASON else "Answer", _TITLE),
        "submit": _plain("Decline" if kind == REASON else "Send", _TITLE),
        "close": _plain("Back", _TITLE),
        "blocks": blocks,
    }


def _buttons(notice: Notice, *, show_args: bool) -> list[Block]:
    ask, value = notice.ask, notice.links.reference
    found: list[Block] = []
    if len(value) <= _BUTTON_VALUE:
        if ask.tool_call is not None:
            if may_approve(ask, show_args=show_args):
                found.append(_button("Approve", APPROVE, value, style="primary"))
        elif form_of(ask):
            found.append(_button("Answer", ANSWER, value, style="primary"))
        if DECLINE in ask.allowed:
            found.append(_button("Decline", DECLINE, value, style="danger"))
            found.append(_button("Decline with a reason", REASON, value))
    page = notice.links.page
    if page is not None and len(page) <= _URL:
        found.append({**_button("Open", OPEN, None), "url": page})
    return found


def _button(text: str, action: str, value: str | None, *, style: str | None = None) -> Block:
    button: Block = {"type": "button", "text": _plain(text, _OPTION), "action_id": action}
    if value is not None:
        button["value"] = value
    return button if style is None else {**button, "style": style}


def _input(number: int, field: FormField, *, multiline: bool = False) -> Block:
    element: Block
    if field.type == "text":
        element = {"type": "plain_text_input", "multiline": multiline, "max_length": _TEXT}
    else:
        names = ("Yes", "No") if field.type == "confirm" else field.options
        # A value is a number: an option's own text may be longer than Slack takes.
        names = tuple(map(shown_word, names))
        options = [
            {"text": _plain(name, _OPTION), "value": str(at)} for at, name in enumerate(names)
        ]
        kind = "radio_buttons" if field.type == "confirm" else "static_select"
        element = {"type": kind, "options": options}
    return {
        "type": "input",
        "block_id": f"{FIELD}-{number}",
        "optional": not field.required,
        "label": _plain(shown_word(field.label or field.name or "Answer"), _LABEL),
        "element": {**element, "action_id": FIELD},
    }


def _section(text: str) -> Block:
    return {"type": "section", "text": _plain(text, _TEXT)}


def _plain(text: str, most: int) -> Block:
    """A visible text in which nothing is markup, not even `:tada:`; Slack wants one character."""
    shown = cut(text, most)
    return {"type": "plain_text", "text": shown if shown.strip() else "-", "emoji": False}


# --- the channel ---

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
