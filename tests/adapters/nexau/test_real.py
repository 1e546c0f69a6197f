"""A real NexAU with a real model, if `NEXAU_URL` names one: a run, a stop, a run with the history.

With a model that does what tests say: `test_phases`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator

import pytest

from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.records import Principal, ThreadKey
from agui_bridge_nexau import NexauAdapter
from tests.support.agents import Bench, Reader, outcome

URL = os.environ.get("NEXAU_URL", "")

pytestmark = pytest.mark.skipif(
    not URL or "NEXAU_MODEL_PORT" in os.environ,
    reason="only on machines with NexAU, which no registry has, and a model: NEXAU_URL names it",
)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    adapter = NexauAdapter(URL)
    yield Bench(adapter)
    await adapter.aclose()


def begin(bench: Bench, thread: str, *texts: str) -> Reader:
    messages = [{"id": text, "role": "user", "content": text} for text in texts]
    body = {"threadId": thread, "runId": "r", "protocolVersion": "1.0", "messages": messages}
    call = Submission(bench.agent, Principal(), parse_input(body), "continue")
    return Reader(*bench.engine.submit(call))


async def test_a_run_streams_and_the_next_one_has_its_history(bench: Bench) -> None:
    thread = uuid.uuid4().hex
    assert outcome(await begin(bench, thread, "Remember the word plover.").rest()) == "success"
    reader = begin(bench, thread, "Which word did I name?")
    assert outcome(await reader.rest()) == "success"
    assert reader.text


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
async def test_a_run_is_stopped_and_the_session_goes_on(bench: Bench, force: bool) -> None:
    thread = uuid.uuid4().hex
    reader = begin(bench, thread, "Count slowly from one to five hundred, in words.")
    await reader.until("TEXT_MESSAGE_CONTENT")
    key = ThreadKey("default", "agent", thread)
    assert (await bench.engine.stop(key, force=force)).status == "success"
    assert outcome(await reader.rest()) == "cancelled"
    assert outcome(await begin(bench, thread, "Stop counting. Say yes.").rest()) == "success"
