"""Google's Gemini API, its stream.

Written after Google's API reference: "Generating content", `models.streamGenerateContent`, and its
pages "Function calling" and "Thought signatures". Each piece of the text, and each thought, is a
response of its own; the last one has the reason why it ends.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.servers.model.script import Answered, Json, Reply, Requested, ToolUse, signature_of

__all__ = ["MODEL", "Gemini"]

MODEL: Final = "gemini-scripted"
"""The model's name, which is in the address of its requests."""

_USAGE: Final = {
    "promptTokenCount": 4,
    "cachedContentTokenCount": 2,
    "candidatesTokenCount": 3,
    "totalTokenCount": 7,
}
_THOUGHT: Final = {"candidatesTokenCount": 2, "thoughtsTokenCount": 1}


class Gemini:
    """The dialect. The first call of a reply with thoughts is signed."""

    path = f"/v1beta/models/{MODEL}:streamGenerateContent"

    def fault(self, requested: Requested, before: Sequence[Answered]) -> str | None:
        """See `Dialect`."""
        contents = _camel(requested.body["contents"])
        waiting: list[Json] = []
        for place, content in enumerate(contents):
            parts = content.get("parts") or []
            if not parts:
                return f"GenerateContentRequest.contents[{place}].parts: must not be empty"
            results = [part["functionResponse"] for part in parts if "functionResponse" in part]
            if _named(results) != _named(waiting):
                return (
                    "Please ensure that the number of function response parts is equal to the "
                    f"number of function call parts of the function call turn: {place} has "
                    f"{_named(results)} for {_named(waiting)}"
                )
            waiting = [part["functionCall"] for part in parts if "functionCall" in part]
            if waiting and (place == 0 or contents[place - 1]["role"] == "model"):
                return (
                    "Please ensure that function call turn comes immediately after a user turn "
                    "or after a function response turn."
                )
        if waiting:
            return "Please ensure that function call turn is followed by a function response turn."
        return _fault_in_signatures(contents, before)

    def refusal(self, fault: str) -> Json:
        """See `Dialect`."""
        return {"error": {"code": 400, "message": fault, "status": "INVALID_ARGUMENT"}}

    def wants_stream(self, requested: Requested) -> bool:
        """See `Dialect`."""
        return True

    def whole(self, requested: Requested, reply: Reply) -> Json:
        """See `Dialect`."""
        text = [{"text": "".join(reply.pieces)}] if reply.pieces else []
        return _last(reply, [*_thoughts(reply), *text, *_calls(reply)])

    def said(self, requested: Requested, reply: Reply) -> Iterator[str | None]:
        """See `Dialect`."""
        for thought in _thoughts(reply):
            yield _frame(_response([thought]))
        for number, piece in enumerate(reply.pieces):
            yield _frame(_response([{"text": piece}]))
            if number == 0:
                yield None
        calls = _calls(reply)
        # Parallel calls come together, or each by itself; arguments are always whole.
        for some in [[call] for call in calls] if reply.fragment else [calls] if calls else []:
            yield _frame(_response(some))

    def ended(self, requested: Requested, reply: Reply) -> Iterator[str]:
        """See `Dialect`."""
        yield _frame(_last(reply, [{"text": ""}]))


def _thoughts(reply: Reply) -> list[Json]:
    return [{"text": thought, "thought": True} for thought in reply.thoughts]


def _calls(reply: Reply) -> list[Json]:
    parts: list[Json] = []
    for call in reply.calls:
        told: Json = {"name": call.name, "args": json.loads(call.text)}
        part: Json = {"functionCall": told if call.id is None else {**told, "id": call.id}}
        if reply.thoughts and not parts:
            part["thoughtSignature"] = _signature(call)
        parts.append(part)
    return parts


def _signature(call: ToolUse) -> str:
    return signature_of(f"{call.name} {call.text}")


def _fault_in_signatures(contents: Sequence[Json], before: Sequence[Answered]) -> str | None:
    """What is wrong with the signatures since the user's last words, where they are demanded."""
    signed = {
        reply.calls[0].name: _signature(reply.calls[0])
        for _, reply in before
        if reply.thoughts and reply.calls
    }
    asked = [
        place
        for place, content in enumerate(contents)
        if content["role"] == "user" and any("text" in part for part in content["parts"])
    ]
    for place, content in list(enumerate(contents))[asked[-1] :]:
        first = next((part for part in content["parts"] if "functionCall" in part), None)
        if first is None or first["functionCall"]["name"] not in signed:
            continue
        given = first.get("thoughtSignature")
        if given is None:
            return (
                "Function call is missing a thought_signature in functionCall parts: "
                f"contents[{place}]"
            )
        if _bytes(given) != _bytes(signed[first["functionCall"]["name"]]):
            return f"Thought signature is not valid: contents[{place}]"
    return None


def _bytes(signature: str) -> bytes:
    # Clients write either alphabet.
    return base64.urlsafe_b64decode(signature.replace("+", "-").replace("/", "_"))


def _named(calls: Sequence[Json]) -> list[tuple[str, str]]:
    return sorted((call["name"], call.get("id") or "") for call in calls)


def _camel(value: Any) -> Any:
    """A request in one spelling: the API takes `function_call` as well as `functionCall`."""
    if isinstance(value, list):
        return [_camel(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        "".join([first, *map(str.capitalize, others)]): _camel(one)
        if name not in ("args", "response")
        else one
        for name, one in value.items()
        for first, *others in [name.split("_")]
    }


def _response(parts: list[Json], **more: Any) -> Json:
    content = {"role": "model", "parts": parts}
    candidate = {"index": 0, "content": content, **more}
    return {"candidates": [candidate], "modelVersion": MODEL}


def _last(reply: Reply, parts: list[Json]) -> Json:
    usage = {**_USAGE, **(_THOUGHT if reply.thoughts else {})}
    return {**_response(parts, finishReason="STOP"), "usageMetadata": usage}


def _frame(response: Json) -> str:
    return f"data: {json.dumps(response, ensure_ascii=False)}\n\n"
