"""One question answered at once in five ways and two processes: decided once, told the same."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from agui_bridge.inbox.reference import Reference
from agui_bridge.protocol.answers.decisions import APPROVE
from agui_bridge.protocol.threads.records import ThreadKey
from tests.channels.receivers import FakeSlack, click, signed
from tests.http.inbox.pages import Page, Person
from tests.processes.channelled import INBOX
from tests.processes.conftest import races
from tests.support.server import open_stream_at, run_input
from tests.support.target import Target, approve

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

AT_ONCE = 2
"""Rounds that are under way at a time."""

WAYS = 5
APPROVED = "Approved: send_email"
CARRIED_OUT = "It has been carried out."


@dataclass(frozen=True)
class Told:
    """What each was told of one question."""

    page: tuple[int, str, bool]
    link: tuple[int, str, bool]
    slack: int
    copilotkit: str
    api: tuple[int, str | None, str | None]


ALIKE = Told(
    page=(200, APPROVED, True),
    link=(200, APPROVED, True),
    slack=200,
    copilotkit="success",
    api=(200, "resolved", None),
)


@races(few=4, many=200)
async def test_the_same_answer_in_five_ways_is_carried_out_once_and_told_alike(
    targets: Callable[..., Target], rounds: int
) -> None:
    turns = asyncio.Semaphore(AT_ONCE)
    async with FakeSlack().serving() as slack:
        # A process is begun, and waited for, beside the loop that serves what it calls.
        begin = {"module": "tests.processes.channelled", "options": ["--slack", slack.url]}
        both = [await asyncio.to_thread(targets, **begin) for _ in range(2)]

        async def race(number: int) -> Told:
            async with turns:
                return await five_ways(number, both)

        told = await asyncio.gather(*(race(number) for number in range(rounds)))
        late = {call["text"] for call in slack.named("chat.postEphemeral")}

    executed = sorted(effect["to"] for effect in both[0].effects)
    assert executed == sorted(f"race-{number}-0@example.com" for number in range(rounds))
    assert set(told) == {ALIKE}
    assert late == set(), "who clicked the same as the others is told nothing else"


async def five_ways(number: int, both: list[Target]) -> Told:
    """Ask one question, and answer it in all ways at once; each process gets some of them."""
    thread = f"race-{number}"
    asked = await asyncio.to_thread(both[number % 2].send, thread, f"send {thread}")
    (interrupt,) = asked.interrupts
    key = ThreadKey("default", "target", thread)
    reference = INBOX.references.write(Reference(key, interrupt["id"]))
    link = Reference(key, interrupt["id"], "bob", time.time() + 60)
    bases = itertools.cycle(f"http://127.0.0.1:{served.port}" for served in both)
    # Its place in the cycle moves on, so that each way meets each process.
    at = list(itertools.islice(bases, number // 2 % 2, number // 2 % 2 + WAYS))
    async with Person(at[0]) as ann, Person(at[3]) as bob, plain(at[1]) as sl, plain(at[4]) as api:
        page = await ann.look(f"/inbox/{reference}")
        linked = await bob.look(f"/d/{INBOX.references.write(link)}")
        answers = await asyncio.gather(
            ann.press(page, "Approve"),
            sl.post("/channels/slack/slack", **signed(click(APPROVE, reference, user="eve"))),
            resumed(at[2], thread, interrupt),
            bob.press(linked, "Approve", {"origin": "null"}),
            api.post(
                f"/interrupts/{reference}/answer",
                json={"status": "resolved", "payload": {"approved": True}},
            ),
        )
    pressed, clicked, copilotkit, mailed, posted = answers
    body = posted.json()
    return Told(
        shown(pressed),
        shown(mailed),
        clicked.status_code,
        copilotkit,
        (posted.status_code, body.get("status"), body.get("code")),
    )


def shown(page: Page) -> tuple[int, str, bool]:
    """What counts of a page that says what came of an answer."""
    return page.status, page.title, CARRIED_OUT in page.text


async def resumed(base: str, thread: str, interrupt: dict[str, Any]) -> str:
    """Approve as CopilotKit does; gives the outcome of its stream, or the error's code."""
    body = run_input(
        None, thread=thread, run=f"{thread}-resumed", version=None, resume=[approve(interrupt)]
    )
    async with open_stream_at(base, "/copilotkit/agent/target/run", body) as stream:
        last = (await stream.rest())[-1]
    return str(last["outcome"]["type"] if last["type"] == "RUN_FINISHED" else last["code"])


@contextlib.asynccontextmanager
async def plain(base: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client that sends what it is told, and waits as long as a run may take."""
    async with httpx.AsyncClient(base_url=base, timeout=60, trust_env=False) as http:
        yield http
