"""The conversation as LlamaIndex's messages: remembered where it can be, else made of AG-UI's.

AG-UI's messages lack what models want back, such as reasoning with its signatures. After each run
that succeeded the memo holds the messages of the agent's memory, and which messages of the thread
they stand for. What came since is made of the thread's messages; once one of those is gone or
changed (an edit, an answer asked anew), all are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ToolCallBlock,
    VideoBlock,
)

from agui_bridge.adapters import Run
from agui_bridge.media import Media, left_out, media_of
from agui_bridge.protocol.threads.marks import marks_of, unmarked
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Content, Turn, text_of, turns_of

_GO_ON: Final = "Go on."
"""What a model is asked with where the conversation ends in its own words."""


def read_conversation(run: Run) -> list[ChatMessage]:
    """What the model has been told and has said, and what it is asked now; all calls answered."""
    memo, rest = _remembered(run)
    messages = [*loaded(memo.get("messages") or ()), *messages_of(rest)]
    if not messages or messages[-1].role.value == "assistant":
        messages.append(ChatMessage(role="user", content=_GO_ON))
    return messages


def speaker_of(run: Run) -> str | None:
    """The agent of a workflow of several that spoke last; None where nobody knows."""
    found = _remembered(run)[0].get("agent")
    return found if isinstance(found, str) else None


def memo_of(run: Run, said: Iterable[str], messages: Sequence[ChatMessage], agent: Any) -> Json:
    """What to remember of the conversation of a run that succeeded.

    Args:
        run: the run.
        said: ids of the assistant's messages that it told, in their order.
        messages: all of the conversation, as the agent's memory has it.
        agent: name of the agent that spoke last.
    """
    marks = [*marks_of(run.raw_messages), *said]
    return {"marks": marks, "messages": dumped(messages), "agent": agent}


def messages_of(raw: Sequence[Mapping[str, Any]]) -> Iterator[ChatMessage]:
    """AG-UI's messages, as JSON, as LlamaIndex's."""
    for turn in turns_of(raw):
        yield ChatMessage(role=turn.role, blocks=list(_said(turn)))
        for call in turn.calls:
            kwargs = {"tool_call_id": call.id}
            result = text_of(call.result)
            yield ChatMessage(role="tool", content=result, additional_kwargs=kwargs)


def with_words(messages: Sequence[ChatMessage], words: str) -> list[ChatMessage]:
    """The messages, with words before what the user said last; those given stay as they are.

    Args:
        messages: of one request to a model.
        words: see `Application.words`.
    """
    told = list(messages)
    if not words:
        return told
    for place in reversed(range(len(told))):
        if told[place].role.value == "user":
            blocks = [TextBlock(text=f"{words}\n\n"), *told[place].blocks]
            told[place] = told[place].model_copy(update={"blocks": blocks})
            return told
    return [*told, ChatMessage(role="user", content=words)]


def dumped(messages: Iterable[ChatMessage]) -> str:
    """Messages as text: a thread's memo or continuation holds it as one value."""
    return json.dumps([message.model_dump(mode="json") for message in messages])


def loaded(kept: Any) -> list[ChatMessage]:
    """What `dumped` was given."""
    return [ChatMessage.model_validate(one) for one in (json.loads(kept) if kept else ())]


def _remembered(run: Run) -> tuple[dict[str, Any], Sequence[Mapping[str, Any]]]:
    """The memo, if what it is of still stands, and the messages of the thread since."""
    memo = run.memo if isinstance(run.memo, dict) else {}
    rest = unmarked(run.raw_messages, memo.get("marks") or ())
    if rest is None or not isinstance(memo.get("messages"), str):
        return {}, run.raw_messages
    return memo, rest


def _said(turn: Turn) -> Iterator[ContentBlock]:
    yield from _blocks(turn.content)
    for call in turn.calls:
        yield ToolCallBlock(
            tool_call_id=call.id, tool_name=call.name, tool_kwargs=json.loads(call.arguments)
        )


def _blocks(content: Content) -> Iterator[ContentBlock]:
    if isinstance(content, str):
        if content:
            yield TextBlock(text=content)
        return
    for part in content:
        if part.get("type") != "text":
            yield _medium(media_of(part))
        elif part.get("text"):
            yield TextBlock(text=str(part["text"]))


def _medium(media: Media) -> ContentBlock:
    """A picture or file as its bytes or by its address; words stand for what has neither."""
    data, url = media.data, media.url
    if data is None and url is None:
        return TextBlock(text=left_out(media))
    kind = media.media_type or None
    if media.kind == "image":
        return ImageBlock(image=data, url=url, image_mimetype=kind)
    if media.kind == "audio":
        suffix = media.media_type.rpartition("/")[2] or None
        return AudioBlock(audio=data, url=url, format=suffix)
    if media.kind == "video":
        return VideoBlock(video=data, url=url, video_mimetype=kind)
    title = media.name or "document"
    return DocumentBlock(data=data, url=url, title=title, document_mimetype=kind)
