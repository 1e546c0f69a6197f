"""What the model is asked with: the user's messages, after what its session lacks besides."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

from agui_bridge.media import left_out, media_of
from agui_bridge.protocol.turns import Content, Turn, text_of, turns_of

Block = dict[str, Any]
"""A content block of Anthropic's Messages API."""

_BEFORE: Final = (
    "The conversation before, of which your session knows nothing. It is told for you to go on "
    "with it: what was asked there is done or given up.\n<conversation>\n{}\n</conversation>"
)
_CUT_OFF: Final = (
    "Of the conversation your session lacks this.\n<conversation>\n{}\n</conversation>"
)
_GO_ON: Final = "Go on."


def blocks_of(messages: Sequence[Mapping[str, Any]], words: str, *, known: bool) -> list[Block]:
    """What to ask the model with.

    Args:
        messages: those of the thread that its session lacks, as JSON.
        words: what the application says; see `Application.words`.
        known: whether there is a session, which has all that came before them.
    """
    turns = turns_of(messages)
    last = turns.pop() if turns and turns[-1].role == "user" else None
    before = [turn for turn in turns if turn.role != "system"]
    made: list[Block] = []
    if before:
        told = "\n".join(map(_line, before))
        made.append({"type": "text", "text": (_CUT_OFF if known else _BEFORE).format(told)})
        made += [block for turn in before for block in _files(turn.content)]
    if words:
        made.append({"type": "text", "text": words})
    made += _blocks(last.content) if last is not None else [{"type": "text", "text": _GO_ON}]
    return made


async def prompt_of(blocks: Sequence[Block]) -> AsyncIterator[dict[str, Any]]:
    """A message as `ClaudeSDKClient.query` takes it."""
    message = {"role": "user", "content": list(blocks)}
    yield {"type": "user", "message": message, "parent_tool_use_id": None}


def _line(turn: Turn) -> str:
    """A turn as one line, in which no text can end the conversation."""
    said: dict[str, Any] = {"role": turn.role, "said": text_of(turn.content)}
    if turn.calls:
        said["called"] = [
            {"tool": call.name, "arguments": call.arguments, "result": text_of(call.result)}
            for call in turn.calls
        ]
    return json.dumps(said, ensure_ascii=False).replace("<", "\\u003c")


def _blocks(content: Content) -> Iterator[Block]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
        return
    for part in content:
        yield {"type": "text", "text": str(part["text"])} if _is_text(part) else _file(part)


def _files(content: Content) -> Iterator[Block]:
    if not isinstance(content, str):
        yield from (_file(part) for part in content if not _is_text(part))


def _is_text(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "text"


def _file(part: Mapping[str, Any]) -> Block:
    media = media_of(part)
    kind = "image" if media.kind == "image" else "document"
    if media.kind in ("image", "document") and media.by == "url":
        return {"type": kind, "source": {"type": "url", "url": media.value}}
    if media.data is not None and (kind == "image" or media.media_type == "application/pdf"):
        source = {"type": "base64", "media_type": media.media_type, "data": media.value}
        return {"type": kind, "source": source}
    return {"type": "text", "text": left_out(media)}
