"""The approval target with an inbox and Slack behind a real server, and tries to get around it.

What was executed is read from the target's file of effects, never from a stream.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from starlette.requests import Request

from agui_bridge import ApprovalRule, FunctionRun, Principal, Refused, Remember
from agui_bridge.approvals import Question
from agui_bridge.channels import Slack
from agui_bridge.channels.slack import SlackUser
from agui_bridge.errors import CODES
from agui_bridge.inbox import Inbox, Reference
from agui_bridge.inbox.reference import References
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.protocol.wire.sse import Decoder
from examples.approval_target import make_bridge
from tests.channels.receivers import SIGNING_SECRET, FakeSlack
from tests.http.inbox.pages import Person
from tests.support.effects import lines_of
from tests.support.server import PATIENCE, run_input, serve

__all__ = ["KEY", "NO", "YES", "Home", "Try", "at_home", "carry_out", "named", "resume"]

Json = dict[str, Any]

KEY: Final = "a-key-of-the-tests-0123456789"
YES: Final[Json] = {"approved": True}
NO: Final[Json] = {"approved": False}
DBA: Final = frozenset({"dba"})
PEOPLE: Final[Mapping[str, Principal]] = {
    "ann": Principal("team", "ann"),
    "bob": Principal("team", "bob", DBA),
    "dan": Principal("team", "dan", DBA),
    "eve": Principal("other", "eve", DBA),
}
RULES: Final[Mapping[str, ApprovalRule]] = {
    "dba": ApprovalRule("dba", ("role:dba",)),
    "two": ApprovalRule("two", ("role:dba",), quorum=2),
    "other": ApprovalRule("other", self_approval=False),
    "learnt": ApprovalRule("learnt", remember=(Remember("scope"), Remember("thread"))),
    "bounded": ApprovalRule("bounded", remember=(Remember("scope", {"/limit": {"max": 5}}),)),
}
"""Which rule a question has: that of the word with which its thread's name begins."""


def by_header(request: Request) -> Principal:
    """Who a proxy says that it is."""
    found = PEOPLE.get(request.headers.get("x-actor", ""))
    if found is None:
        raise Refused("UNAUTHENTICATED", "Sign in first.")
    return found


def in_slack(user: SlackUser) -> Principal | None:
    """Bob, in his own workspace only."""
    return PEOPLE["bob"] if (user.team, user.id) == ("T1", "U1") else None


def resume(ask: Json | str, payload: Any = YES, **members: Any) -> Json:
    """An entry of `resume`; a member that is None is left out."""
    id = ask if isinstance(ask, str) else ask["id"]
    entry = {"interruptId": id, "status": "resolved", "payload": payload, **members}
    return {name: value for name, value in entry.items() if value is not None}


@dataclass
class Home:
    """A served bridge.

    Attributes:
        base: its URL.
        http: a client; who it is, the header `x-actor` says.
        file: where the tools write what they did.
        slack: what was told in Slack.
        asks: the questions that wait.
        thread: where.
        agent: whose.
        runs: how many runs were begun.
    """

    base: str
    http: httpx.AsyncClient
    file: Path
    slack: FakeSlack
    asks: list[Json] = field(default_factory=list)
    thread: str = "t"
    agent: str = "target"
    runs: int = 0

    @property
    def ask(self) -> Json:
        """The first question that waits."""
        return self.asks[0]

    @property
    def effects(self) -> list[Json]:
        """What was executed."""
        return [json.loads(line) for line in lines_of(self.file)]

    @property
    def reference(self) -> str:
        """The address of the first question."""
        key = ThreadKey("team", self.agent, self.thread)
        return References([KEY]).write(Reference(key, self.ask["id"]))

    def link(self, actor: str = "bob", expires_at: float = 4e9) -> str:
        """The path of a link to the first question."""
        key = ThreadKey("team", self.agent, self.thread)
        link = Reference(key, self.ask["id"], actor, expires_at, DBA)
        return f"/d/{References([KEY]).write(link)}"

    def body(self, **members: Any) -> Json:
        """An input without a message; each has a run id of its own."""
        self.runs += 1
        return {**run_input(None, thread=self.thread, run=f"run-{self.runs}"), **members}

    async def asked(self, text: str, thread: str, agent: str = "target") -> list[Json]:
        """Have ann ask for something; gives the questions that this comes to."""
        self.thread, self.agent = thread, agent
        said = [{"id": f"u-{self.runs + 1}", "role": "user", "content": text}]
        response = await self.post(self.body(messages=said), "ann")
        self.asks = events_of(response)[-1]["outcome"].get("interrupts", [])
        return self.asks

    async def post(self, body: Any, who: str = "bob", **headers: str) -> httpx.Response:
        """Send the agent something: JSON, or bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content-type": "application/json", "x-actor": who, **headers}
        return await self.http.post(f"/agents/{self.agent}", content=content, headers=sent)

    async def say(self, who: str = "bob", **members: Any) -> str:
        """Send the agent an input; gives what it was told, as `told_by` has it."""
        return told_by(await self.post(self.body(**members), who))

    async def answer(self, payload: Any = YES, who: str = "bob", **entry: Any) -> str:
        """Answer the first question alone."""
        return await self.say(who, resume=[resume(self.ask, payload, **entry)])

    async def shape(self, raw: str) -> str:
        """Answer the first question with a payload of this JSON text."""
        body = json.dumps(self.body(resume=[resume(self.ask, "@")])).replace('"@"', raw)
        return told_by(await self.post(body.encode()))

    async def look(self, path: str, method: str = "GET", **headers: str) -> str:
        """Ask for a path as bob; gives the status."""
        sent = {"x-actor": "bob", **headers}
        return str((await self.http.request(method, path, headers=sent)).status_code)

    def person(self, actor: str = "bob") -> Person:
        """Somebody with a browser."""
        return Person(self.base, actor)

    async def open(self) -> set[str]:
        """The ids of the questions that wait on this thread."""
        path = f"/agents/{self.agent}/threads/{self.thread}/interrupts?status=open"
        response = await self.http.get(path, headers={"x-actor": "ann"})
        return {found["id"] for found in response.json().get("interrupts", [])}


def events_of(response: httpx.Response) -> list[Json]:
    """The events of a stream."""
    return [json.loads(frame.data) for frame in Decoder().feed(response.content)]


def told_by(response: httpx.Response) -> str:
    """What somebody was told: the code of an error, or how the run ended."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        assert response.status_code >= 400, response.text
        code = str(response.json()["error"]["code"])
        assert response.status_code == CODES[code].status
        return code
    end = events_of(response)[-1]
    if end["type"] == "RUN_ERROR":
        return str(end["code"])
    outcome = end["outcome"]
    return outcome if isinstance(outcome, str) else str(outcome["type"])


@contextlib.asynccontextmanager
async def at_home(folder: Path, store: str = "memory:") -> AsyncIterator[Home]:
    """Serve it, its effects in a folder."""
    file = folder / "effects.jsonl"
    async with FakeSlack().serving() as slack:
        channel = Slack(
            "xoxb-token",
            SIGNING_SECRET,
            "C1",
            in_slack,
            api=slack.url,
            per_second=50,
            show_args=True,
            scopes=["team"],
        )
        bridge = make_bridge(
            store,
            file,
            authenticate=by_header,
            inbox=Inbox(keys=[KEY]),
            channels={"ops": channel},
        )

        @bridge.approvals
        def rule_of(question: Question) -> ApprovalRule | None:
            return RULES.get(question.thread_id.partition("-")[0])

        @bridge.agent("caller")
        async def caller(run: FunctionRun) -> AsyncIterator[str]:
            """Calls the tool with the arguments that a message holds as JSON."""
            tool, _, args = run.text.partition(" ")
            approval = await run.approve(tool, json.loads(args))

            def work(**given: Any) -> str:
                with file.open("a") as out:
                    out.write(json.dumps({"tool": tool, **given}) + "\n")
                return "done"

            if approval.approved:
                yield str(await run.tool(approval, work))

        async with (
            serve(bridge.app()) as base,
            httpx.AsyncClient(
                base_url=base, timeout=PATIENCE, verify=False, trust_env=False
            ) as http,
        ):
            yield Home(base, http, file, slack)


Send = Callable[[Home], Awaitable[Any]]


@dataclass(frozen=True)
class Try:
    """Something that somebody does while a question waits.

    Attributes:
        told: what comes back, as `send` gives it.
        send: does it.
        asks: what ann's message to the agent is.
        thread: where, which says which rule there is.
        ran: what was executed by it: nothing, or what the question showed.
        stays: whether the question still waits; then its right answer executes it, once.
    """

    told: Any
    send: Send
    asks: str = "send x"
    thread: str = "t"
    ran: tuple[Json, ...] = ()
    stays: bool = True


def named(*tables: Mapping[str, Try]) -> list[Any]:
    """Rows of tables for `parametrize`, by their names."""
    import pytest

    rows = [(name, row) for table in tables for name, row in table.items()]
    assert len({name for name, _ in rows}) == len(rows)
    return [pytest.param(row, id=name) for name, row in rows]


async def carry_out(row: Try, folder: Path) -> None:
    """Try it, look what was executed, and have the right people answer what still waits."""
    async with at_home(folder) as home:
        asks = await home.asked(row.asks, row.thread)
        ids, thread = {ask["id"] for ask in asks}, home.thread
        assert ids and home.effects == []
        told = await row.send(home)
        assert home.effects == list(row.ran), told
        assert told == row.told
        home.thread, home.asks = thread, asks
        assert await home.open() == (ids if row.stays else set())
        if row.stays:
            for who in ("bob", "dan"):
                await home.say(who, resume=[resume(ask) for ask in asks])
            shown = {f"x-{number}@example.com" for number in range(len(asks))}
            assert {line["to"] for line in home.effects} == shown
            assert [line["body"] for line in home.effects] == ["original"] * len(asks)
