"""What a call is answered with: a request for input, or a text that says how it stands.

Source: Model Context Protocol 2026-07-28, "Multi Round-Trip Requests"; "Tools".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import mcp_types as types

from agui_bridge.mcp_server.call_state import CallState, Shown
from agui_bridge.mcp_server.elicitations import form_of
from agui_bridge.mcp_server.service import Caller
from agui_bridge.mcp_server.standing import Progress, Standing
from agui_bridge.protocol.threads.records import Interrupt, Json
from agui_bridge.text.shown import shown_name
from agui_bridge.text.visible import visible

MOST_ROUNDS: Final = 6
"""How often a client comes again for an answer that is given elsewhere; the SDKs allow 10 rounds
of a call, of which others are for forms."""

CallReply = types.CallToolResult | types.InputRequiredResult

Page = Callable[[Interrupt], str | None]
"""Gives the address of a question's page; None where it has none."""

OUTPUT_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "thread": {"type": "string", "description": "The conversation; send it to go on with it."},
        "status": {
            "type": "string",
            "enum": ["done", "waiting", "working", "stopped", "failed", "expired", "unknown"],
        },
        "text": {"type": "string", "description": "What the agent has said."},
        "result": {"description": "What the agent's run gave, if it gave something."},
        "code": {"type": "string", "description": "Why it failed."},
        "questions": {
            "type": "array",
            "description": "What people have to answer.",
            "items": {
                "type": "object",
                "properties": {"message": {"type": "string"}, "url": {"type": "string"}},
                "required": ["message"],
            },
        },
    },
    "required": ["thread", "status"],
}
"""Of `structuredContent`."""

_SAID: Final[Mapping[Progress, str]] = {
    "done": "The agent is done and has said nothing.",
    "working": "The agent is still working.",
    "stopped": "The agent was stopped.",
    "failed": "The agent failed.",
    "expired": "Nobody answered in time, so what was asked for was not carried out. The next "
    "message goes on.",
    "unknown": "There is no such thread.",
}


def ask_for_input(
    standing: Standing, caller: Caller, state: CallState, page: Page, note: str | None
) -> types.InputRequiredResult | None:
    """Ask the client for what a call waits for; None where it can't be asked, or was.

    Args:
        standing: how the call stands.
        caller: what its client can show.
        state: where the call stands.
        page: addresses of questions.
        note: what is to be told with the first of them.
    """
    shown: dict[str, Shown] = dict(state.shown)
    requests: dict[str, types.ElicitRequest] = {}
    for ask in standing.waiting:
        if ask.id in shown:
            continue
        request = _elicitation(ask, caller, page, None if requests else note)
        if request is None:
            shown[ask.id] = "left"
        else:
            requests[ask.id] = request
    after = replace(state, shown=shown)
    if requests:
        return types.InputRequiredResult(input_requests=dict(requests), request_state=after.write())
    opened = any(shown[ask.id] == "opened" for ask in standing.waiting)
    if opened and state.rounds < MOST_ROUNDS:
        again = replace(after, rounds=state.rounds + 1)
        return types.InputRequiredResult(request_state=again.write())
    return None


def _elicitation(
    ask: Interrupt, caller: Caller, page: Page, note: str | None
) -> types.ElicitRequest | None:
    said = f"{note}\n\n" if note else ""
    form = form_of(ask)
    if form is not None and caller.forms:
        return types.ElicitRequest(
            params=types.ElicitRequestFormParams(
                message=said + form.message, requested_schema=dict(form.schema)
            )
        )
    url = page(ask)
    if url is None or not caller.urls:
        return None
    asked = f"{said}{question_of(ask)}\n\nIt is answered on its page."
    return types.ElicitRequest(
        params=types.ElicitRequestURLParams(
            message=asked,
            url=url,
        )
    )


def question_of(ask: Interrupt) -> str:
    """A question in a few words, without what it would let run."""
    words = visible(ask.message or "")
    words = words if len(words) <= 300 else f"{words[:299]}…"
    if ask.tool is None:
        return words or visible(ask.reason)
    about = "May {} run?" if ask.lets_run else "About a call of {}."
    return " ".join(filter(None, (about.format(shown_name(ask.tool)[:200]), words)))


def told(
    standing: Standing,
    status_tool: str,
    page: Page,
    note: str | None = None,
    code: str | None = None,
) -> types.CallToolResult:
    """Say how a call stands.

    Args:
        standing: how it stands.
        status_tool: name of the tool that tells it again.
        page: addresses of questions.
        note: what is to be told first: why something was refused.
        code: the code of a failure; it makes the result an error.
    """
    key, waiting = standing.key, standing.waiting
    content: dict[str, Any] = {"thread": key.thread, "status": standing.progress}
    parts = [note] if note else []
    if standing.text:
        content["text"] = standing.text
        parts.append(standing.text)
    if standing.result is not None:
        content["result"] = standing.result
        if not standing.text:
            parts.append(as_text(standing.result))
    if code is not None:
        content["code"] = code
    if standing.progress == "waiting":
        content["questions"] = [_question(ask, page) for ask in waiting]
        parts.append(_where_to_answer(standing, status_tool, page))
    elif not parts or standing.progress != "done":
        parts.append(_SAID[standing.progress])
    if standing.progress == "working":
        parts.append(_how_to_ask(standing, status_tool))
    return types.CallToolResult(
        content=[types.TextContent(text="\n\n".join(parts))],
        structured_content=content,
        is_error=code is not None or standing.progress in ("failed", "unknown"),
    )


def refused(code: str, message: str) -> types.CallToolResult:
    """An error about a call that has no thread; the model can read it and try again."""
    return types.CallToolResult(
        content=[types.TextContent(text=f"{message} ({code})")],
        is_error=True,
    )


def as_text(value: Json) -> str:
    """A result as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _question(ask: Interrupt, page: Page) -> dict[str, Json]:
    url = page(ask)
    return {"message": question_of(ask), **({} if url is None else {"url": url})}


def _where_to_answer(standing: Standing, status_tool: str, page: Page) -> str:
    lines = ["Nothing is carried out yet: a person has to answer."]
    for ask in standing.waiting:
        url = page(ask)
        place = url or f"the bridge's inbox (question {ask.id})"
        lines.append(f"- {question_of(ask)}\n  Answer at: {place}")
    return "\n".join([*lines, "", _how_to_ask(standing, status_tool)])


def _how_to_ask(standing: Standing, status_tool: str) -> str:
    arguments = json.dumps(
        {"agent": standing.key.agent, "thread": standing.key.thread}, ensure_ascii=False
    )
    return f"To see what came of it, call the tool {status_tool} with {arguments}."
