"""What a tool of an MCP server returned, as the result of a call."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import CallToolResult, TextContent

from agui_bridge.protocol.threads.records import Json


def result_of(result: CallToolResult) -> Json:
    """Make the call's result.

    Args:
        result: what the server sent.

    Returns:
        What a tool says in text as a text. Structured content as it is. `{"error": text}` where
        the tool says that it failed. Else, with pictures, sounds or resources among it,
        `{"content": […], "structuredContent"?: …}` as in MCP, without `_meta`. Links to resources
        stay links: nobody fetches them.
    """
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    text = "\n".join(texts)
    if result.is_error:
        return {"error": text or "The tool says that it failed, and not why."}
    structured = result.structured_content
    if len(texts) < len(result.content):
        blocks = [_plain(block) for block in result.content]
        return {"content": blocks} | (
            {} if structured is None else {"structuredContent": structured}
        )
    if structured is None:
        return text
    # A bare value is wrapped by servers, for structured content is an object, and said as text.
    bare = [*structured.values()] if isinstance(structured, dict) and len(structured) == 1 else []
    if bare and (bare[0] == text or structured.keys() == {"result"}):
        return bare[0]
    if not text or any(_says(text, value) for value in (structured, *bare)):
        return structured
    return {
        "content": [_plain(block) for block in result.content],
        "structuredContent": structured,
    }


def _says(text: str, structured: Any) -> bool:
    """Whether a text only repeats what is there as JSON."""
    try:
        return bool(json.loads(text) == structured)
    except ValueError:
        return False


def _plain(block: Any) -> dict[str, Json]:
    told = block.model_dump(mode="json", by_alias=True, exclude_none=True)
    told.pop("_meta", None)
    return dict(told)
