"""The example as real processes on one store: a restart, a race, and a kill within the tool."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.mails import MailServer, asks_of, mail_servers

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], MailServer]]:
    with mail_servers("examples.pydantic_ai", tmp_path) as started:
        yield started


def test_a_pause_outlives_its_process_and_two_others_execute_its_answer_once(
    start: Callable[[], MailServer],
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
    start: Callable[[], MailServer],
) -> None:
    first, second = start(), start()
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
