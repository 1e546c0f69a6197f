"""A model that speaks Responses streams what OpenAI's own types take, in the order of its pages."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import httpx
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tests.servers.model.responses import ResponsesReply
from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel

EVENT: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)


async def ask(model: ScriptedModel, **members: object) -> httpx.Response:
    body = {"model": "m", "input": "hi", **members}
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.post(f"{model.base_url}/responses", json=body)


async def streamed(reply: Reply) -> list[dict[str, Any]]:
    async with ScriptedModel(reply) as model:
        text = (await ask(model, stream=True)).text
    events = [
        json.loads(line.removeprefix("data: "))
        for line in text.splitlines()
        if line.startswith("data: ")
    ]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    for event in events:
        EVENT.validate_python(event)
    return events


async def test_each_item_is_announced_told_in_deltas_repeated_and_closed() -> None:
    reply = ResponsesReply(
        ["I will ", "look."],
        [ToolUse("look", {"at": 1}, "c1"), ToolUse("look", {"at": 2}, "c2")],
        fragment=4,
        thoughts=["Hm."],
    )
    events = await streamed(reply)
    kinds = [kind.removeprefix("response.") for kind, _ in groupby(e["type"] for e in events)]
    call = ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done"]
    assert kinds == [
        *("created", "in_progress", "output_item.added"),
        *("reasoning_summary_part.added", "reasoning_summary_text.delta"),
        *("reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"),
        *("output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.done", "content_part.done", "output_item.done"),
        *(*call, "output_item.done", *call, "output_item.done", "completed"),
    ]
    deltas = [e["delta"] for e in events if e["type"].endswith("arguments.delta")]
    assert "".join(deltas) == '{"at": 1}{"at": 2}'


async def test_an_answer_is_whole_when_no_stream_is_asked_for() -> None:
    call = ToolUse("look", {"at": "it"}, id=None)
    async with ScriptedModel(Reply(text=["a", "b"], calls=[call])) as model:
        answer = Response.model_validate((await ask(model)).json())
    assert answer.output_text == "ab"
    (made,) = [item for item in answer.output if item.type == "function_call"]
    assert (made.name, made.arguments) == ("look", '{"at": "it"}')
