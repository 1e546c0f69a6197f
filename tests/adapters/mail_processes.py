"""A framework's example as processes on one store: a restart, a race, a kill in the tool."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import httpx
import pytest

from tests.support.examples import few_or_many
from tests.support.forks import Nursery
from tests.support.mails import MailServer, asks_of, mail_servers

__all__ = ["MailProcesses"]

RACES = int(os.environ.get("RACES", "150"))
"""How many answers two processes race for in `make soak`."""


@pytest.mark.timeout(180)
class MailProcesses:
    """The tests of one example; a subclass names it.

    Attributes:
        example: its module.
        verbs: what the user may say for an e-mail to be proposed, one way after the other.
    """

    example: ClassVar[str]
    verbs: ClassVar[tuple[str, ...]] = ("send",)

    def options(self, folder: Path) -> list[str]:
        """What its command line takes besides."""
        return []

    @pytest.fixture
    def start(self, its_nursery: Nursery, tmp_path: Path) -> Iterator[Callable[..., MailServer]]:
        with mail_servers(its_nursery, tmp_path, *self.options(tmp_path)) as started:
            yield started

    def test_a_pause_outlives_its_process_and_two_others_execute_its_answer_once(
        self, start: Callable[..., MailServer]
    ) -> None:
        before = start()
        asks = asks_of(before.send("send bob"))
        before.kill()
        one, other = start(), start()
        with ThreadPoolExecutor(2) as pool:
            told = [pool.submit(server.send, answers=asks) for server in (one, other)]
            ends = [each.result(60)[-1] for each in told]
        assert one.done == ["bob-0@example.com"]
        assert "RUN_FINISHED" in {end["type"] for end in ends}
        assert other.send("hello")[-1]["outcome"]["type"] == "success"

    @pytest.mark.soak
    def test_a_process_killed_in_the_approved_tool_is_never_followed_by_a_second_execution(
        self, start: Callable[..., MailServer]
    ) -> None:
        # The second waits for the first one's lease to end.
        first, second = start(lease=3.0), start(lease=3.0)
        asks = asks_of(first.send("crash bob"))
        assert first.send(answers=asks)[-1:] != [{"type": "RUN_FINISHED"}]
        first.process.wait(30)
        again = second.send(answers=asks)[-1]
        assert (again["type"], again["code"]) == ("RUN_ERROR", "RUN_INDETERMINATE")
        assert second.send("hello")[-1]["outcome"]["type"] == "success"
        assert second.done == ["bob-0@example.com"]
        shown = httpx.get(f"{second.url}/agents/mailer/threads/t").json()["messages"]
        (result,) = [message["content"] for message in shown if message["role"] == "tool"]
        assert "whether this tool call was executed is unknown" in result

    @few_or_many(5, RACES)
    def test_of_the_same_answer_in_two_processes_at_once_one_executes(
        self, start: Callable[..., MailServer], examples: int
    ) -> None:
        servers = (start(), start())

        def race(number: int) -> set[str]:
            thread = f"race-{number}"
            verb = self.verbs[number % len(self.verbs)]
            asks = asks_of(servers[number % 2].send(f"{verb} {thread}", thread=thread))
            with ThreadPoolExecutor(2) as two:
                told = [two.submit(one.send, answers=asks, thread=thread) for one in servers]
                return {each.result(120)[-1]["type"] for each in told}

        with ThreadPoolExecutor(4) as pool:
            ends = list(pool.map(race, range(examples)))
        executed = sorted(servers[0].done)
        assert executed == sorted(f"race-{n}-0@example.com" for n in range(examples))
        assert all("RUN_FINISHED" in end for end in ends)
