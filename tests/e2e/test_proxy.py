"""pydantic-ai's own AG-UI endpoint behind `agui-bridge proxy`: what it lacks, the bridge has."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.proxy_pydantic_ai.race import race
from tests.e2e.clients import OpenPage, cancelled, resolved
from tests.e2e.proxy import Proxy
from tests.support.pydantic_ai import PydanticAIProcess
from tests.support.target import approve

APPROVE = {"approved": True}
Start = Callable[..., Proxy]


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PydanticAIProcess]:
    process = PydanticAIProcess(tmp_path_factory.mktemp("peer"))
    process.start()
    yield process
    process.kill()


@pytest.fixture
def start(peer: PydanticAIProcess, tmp_path: Path) -> Iterator[Start]:
    """Starts proxies before the peer, all on one store."""
    with contextlib.ExitStack() as started:
        yield lambda *options, **more: started.enter_context(
            Proxy(tmp_path, peer.url, peer.effects_file, *options, **more)
        )


@pytest.fixture(scope="module")
def proxy(peer: PydanticAIProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """One for the tests that need no more; each has threads of its own."""
    folder = tmp_path_factory.mktemp("proxy")
    with Proxy(folder, peer.url, peer.effects_file) as shared:
        yield shared


def test_two_answers_at_once_execute_twice_there_and_once_behind_two_proxies(
    peer: PydanticAIProcess, start: Start
) -> None:
    assert race([peer.url], peer.effects_file) == 2
    urls = [start().url, start().url]
    for _ in range(5):
        assert race(urls, peer.effects_file, answers=6) == 1


def test_a_page_is_asked_answers_and_goes_on(open_page: OpenPage, proxy: Proxy, name: str) -> None:
    page = open_page(proxy)
    page.say(f"send {name}")
    (ask,) = page.pending
    assert not ask["id"].startswith("int-"), "pydantic-ai's own id"
    reloaded = open_page(proxy)
    refused = reloaded.say("hello?")
    assert (refused.refused, reloaded.pending) == ("INTERRUPT_PENDING", page.pending)
    answered = reloaded.answer(resolved(ask, APPROVE))
    assert [content for _, content in answered.results] == [f"sent to {name}-0@example.com"]
    again = page.answer(resolved(ask, APPROVE))
    assert (again.refused, again.outcome, again.results) == (None, "success", [])
    late = page.answer(cancelled(ask))
    assert late.refused == "INTERRUPT_ALREADY_ANSWERED"
    page.say("hello")
    assert page.last_text == "You said: hello"
    assert len(proxy.executed(name)) == 1


@pytest.mark.parametrize("payload", [{"approved": "true"}, {"approved": 1}, {}, "yes"], ids=repr)
def test_what_is_no_approval_executes_nothing_and_the_question_stays(
    proxy: Proxy, name: str, payload: Any
) -> None:
    (ask,) = proxy.send(name, f"send {name}").interrupts
    entry = {**approve(ask), "payload": payload}
    refused = proxy.send(name, resume=[entry])
    assert (refused.code, refused.interrupts) == ("INVALID_RESUME_PAYLOAD", [ask])
    unknown = proxy.send(name, resume=[{**approve(ask), "interruptId": "int-x"}])
    assert unknown.code == "INTERRUPT_NOT_FOUND"
    elsewhere = proxy.send(f"{name}-other", resume=[approve(ask)])
    assert elsewhere.code == "INTERRUPT_NOT_FOUND"
    assert proxy.executed(name) == []
    assert proxy.send(name, resume=[approve(ask)]).outcome == "success"
    assert len(proxy.executed(name)) == 1


def test_two_calls_are_decided_together_one_edited_one_declined(proxy: Proxy, name: str) -> None:
    first, second = proxy.send(name, f"both {name}").interrupts
    partial = proxy.send(name, resume=[approve(first)])
    assert (partial.code, partial.interrupts) == ("INTERRUPT_NOT_COVERED", [first, second])
    edited = {"to": f"{name}-edited@example.com", "body": "edited"}
    declined = {**approve(second), "payload": {"approved": False, "reason": "no"}}
    done = proxy.send(name, resume=[approve(first, editedArgs=edited), declined])
    assert done.outcome == "success"
    assert [line["to"] for line in proxy.executed(name)] == [edited["to"]]


def test_a_question_outlives_both_processes_and_an_answer_that_was_not_delivered(
    peer: PydanticAIProcess, start: Start, name: str
) -> None:
    proxy = start()
    (ask,) = proxy.send(name, f"send {name}").interrupts
    proxy.kill()
    peer.kill()
    again = start(port=proxy.port)
    try:
        undelivered = again.send(name, resume=[approve(ask)])
        assert (undelivered.code, undelivered.interrupts) == ("UPSTREAM_ERROR", [ask])
        assert proxy.executed(name) == []
    finally:
        peer.start()
    assert again.send(name, resume=[approve(ask)]).outcome == "success"
    assert start().send(name, resume=[approve(ask)]).outcome == "success"
    assert len(proxy.executed(name)) == 1


def test_what_has_expired_is_refused_and_the_conversation_goes_on(start: Start, name: str) -> None:
    proxy = start("--expires-in", "0.5")
    (ask,) = proxy.send(name, f"send {name}").interrupts
    assert ask["expiresAt"]
    proxy.wait_for_expiry(name)
    assert proxy.send(name, resume=[approve(ask)]).code == "INTERRUPT_EXPIRED"
    assert proxy.send(name, "hello").outcome == "success"
    assert proxy.executed(name) == []
    assert proxy.statuses(name) == ["expired"]


def test_a_stop_ends_the_run_and_keeps_what_was_said(open_page: OpenPage, start: Start) -> None:
    first, second = start(), start()
    page = open_page(first)
    running = page.begin_say("slow 400").until("TEXT_MESSAGE_CONTENT", 3)
    assert second.stop(page.thread)["status"] == "success"
    stopped = page.take(running)
    assert stopped.text.startswith("0 1 2 ") and "399" not in stopped.text
    assert stopped.refused is None
    page.take(page.begin_say("hello"))
    assert page.last_text == "You said: hello"
    said = [m["content"] for m in page.messages if m["role"] == "assistant"]
    assert said[0].startswith("0 1 2 ")


def test_a_stop_while_it_asks_refuses_a_late_approval(proxy: Proxy, name: str) -> None:
    (ask,) = proxy.send(name, f"send {name}").interrupts
    proxy.stop(name)
    assert proxy.send(name, resume=[approve(ask)]).code == "INTERRUPT_ALREADY_ANSWERED"
    assert proxy.send(name, "hello").outcome == "success"
    assert proxy.executed(name) == []
