"""The loop: the model speaks, asks for tools, reads what came of them, and speaks again.

It runs again from its top after each approval, yet the model is not asked again for what it has
said: its text is remembered by `run.stream`, the calls that it asked for by `run.step`, and what
came of them by `run.call` and `run.tool`.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from typing import Any

from ag_ui.core import Message
from pydantic import ValidationError

from agui_bridge import Bridge, CallDenied, FunctionRun, StepFailed
from examples.guide import Answer, Say, serve_with_guide
from examples.llm_tools.chat_model import ChatModel, ToolRequest, Turn
from examples.llm_tools.tools import TOOLS, Tool

bridge = Bridge("memory:")

MAX_ROUNDS = 8
SYSTEM = {"role": "system", "content": "You are a secretary. Use the tools; be brief."}

ChatMessage = dict[str, Any]


@bridge.agent("secretary")
async def secretary(run: FunctionRun) -> str | None:
    """Finds free hours and writes e-mails; each e-mail is approved by you."""
    model = ChatModel.from_environment()
    messages = [SYSTEM, *chat_messages(run.messages)]
    tools = [tool.describe() for tool in TOOLS.values()]
    for round_number in range(MAX_ROUNDS):
        turn = Turn(model)
        text = await run.stream("reply", turn.stream_text(messages, tools))
        requests = await run.step("tool requests", turn.tool_requests)
        if not requests:
            return None
        messages.append({"role": "assistant", "content": text, **as_tool_calls(requests)})
        # All at once: what needs an approval is asked together, the rest is done meanwhile.
        results = await asyncio.gather(
            *(
                carry_out(run, request, key=f"{round_number}.{index}")
                for index, request in enumerate(requests)
            )
        )
        messages += [
            {"role": "tool", "tool_call_id": request["id"], "content": result}
            for request, result in zip(requests, results, strict=True)
        ]
    return f"I stop here: {MAX_ROUNDS} rounds of tools were not enough."


async def carry_out(run: FunctionRun, request: ToolRequest, key: str) -> str:
    """Carry out a call that the model asks for; gives what the model reads of it.

    `key` tells equal calls apart, which run side by side.
    """
    tool = TOOLS.get(request["name"])
    if tool is None:
        return f"There is no tool {request['name']!r}."
    try:
        args = tool.parameters.model_validate_json(request["arguments"] or "{}").model_dump()
    except ValidationError as error:
        return f"The arguments are invalid: {error.json(include_url=False)}"
    try:
        if tool.risky:
            return await ask_first(run, tool, args, key)
        return as_text(await run.call(tool.name, args, tool.fn, key=key))
    except StepFailed as failed:
        return f"The tool failed: {failed.error}."
    except CallDenied as denied:  # if the bridge has a policy
        return f"Not allowed: {denied.reason or denied.cause or 'declined'}."


async def ask_first(run: FunctionRun, tool: Tool, args: dict[str, Any], key: str) -> str:
    """Carry out a risky call if somebody approves it."""
    approval = await run.approve(
        tool.name, args, message=f"Allow {tool.name}?", parameters=tool.parameters, key=key
    )
    if approval.cancelled:
        return f"Not done: nobody decided ({approval.cause})."
    if not approval:
        return f"Not done: the user declined it. Reason: {approval.reason or 'none given'}."
    result = as_text(await run.tool(approval, tool.fn))
    changed = f"The user changed the arguments to {as_text(approval.args)}. "
    return f"{changed if approval.edited else ''}{result}"


def chat_messages(messages: Sequence[Message]) -> list[ChatMessage]:
    """Write the thread's conversation as chat completions want it.

    There a reply is one message, its text and its calls, and the results follow it at once.
    """
    results = {m.tool_call_id: text_of(m) for m in messages if m.role == "tool"}
    chat: list[ChatMessage] = []
    for message in messages:
        if message.role == "user":
            chat.append({"role": "user", "content": text_of(message)})
        elif message.role == "assistant":
            if not chat or chat[-1]["role"] != "assistant":
                chat.append({"role": "assistant", "content": ""})
            chat[-1]["content"] += text_of(message)
            calls = message.tool_calls or []
            if calls:
                chat[-1]["tool_calls"] = [
                    call.model_dump(include={"id", "type", "function"}) for call in calls
                ]
            chat += [
                {"role": "tool", "tool_call_id": call.id, "content": results.get(call.id, "")}
                for call in calls
            ]
    return chat


def text_of(message: Message) -> str:
    """The text of a message, whose content may be in parts."""
    content: Any = message.content or ""
    if isinstance(content, str):
        return content
    return "".join(part.text for part in content if part.type == "text")


def as_tool_calls(requests: Sequence[ToolRequest]) -> dict[str, Any]:
    """Say in the model's own history which calls it asked for."""
    calls = [{"name": r["name"], "arguments": json_or_nothing(r["arguments"])} for r in requests]
    return {
        "tool_calls": [
            {"id": request["id"], "type": "function", "function": call}
            for request, call in zip(requests, calls, strict=True)
        ]
    }


def json_or_nothing(arguments: str) -> str:
    """Leave arguments as they are, unless they are no JSON, on which some servers fail."""
    try:
        json.loads(arguments)
    except ValueError:
        return "{}"
    return arguments


def as_text(value: Any) -> str:
    """Write a tool's result as the model reads it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def main() -> None:
    """Serve the agent, and print what to try."""
    if not os.environ.get("MODEL"):
        raise SystemExit("Set MODEL, and OPENAI_BASE_URL and OPENAI_API_KEY; see the README.")
    serve_with_guide(
        bridge,
        "secretary",
        Say(
            "The model looks hours up, and wants to send an e-mail: the run pauses.",
            "Write to ann@example.com which hours I have on Monday.",
        ),
        Answer("Approve the e-mail.", {"approved": True}),
    )


if __name__ == "__main__":
    main()
