"""A bridge with an inbox, agents that ask, and people with browsers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from agui_bridge import Bridge, Principal, Refused
from agui_bridge.adapters import Ask
from agui_bridge.inbox import Inbox, Reference
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import Interrupt, ThreadKey
from agui_bridge.stores.base import QuestionFilter
from tests.http.inbox.pages import Person
from tests.support.agents import Answering
from tests.support.server import run_input, serve

KEY = "a-key-of-the-tests-0123456789"

PEOPLE: Mapping[str, Principal] = {
    "ann": Principal("team", "ann"),
    "bob": Principal("team", "bob", frozenset({"dba"})),
    "dan": Principal("team", "dan", frozenset({"dba"})),
    "rita": Principal("auditors", "rita", frozenset({"dba"}), ("team",)),
    "eve": Principal("other", "eve"),
}


def by_header(request: Request) -> Principal:
    """Who a proxy says that it is."""
    found = PEOPLE.get(request.headers.get("x-actor", ""))
    if found is None:
        raise Refused("UNAUTHENTICATED", "Sign in first.")
    return found


@dataclass
class Site:
    """A served bridge.

    Attributes:
        base: its URL.
        bridge: the bridge.
        agent: the scripted agent `agent`; what it executed is `agent.executed`.
        ran: the arguments with which `delete` ran.
        payloads: what was answered to the questions of `agent`.
    """

    base: str
    bridge: Bridge
    agent: Answering
    ran: list[dict[str, Any]] = field(default_factory=list)

    def person(self, actor: str = "ann", **headers: str) -> Person:
        """Somebody with a browser."""
        return Person(self.base, actor, **headers)

    async def ask(self, agent: str = "agent", thread: str = "t", actor: str = "ann") -> list[str]:
        """Have an agent ask; gives the paths of its questions."""
        async with httpx.AsyncClient(base_url=self.base, timeout=15, verify=False) as http:
            answer = await http.post(
                f"/agents/{agent}",
                json=run_input("Clean up, please.", thread=thread),
                headers={"x-actor": actor},
            )
        assert answer.status_code == 200, answer.text
        rows = await self.rows(agent, thread)
        return [f"/inbox/{self.reference(agent, thread, ask.id)}" for ask in rows if ask.is_open]

    async def rows(self, agent: str = "agent", thread: str = "t") -> list[Interrupt]:
        """The questions of a thread, as they are stored."""
        engine = await self.bridge.open()
        found = await engine.store.list_interrupts(
            "team", QuestionFilter(agent=agent, thread=thread)
        )
        return [row.interrupt for row in found]

    def reference(self, agent: str, thread: str, interrupt: str, **link: Any) -> str:
        """The reference to a question; a link with `actor` and `expires_at`."""
        key = ThreadKey("team", agent, thread)
        return self.bridge.references.write(Reference(key, interrupt, **link))

    async def link(
        self, actor: str, expires_at: float = 4e9, *, agent: str = "agent", roles: str = ""
    ) -> str:
        """The path of a link to the first question of an agent; roles are separated by spaces."""
        [ask, *_] = await self.rows(agent)
        names = frozenset(roles.split())
        link = {"actor": actor, "expires_at": expires_at, "roles": names}
        return f"/d/{self.reference(agent, 't', ask.id, **link)}"


Serving = Callable[..., contextlib.AbstractAsyncContextManager[Site]]


@pytest.fixture
def serving() -> Serving:
    """Serves a bridge whose agent asks these questions; `inbox`, `rule` and `bridge` options."""

    @contextlib.asynccontextmanager
    async def start(
        *asks: Ask,
        inbox: Inbox | None = None,
        rule: ApprovalRule | None = None,
        capabilities: Mapping[str, bool] | None = None,
        **options: Any,
    ) -> AsyncIterator[Site]:
        given = {"authenticate": by_header, **options}
        bridge = Bridge(inbox=inbox or Inbox(keys=[KEY]), **given)
        agent = Answering(*asks, **{"edit": True, "respond": True, **(capabilities or {})})
        bridge.add("agent", agent)
        site = Site("", bridge, agent)

        async def delete(table: str, limit: int) -> str:
            site.ran.append({"table": table, "limit": limit})
            return f"{limit} rows are gone"

        @bridge.agent("ops")
        async def ops(run: Any) -> Any:
            """Deletes rows."""
            args = {"table": "users", "limit": 5}
            approval = await run.approve("delete", args, message="Delete rows?", fn=delete)
            if approval.approved:
                yield f"Done: {await run.tool(approval, delete)}."
            else:
                yield f"Not done: {approval.reason}"

        if rule is not None:
            bridge.approvals(lambda question: rule)
        async with serve(bridge.app(anonymous=True)) as base:
            site.base = base
            yield site

    return start
