"""The dearest inputs that the limits let through, each as the bytes of one HTTP request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_FILL: Final = 600
"""Characters that a text may have where there are ten thousand of them."""

_MEMBERS: Final = 10_000
_VALUES: Final = 49_900
_PARTS: Final = 2


def _text(number: int) -> str:
    return f"{number:0{_FILL}}"


def _messages() -> dict[str, Any]:
    """Ten thousand messages, in characters of two bytes."""
    members = range(_MEMBERS)
    return {"messages": [{"id": f"{n}", "role": "user", "content": "é" * 330} for n in members]}


def _parts() -> dict[str, Any]:
    """One message of ten thousand pictures."""
    picture = {"type": "data", "value": "x" * _FILL, "mimeType": "image/png"}
    part = {"type": "image", "source": picture, "metadata": {"a": [1]}}
    return {"messages": [{"id": "m", "role": "user", "content": [part] * _MEMBERS}]}


def _last_part_is_wrong() -> dict[str, Any]:
    """Parts of which the last is none: all the others are looked at in order to name it."""
    parts = [*_parts()["messages"][0]["content"][:-1], {"type": "text", "text": 1}]
    return {"messages": [{"id": "m", "role": "user", "content": parts}]}


def _state() -> dict[str, Any]:
    """A state of as many objects as there may be values."""
    return {"state": {"rows": [{"k" * 100: n} for n in range(_VALUES)]}}


def _digits() -> dict[str, Any]:
    """Integers of as many digits as are read: their time grows faster than their length."""
    return {"state": {"rows": [10**999 + n for n in range(8_000)]}}


def _names() -> dict[str, Any]:
    """Members that no input has."""
    return {f"{n:070}": 0 for n in range(2 * _VALUES - 100)}


def _answers() -> dict[str, Any]:
    """Answers to ten thousand questions that were never asked."""
    payload = {"a": [1]}
    members = range(_MEMBERS)
    resume = [{"interruptId": _text(n), "status": "resolved", "payload": payload} for n in members]
    return {"resume": resume}


def _forbidden() -> dict[str, Any]:
    """A state whose very last text may not enter: the way to it is found once more."""
    return {"state": {"rows": [{"é": n} for n in range(_VALUES)], "last": "\x00"}}


_BODIES: Final = {
    "messages": _messages,
    "parts": _parts,
    "last part wrong": _last_part_is_wrong,
    "state": _state,
    "digits": _digits,
    "unknown names": _names,
    "answers": _answers,
    "forbidden text": _forbidden,
}

_READS: Final = {"long thread read": "", "long thread shown": "/connect"}
"""What comes after the thread's path."""

HOSTILE_KINDS: Final = (*_BODIES, "head", *_READS)
"""The kinds: bodies of 8 MiB or of 100,000 values, a head of 64 KiB and a hundred headers, and the
two ways to look at a thread of many megabytes."""


def needs_long_thread(kind: str) -> bool:
    """Whether requests of a kind are about one thread, which `long_thread_requests` make."""
    return kind in _READS


def long_thread_requests(path: str, token: str, thread: str) -> list[bytes]:
    """Inputs that make a thread of 13 MiB, one after the other.

    Args:
        path: of the agent.
        token: of the scope that attacks.
        thread: the conversation.
    """
    bodies = [
        {
            **_plain(thread),
            "messages": [
                {**message, "id": f"{part}-{message['id']}"} for message in _messages()["messages"]
            ],
        }
        for part in range(_PARTS)
    ]
    return [_posted(_encoded(body), path, token) for body in bodies]


def hostile_request(kind: str, path: str, token: str, thread: str) -> bytes:
    """One request of a kind.

    Args:
        kind: of `HOSTILE_KINDS`.
        path: of the agent.
        token: of the scope that attacks.
        thread: the conversation.
    """
    if kind == "head":
        more = [f"X-{n}: {'x' * 640}" for n in range(97)]
        return _head(f"GET {path}/threads", token, *more)
    if kind in _READS:
        return _head(f"GET {path}/threads/{thread}{_READS[kind]}", token)
    return _posted(_encoded({**_plain(thread), **_BODIES[kind]()}), path, token)


def _posted(body: bytes, path: str, token: str) -> bytes:
    length = f"Content-Length: {len(body)}"
    return _head(f"POST {path}", token, "Content-Type: application/json", length) + body


def _head(asked: str, token: str, *more: str) -> bytes:
    lines = [f"{asked} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}"]
    return "\r\n".join([*lines, "Connection: close", *more, "", ""]).encode()


def _plain(thread: str) -> dict[str, Any]:
    message = {"id": "m", "role": "user", "content": "hi"}
    return {
        "threadId": thread,
        "runId": "r",
        "protocolVersion": "1.0",
        "messages": [message],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }


def _encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
