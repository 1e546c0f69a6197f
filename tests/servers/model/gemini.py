"""Google's Gemini API, its stream.

Written after Google's API reference: "Generating content", `models.streamGenerateContent`. Each
piece of the text is a response of its own; the last one has the reason why it ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from tests.servers.model.script import Json, Reply, Requested

__all__ = ["MODEL", "Gemini"]

MODEL: Final = "gemini-scripted"
"""The model's name, which is in the address of its requests."""


class Gemini:
    """The dialect: texts alone."""

    path = f"/v1beta/models/{MODEL}:streamGenerateContent"

    def wants_stream(self, requested: Requested) -> bool:
        """See `Dialect`."""
        return True

    def whole(self, requested: Requested, reply: Reply) -> Json:
        """See `Dialect`."""
        return _response("".join(reply.pieces), {"finishReason": "STOP"})

    def said(self, requested: Requested, reply: Reply) -> Iterator[str | None]:
        """See `Dialect`."""
        for number, piece in enumerate(reply.pieces):
            yield _frame(_response(piece, {}))
            if number == 0:
                yield None

    def ended(self, requested: Requested, reply: Reply) -> Iterator[str]:
        """See `Dialect`."""
        yield _frame(_response("", {"finishReason": "STOP"}))


def _response(text: str, more: Json) -> Json:
    content = {"role": "model", "parts": [{"text": text}]}
    return {"candidates": [{"index": 0, "content": content, **more}], "modelVersion": MODEL}


def _frame(response: Json) -> str:
    return f"data: {json.dumps(response, ensure_ascii=False)}\n\n"
