"""Wire events and messages, and histories folded from them."""

from typing import Any

from agui_bridge.protocol.threads.history import STRIDE, History, StoredMessage

Wire = dict[str, Any]


def stored(*messages: Wire) -> list[StoredMessage]:
    return [StoredMessage(m["id"], n * STRIDE, m) for n, m in enumerate(messages, 1)]


def fold(*events: Wire, messages: tuple[Wire, ...] = (), state: Any = None) -> History:
    history = History(stored(*messages), state)
    for event in events:
        history.apply(event)
    return history


def text_start(message_id: str = "m", **rest: Any) -> Wire:
    return {"type": "TEXT_MESSAGE_START", "messageId": message_id, **rest}


def text(delta: str, message_id: str = "m", **rest: Any) -> Wire:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": delta, **rest}


def text_end(message_id: str = "m", **rest: Any) -> Wire:
    return {"type": "TEXT_MESSAGE_END", "messageId": message_id, **rest}


def call_start(call_id: str = "c", parent: str | None = None, **rest: Any) -> Wire:
    start = {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": "tool", **rest}
    return start if parent is None else {**start, "parentMessageId": parent}


def call_args(delta: str, call_id: str = "c", **rest: Any) -> Wire:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": delta, **rest}


def call_end(call_id: str = "c", **rest: Any) -> Wire:
    return {"type": "TOOL_CALL_END", "toolCallId": call_id, **rest}


def result(call_id: str, message_id: str, **rest: Any) -> Wire:
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": message_id,
        "toolCallId": call_id,
        "content": "ok",
        "role": "tool",
        **rest,
    }


def call(call_id: str = "c", arguments: str = "", **rest: Any) -> Wire:
    function = {"name": "tool", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function, **rest}


USER: Wire = {"id": "u", "role": "user", "content": "hi"}
CALLER: Wire = {"id": "a", "role": "assistant", "toolCalls": [call("c", "{}"), call("d", "{}")]}


def is_stored(history: History) -> bool:
    """Whether nothing that has finished is left to be taken."""
    return history.is_stored(lambda: None)
