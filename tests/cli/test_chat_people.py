"""The terminal chat where people sign in: what waits for whom, and who is refused."""

from __future__ import annotations

import asyncio
import re

import pytest

from agui_bridge import Bridge
from agui_bridge.inbox import pending
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from tests.cli.terminal import Terminal, terminal
from tests.http.inbox.conftest import by_header
from tests.support.agents import Answering, approval
from tests.support.server import client, run_input, serve

DBA = ApprovalRule("dbas", approvers=("role:dba",), self_approval=False)


def bridge_of() -> Bridge:
    bridge = Bridge(authenticate=by_header)
    bridge.add("ops", Answering(approval()))
    bridge.approvals(lambda question: DBA)
    return bridge


async def ask(base: str, *threads: str) -> None:
    async with client(base) as http:
        for thread in threads:
            await http.post(
                "/agents/ops", json=run_input("Go on.", thread=thread), headers={"x-actor": "ann"}
            )


def waiting(chat: Terminal) -> str:
    chat.answer("you > ", "/waiting")
    shown = chat.wait_for("\nyou > ")
    chat.type("/quit")
    assert chat.end() == 0
    return shown


def signed_in(base: str, name: str) -> tuple[str, ...]:
    return ("chat", base, "--header", f"X-Actor: {name}")


async def test_only_what_the_person_may_answer_waits_with_the_zone_of_its_time() -> None:
    def talk(base: str) -> list[str]:
        found = []
        for name in ("ann", "bob"):
            with terminal(*signed_in(base, name), width=120) as chat:
                found.append(waiting(chat))
        return found

    async with serve(bridge_of().app()) as base:
        await ask(base, "t1")
        ann, bob = await asyncio.to_thread(talk, base)

    assert "Nothing waits for you." in ann
    assert re.search(r"t1 +ops +\d{4}-\d\d-\d\d \d\d:\d\d UTC ", bob)


async def test_more_than_can_be_counted_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "_MOST_COUNTED", 20)

    def talk(base: str) -> str:
        with terminal(*signed_in(base, "bob")) as chat:
            return waiting(chat)

    async with serve(bridge_of().app()) as base:
        await ask(base, *(f"t{number}" for number in range(22)))
        assert "There are more." in await asyncio.to_thread(talk, base)


@pytest.mark.parametrize("more", [[], ["--agent", "ops"], ["--thread", "t1", "--agent", "ops"]])
async def test_who_does_not_sign_in_is_told_how_at_once(more: list[str]) -> None:
    def talk(base: str) -> None:
        with terminal("chat", base, *more) as chat:
            assert chat.end() == 2
            assert 'Begin again with a token: --header "Authorization: Bearer …".' in chat.shown

    async with serve(bridge_of().app()) as base:
        await asyncio.to_thread(talk, base)


async def test_a_thread_of_an_agent_that_is_not_there_is_no_new_thread() -> None:
    def talk(base: str) -> None:
        address = f"{base}/agents/opps"
        with terminal("chat", address, "--thread", "t1", "--header", "X-Actor: ann") as chat:
            assert chat.end() == 2
            assert "There is no agent 'opps'" in chat.shown

    async with serve(bridge_of().app()) as base:
        await asyncio.to_thread(talk, base)
