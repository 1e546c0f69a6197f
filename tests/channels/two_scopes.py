"""Two scopes, each with an ann who asks, a bob who approves, and a channel of every kind."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from aiosmtpd.controller import Controller

from agui_bridge import ApprovalRule, BearerTokens, Bridge, Principal, Settings
from agui_bridge.channels import Channel, Slack, SlackUser, Smtp, Teams, Webhook
from agui_bridge.inbox import Inbox
from agui_bridge.protocol.answers.decisions import APPROVE
from tests.channels.bridges import SECRET
from tests.channels.receivers import (
    SIGNING_SECRET,
    FakeSlack,
    Mailbox,
    Receiver,
    click,
    link_of,
    signed,
)
from tests.http.inbox.pages import Person
from tests.support.ports import free_port
from tests.support.server import client, open_stream_at, run_input, serve
from tests.support.waiting import eventually

__all__ = ["INBOX", "KINDS", "NAMES", "SCOPES", "SURFACES", "TwoScopes", "two_scopes"]

SCOPES: Final = ("team", "other")
# Browsers keep cookies of https pages from http ones, and these are served without TLS.
INBOX: Final = Inbox(url="http://agents.example", keys=["k" * 32])
KINDS: Final = ("mail", "slack", "teams", "webhook")
SURFACES: Final = (*KINDS, "inbox")
NAMES: Final = tuple(f"{kind}-{scope}" for kind in KINDS for scope in SCOPES)
_TOKENS: Final = {
    f"token-of-{actor}-of-{scope}": Principal(scope, actor)
    for scope in SCOPES
    for actor in ("ann", "bob", "carl")
}


@dataclass
class TwoScopes:
    """A served bridge, and what its channels were told.

    Attributes:
        base: its URL.
        bridge: the bridge.
        executed: what was wiped.
        slack: takes the messages of both scopes.
        mailbox: takes the mails of both.
        receivers: take the cards and webhooks, by the channel's name.
    """

    base: str
    bridge: Bridge
    executed: list[str] = field(default_factory=list)
    slack: FakeSlack = field(default_factory=FakeSlack)
    mailbox: Mailbox = field(default_factory=Mailbox)
    receivers: dict[str, Receiver] = field(default_factory=dict)

    async def ask(self) -> None:
        """Have the ann of each scope ask for its own rows, in threads of the same id."""
        for scope in SCOPES:
            sent = {"authorization": f"Bearer token-of-ann-of-{scope}"}
            body = run_input(f"{scope}-rows")
            async with open_stream_at(self.base, "/agents/ops", body, headers=sent) as stream:
                await stream.rest()

    def told(self, kind: str, scope: str) -> list[str]:
        """What the channel of a scope was told, as texts."""
        if kind == "mail":
            address = f"bob@{scope}.example"
            return [m.get_content() for m in self.mailbox.mails if m["To"] == address]
        if kind == "slack":
            posted = self.slack.named("chat.postMessage")
            return [json.dumps(one) for one in posted if one["channel"] == f"C-{scope}"]
        return [body.decode() for _, body in self.receivers[f"{kind}-{scope}"].got]

    async def approve(self, surface: str, of: str, about: str, *, actor: str = "bob") -> list[str]:
        """Have somebody of a scope approve a question of a scope; gives what refused it."""
        match surface:
            case "mail":
                return await self._by_mail(of, about)
            case "slack":
                return await self._in_slack(of, about)
            case "teams" | "webhook":
                found = re.search(r"/inbox/([\w.-]+)", self.told(surface, about)[0])
                assert found is not None
                return await self._by_reference(found[1], of, actor)
            case _:
                return await self._by_reference(await self.reference(about), of, actor)

    async def reference(self, scope: str) -> str:
        """The question of a scope, as its bob finds it."""
        [row] = (await self.bridge.pending(Principal(scope, "bob"), status=None)).rows
        return row.ref

    async def _by_mail(self, of: str, about: str) -> list[str]:
        mails = [m for m in self.mailbox.mails if m["To"] == f"bob@{of}.example"]
        links = [link_of(m) for m in mails if f"{about}-rows" in m.get_content()]
        if not links:
            return ["no link"]
        async with Person(self.base) as bob:
            page = await bob.look(links[0].removeprefix("http://agents.example"))
            done = await bob.press(page, "Approve", {"origin": "null"})
        return [] if done.status == 200 else [done.text]

    async def _in_slack(self, of: str, about: str) -> list[str]:
        [message, *_] = self.told("slack", about)
        blocks = json.loads(message)["blocks"]
        [actions] = [block for block in blocks if block["type"] == "actions"]
        pressed = signed(click(APPROVE, actions["elements"][0]["value"], user=f"bob-of-{of}"))
        told, done = len(self.slack.named("chat.postEphemeral")), len(self.executed)
        async with client(self.base) as session:
            await session.post(f"/channels/slack/slack-{of}", **pressed)

        def new() -> list[str]:
            return [one["text"] for one in self.slack.named("chat.postEphemeral")[told:]]

        await eventually(lambda: new() or len(self.executed) > done)
        return new()

    async def _by_reference(self, ref: str, of: str, actor: str) -> list[str]:
        sent = {"authorization": f"Bearer token-of-{actor}-of-{of}"}
        body = {"status": "resolved", "payload": {"approved": True}}
        async with httpx.AsyncClient(base_url=self.base, headers=sent, trust_env=False) as http:
            answer = await http.post(f"/interrupts/{ref}/answer", json=body, timeout=15)
        taken = answer.status_code == 200 and answer.json()["status"] == "resolved"
        return [] if taken else [answer.text]


@contextlib.asynccontextmanager
async def two_scopes(rule: ApprovalRule | None = None) -> AsyncIterator[TwoScopes]:
    """A bridge that tells both scopes, each through channels of its own.

    Args:
        rule: of every question.
    """
    async with contextlib.AsyncExitStack() as stack:
        receivers = {
            name: await stack.enter_async_context(Receiver().serving())
            for name in NAMES
            if name.startswith(("teams", "webhook"))
        }
        slack = await stack.enter_async_context(FakeSlack().serving())
        mailbox, port = Mailbox(), free_port()
        controller = Controller(mailbox, hostname="127.0.0.1", port=port)
        controller.start()
        stack.callback(controller.stop)
        bridge = Bridge(
            settings=Settings(sweep_interval=0.02),
            inbox=INBOX,
            allowed_hosts=["127.0.0.1"],
            authenticate=BearerTokens(_TOKENS),
            channels=_channels(receivers, slack, f"smtp://127.0.0.1:{port}?starttls=never"),
        )
        bridge.approvals(lambda _: rule)
        executed: list[str] = []

        @bridge.agent
        async def ops(run: Any) -> AsyncIterator[str]:
            answer = await run.approve("wipe", {"name": run.text}, message=f"Wipe {run.text}?")
            if answer.approved:
                yield await run.tool(answer, wipe)

        async def wipe(name: str) -> str:
            executed.append(name)
            return "wiped"

        base = await stack.enter_async_context(serve(bridge.app()))
        yield TwoScopes(base, bridge, executed, slack, mailbox, receivers)


def _channels(
    receivers: Mapping[str, Receiver], slack: FakeSlack, mail_server: str
) -> dict[str, Channel]:
    """A channel of each kind and scope; each names people plainly where it can."""
    found: dict[str, Channel] = {}
    for scope in SCOPES:
        given: dict[str, Any] = {"scopes": [scope], "per_second": 1000}
        found |= {
            f"mail-{scope}": Smtp(
                mail_server, "bridge@agents.example", {"bob": f"bob@{scope}.example"}, **given
            ),
            f"slack-{scope}": Slack(
                *("xoxb-token", SIGNING_SECRET, f"C-{scope}", _in_slack),
                api=slack.url,
                show_args=True,
                **given,
            ),
            f"teams-{scope}": Teams(receivers[f"teams-{scope}"].url, **given),
            f"webhook-{scope}": Webhook(receivers[f"webhook-{scope}"].url, SECRET, **given),
        }
    return found


def _in_slack(user: SlackUser) -> Principal:
    """Who a Slack user is: somebody who sees both scopes, so that the channel alone keeps them."""
    actor, _, scope = user.id.partition("-of-")
    return Principal(scope, actor, reviews=SCOPES)
