"""A browser's own EventSource on a thread: it needs no client at all."""

from __future__ import annotations

import json
import secrets
from typing import Any, Final

import httpx
from playwright.sync_api import BrowserContext

from tests.e2e.target import Target
from tests.support.folds import fold
from tests.support.streams import check_stream

FOLLOW: Final = """(url) => new Promise((resolve) => {
  const source = new EventSource(url), events = [];
  source.onmessage = ({ data }) => {
    events.push(data);
    if (!["RUN_FINISHED", "RUN_ERROR"].includes(JSON.parse(data).type)) return;
    source.close();
    resolve(events);
  };
  source.onerror = () => source.readyState === EventSource.CLOSED && resolve(null);
})"""
"""As docs/reconnecting.md has it."""


def follow(window: BrowserContext, target: Target, thread: str) -> list[dict[str, Any]] | None:
    """The events that a page gets; None when it gives up, as it does at a 404."""
    page = window.new_page()
    page.goto(f"http://127.0.0.1:{target.port}/healthz")
    told = page.evaluate(FOLLOW, f"{target.url}/threads/{thread}/connect")
    page.close()
    return None if told is None else [json.loads(event) for event in told]


def test_it_follows_a_run_to_its_end(window: BrowserContext, target: Target) -> None:
    thread = f"thread-{secrets.token_hex(4)}"
    body = {
        "threadId": thread,
        "runId": "r",
        "messages": [{"id": "m1", "role": "user", "content": "slow 40"}],
    }
    with httpx.stream("POST", target.url, json=body, timeout=60) as running:
        # So that the run has begun.
        lines = running.iter_lines()
        while "TEXT_MESSAGE_CONTENT" not in next(lines):
            pass
        events = follow(window, target, thread)
    assert events is not None
    check_stream(events)
    assert [event["type"] for event in events].count("TEXT_MESSAGE_CONTENT") > 1
    assert events[-1]["outcome"] == {"type": "success"}
    messages = fold(*events).messages
    assert messages == target.thread(thread)["messages"]
    assert messages[-1]["content"] == "".join(f"{number} " for number in range(40))
    # And once more, as it does by itself where it is not closed.
    again = follow(window, target, thread)
    assert again is not None
    assert fold(*again).messages == messages


def test_it_gives_up_where_there_is_no_thread(window: BrowserContext, target: Target) -> None:
    assert follow(window, target, "nowhere") is None
