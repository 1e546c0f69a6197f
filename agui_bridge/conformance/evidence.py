"""The requests and events in question, short enough for a report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from agui_bridge.conformance.wire import Answer

__all__ = ["last_exchanges", "shortened"]

_EXCHANGES: Final = 2
_TEXT: Final = 80
_ITEMS: Final = 3
_LINE: Final = 300
_LEFT_OUT: Final = frozenset({"timestamp", "rawEvent"})


def shortened(what: str, value: Any) -> str:
    """One line that shows a JSON value: long texts, lists and lines are cut, and say so.

    Args:
        what: goes before it.
        value: an event, an input, a part of one.
    """
    line = f"{what} {json.dumps(_cut(value), ensure_ascii=False)}"
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"


def last_exchanges(answers: Sequence[Answer]) -> tuple[str, ...]:
    """What was sent last on the thread that was used last, and what came back.

    If that was one request alone, the one before it on another thread is told too.

    Args:
        answers: of one check, on any threads, in the order in which they ended.
    """
    if not answers:
        return ()
    thread = answers[-1].sent.get("threadId")
    own = [answer for answer in answers if answer.sent.get("threadId") == thread]
    told = (own if len(own) >= _EXCHANGES else answers)[-_EXCHANGES:]
    return tuple(line for answer in told for line in _lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    yield shortened("sent", _said(answer.sent))
    ends = answer.of("RUN_FINISHED", "RUN_ERROR") or answer.events
    if answer.status >= 400:
        body = bytes(answer.raw).decode(errors="replace")
        yield shortened(f"came HTTP {answer.status}", body)
    elif ends:
        yield shortened("came", ends[-1])
    else:
        yield f"came HTTP {answer.status}, no event" if answer.status else "came nothing"
    if answer.broken:
        yield f"then {answer.broken}"


def _said(sent: Mapping[str, Any]) -> Any:
    """The answers of an input, or the message that it ends with."""
    if "resume" in sent:
        return {"resume": sent["resume"]}
    messages = sent.get("messages")
    if isinstance(messages, list) and messages:
        return {"message": messages[-1], **_declared(sent)}
    return dict(sent)


def _declared(sent: Mapping[str, Any]) -> dict[str, Any]:
    """What a check of versions changes in an input."""
    version = sent.get("protocolVersion")
    return {} if version == "1.0" else {"protocolVersion": version}


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _TEXT else f"{value[:_TEXT]}…"
    if isinstance(value, Mapping):
        return {key: _cut(item) for key, item in value.items() if key not in _LEFT_OUT}
    if isinstance(value, list | tuple):
        left = len(value) - _ITEMS
        return [*map(_cut, value[:_ITEMS]), *([f"… {left} more"] if left > 0 else [])]
    return value
