"""Chunks that no recording has: what a scripted model does not say, and what nobody knows yet."""

from __future__ import annotations

import json

import pytest

from tests.adapters.mastra.replay import Server
from tests.adapters.mastra.scripted import FINISH, Talk, agent, nothing_suspended, stream


async def test_reasoning_is_told_apart_from_text() -> None:
    talk = Talk(
        Server(
            stream(
                agent("reasoning-start", id="r"),
                agent("reasoning-delta", id="r", text="Hm."),
                agent("reasoning-end", id="r"),
                agent("text-delta", id="t", text="So."),
                FINISH,
            )
        )
    )

    assert await talk.say("hello") == "So."
    kinds = [e["type"] for e in talk.events]
    assert [k for k in kinds if "REASONING" in k] == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
    ]


async def test_calls_without_streamed_arguments_errors_of_tools_and_data_come_through() -> None:
    talk = Talk(
        Server(
            stream(
                agent("tool-call", toolCallId="c", toolName="look", args={"at": "ü"}),
                agent("tool-output", toolCallId="c", toolName="look", output={"half": True}),
                agent("tool-error", toolCallId="c", toolName="look", error={"stack": "at x.mjs"}),
                agent("unheard-of", more=1),
                FINISH,
            )
        )
    )
    await talk.say("hello")

    found = {e["type"]: e for e in talk.events}
    custom = {e["name"]: e["value"] for e in talk.events if e["type"] == "CUSTOM"}
    assert json.loads(found["TOOL_CALL_ARGS"]["delta"]) == {"at": "ü"}
    assert custom == {"mastra:tool-output": {"half": True}, "mastra:unheard-of": {"more": 1}}
    assert found["TOOL_CALL_RESULT"]["content"] == "The tool failed."
    assert found["RUN_FINISHED"]["outcome"] == {"type": "success"}


async def test_a_guard_that_has_the_agent_try_again_ends_nothing() -> None:
    talk = Talk(
        Server(
            stream(
                agent("tripwire", reason="too rude", retry=True),
                agent("text-delta", id="t", text="Politely."),
                FINISH,
            )
        )
    )

    assert await talk.say("hello") == "Politely."
    assert talk.events[-1]["outcome"] == {"type": "success"}


async def test_what_a_model_cites_and_draws_is_told_without_ids_of_the_inside() -> None:
    source = {
        "id": "s1",
        "sourceType": "url",
        "url": "https://x.test",
        "providerMetadata": {"a": 1},
    }
    talk = Talk(
        Server(
            stream(
                agent("source", **source),
                agent("file", mimeType="image/png", base64="AAAA"),
                agent("goal", objective="win", runId="theirs", results=[{"error": "at x.mjs"}]),
                FINISH,
            )
        )
    )
    await talk.say("hello")

    custom = {e["name"]: e["value"] for e in talk.events if e["type"] == "CUSTOM"}
    assert custom == {
        "mastra:source": {"id": "s1", "sourceType": "url", "url": "https://x.test"},
        "mastra:file": {"mimeType": "image/png", "base64": "AAAA"},
        "mastra:goal": {"objective": "win", "results": [{}]},
    }


async def test_a_chunk_of_an_unknown_type_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    new = agent("brand-new-chunk", runId="theirs", stack="at x.mjs", fine=1)
    for _ in range(2):
        talk = Talk(Server(stream(new, new, FINISH)))
        await talk.say("hello")
        told = [e["value"] for e in talk.events if e["type"] == "CUSTOM"]
        assert told == [{"fine": 1}, {"fine": 1}]

    assert [line for line in caplog.messages if "brand-new-chunk" in line] == [
        "a chunk 'brand-new-chunk' of Mastra's is of a type that this adapter does not know: its "
        "version may be newer"
    ]


async def test_an_aborted_run_is_told_as_such() -> None:
    talk = Talk(Server(stream(agent("abort")), nothing_suspended))
    await talk.say("hello")

    assert talk.error[1].startswith("The run was aborted in Mastra")
