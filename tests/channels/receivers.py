"""Those who are told: a webhook receiver, a mailbox and Slack, as far as a channel notices."""

from __future__ import annotations

import contextlib
import email
import email.policy
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlencode

from aiosmtpd.smtp import SMTP, Envelope, Session
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.server import serve

SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
"""The one of Slack's documentation."""

LIMITS = {"header": 150, "section": 3000, "button": 75}


@dataclass
class Receiver:
    """Takes webhooks.

    Attributes:
        answers: statuses and headers of the next answers; then 204.
        got: headers and bodies of what came.
    """

    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    async def take(self, request: Request) -> Response:
        self.got.append((dict(request.headers), await request.body()))
        status, headers = self.answers.pop(0) if self.answers else (204, {})
        return Response(status_code=status, headers=headers)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[Receiver]:
        app = Starlette(routes=[Route("/hook", self.take, methods=["POST"])])
        async with serve(app) as base:
            self.url = f"{base}/hook"
            yield self

    @property
    def told(self) -> list[tuple[str, str]]:
        """Types and ids of what came."""
        return [
            (json.loads(body)["type"].partition(".")[2], headers["webhook-id"])
            for headers, body in self.got
        ]


class Mailbox:
    """Takes mails, after it has refused some."""

    def __init__(self) -> None:
        self.answers: list[str] = []
        self.refused: set[str] = set()
        self.mails: list[EmailMessage] = []
        self.secure: list[bool] = []

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: Any
    ) -> str:
        if address in self.refused:
            return "450 later"
        envelope.rcpt_tos.append(address)
        return "250 ok"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.answers:
            return self.answers.pop(0)
        content = envelope.content
        assert isinstance(content, bytes)
        mail = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        self.secure.append(session.ssl is not None)
        return "250 ok"


def link_of(mail: EmailMessage) -> str:
    content: str = mail.get_content()
    return next(line for line in content.splitlines() if "/d/" in line)


@dataclass
class FakeSlack:
    """Slack's methods, which refuse blocks that Slack would refuse.

    Attributes:
        calls: methods and arguments of what was called.
        limited: how many calls are answered 429 first.
    """

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    limited: int = 0
    url: str = ""

    async def method(self, request: Request) -> Response:
        assert request.headers["authorization"] == "Bearer xoxb-token"
        name, arguments = request.path_params["method"], await request.json()
        if self.limited:
            self.limited -= 1
            return Response(status_code=429, headers={"retry-after": "0"})
        for block in (arguments.get("view") or arguments).get("blocks", ()):
            check_block(block)
        self.calls.append((name, arguments))
        return JSONResponse({"ok": True, "channel": "C1", "ts": f"17.{len(self.calls)}"})

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeSlack]:
        app = Starlette(routes=[Route("/api/{method}", self.method, methods=["POST"])])
        async with serve(app) as base:
            self.url = f"{base}/api"
            yield self

    def named(self, method: str) -> list[dict[str, Any]]:
        """The arguments of the calls of a method."""
        return [arguments for name, arguments in self.calls if name == method]


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def check_block(block: dict[str, Any]) -> None:
    """Refuse what Slack refuses, and what an agent could make markup of."""
    assert units(block.get("block_id", "")) <= 255
    for text in texts_of(block):
        assert text["type"] == "plain_text"
        assert text["emoji"] is False
        assert 1 <= units(text["text"]) <= LIMITS.get(block["type"], 3000)
    if block["type"] == "actions":
        assert 1 <= len(block["elements"]) <= 25
        names = [element["action_id"] for element in block["elements"]]
        assert len(names) == len(set(names))
        for element in block["elements"]:
            assert units(element["text"]["text"]) <= LIMITS["button"]
            assert units(element.get("value", "x")) in range(1, 2001)
            assert units(element.get("url", "")) <= 3000
    if block["type"] == "input":
        options = block["element"].get("options", [{"text": {"text": "x"}, "value": "0"}])
        assert 1 <= len(options) <= 100
        assert all(units(one["text"]["text"]) <= 75 for one in options)
        assert all(units(one["value"]) <= 75 for one in options)
        assert units(block["label"]["text"]) <= 2000


def texts_of(block: dict[str, Any]) -> list[dict[str, Any]]:
    found = [block["text"]] if "text" in block else []
    return found + ([block["label"]] if "label" in block else [])


def click(action: str, value: str, *, user: str = "U1") -> dict[str, Any]:
    """A pressed button, as Slack sends it."""
    return {
        "type": "block_actions",
        "user": {"id": user, "username": "bob", "team_id": "T1"},
        "team": {"id": "T1"},
        "channel": {"id": "C1"},
        "message": {"ts": "17.1"},
        "trigger_id": "trigger",
        "response_url": "http://127.0.0.1:9/never",
        "actions": [{"action_id": action, "block_id": "decide", "value": value}],
    }


def form(kind: str, value: str, *fields: dict[str, Any], user: str = "U1") -> dict[str, Any]:
    """A sent form, as Slack sends it."""
    values = {f"field-{number}": {"field": one} for number, one in enumerate(fields)}
    return {
        "type": "view_submission",
        "user": {"id": user, "username": "bob", "team_id": "T1"},
        "team": {"id": "T1"},
        "view": {"callback_id": kind, "private_metadata": value, "state": {"values": values}},
    }


def signed(
    payload: dict[str, Any], *, age: int = 0, secret: str = SIGNING_SECRET
) -> dict[str, Any]:
    """A request as Slack signs it: `content` and `headers`."""
    body = urlencode({"payload": json.dumps(payload)}).encode()
    sent = str(int(time.time()) - age)
    base = b"v0:" + sent.encode() + b":" + body
    signature = "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {
        "content": body,
        "headers": {
            "content-type": "application/x-www-form-urlencoded",
            "x-slack-request-timestamp": sent,
            "x-slack-signature": signature,
        },
    }
