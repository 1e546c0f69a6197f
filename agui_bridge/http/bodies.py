"""Reading a request's body within the limits."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request

from agui_bridge.errors import Refused
from agui_bridge.http.service import Service
from agui_bridge.protocol.input_limits import beyond
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import Json
from agui_bridge.surfaces.json_text import is_heavy, parse_json

__all__ = ["Body", "form_body", "json_body", "json_body_if_any", "raw_body"]

_BUFFERED: Final = 64 * 1024
"""Bytes that a connection's buffers hold of a body that nobody reads."""

_MOST_FIELDS: Final = 1_000
"""Of a form that a page sends."""

_CHARSET: Final = re.compile(r'charset\s*=\s*"?([^\s;"]+)')


@dataclass(frozen=True, slots=True)
class Body:
    """What a request's body holds.

    Attributes:
        value: the JSON.
        heavy: whether what is done with it takes turns (`HeavyTurns`).
    """

    value: Json
    heavy: bool = False


@contextlib.asynccontextmanager
async def json_body(service: Service, request: Request, scope: str) -> AsyncIterator[Body]:
    """Read a JSON body within the limits, which is in hand for the length of a block.

    Args:
        service: the bridge.
        request: the request.
        scope: the caller's. Nothing is read before that is known.

    Raises:
        Refused: UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT, INVALID_INPUT.
    """
    _check_media_type(request)
    async with service.bodies.hold(scope, _announced(service, request)):
        content = await _read(service, request)
        async with _parsed(service, scope, content) as body:
            yield body


@contextlib.asynccontextmanager
async def json_body_if_any(service: Service, request: Request, scope: str) -> AsyncIterator[Body]:
    """The same; a body without a byte, of whatever type, is an empty object."""
    async with service.bodies.hold(scope, _announced(service, request)):
        content = await _read(service, request)
        if not content:
            yield Body({})
            return
        _check_media_type(request)
        async with _parsed(service, scope, content) as body:
            yield body


@contextlib.asynccontextmanager
async def form_body(
    service: Service, request: Request, scope: str
) -> AsyncIterator[dict[str, list[str]]]:
    """Read what a form of a page sends, which is in hand for the length of a block.

    Gives its values by the fields' names, each line of them ending in a newline alone. What is
    raised is that of `json_body`.
    """
    _check_form_type(request)
    async with service.bodies.hold(scope, _announced(service, request)):
        content = await _read(service, request)
        try:
            text = content.decode("ascii")
            sent = parse_qs(
                text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
            )
        except ValueError:
            raise Refused(
                "INVALID_INPUT",
                f"The form can't be read: it is no UTF-8, or has more than {_MOST_FIELDS} fields.",
            ) from None
        if find_forbidden(sent) is not None:
            raise Refused("INVALID_INPUT", "The form holds a character that no text may.")
        yield {name: [_plain(value) for value in values] for name, values in sent.items()}


@contextlib.asynccontextmanager
async def raw_body(service: Service, request: Request, scope: str) -> AsyncIterator[bytes]:
    """Read a body as it is, to check its signature, within the limits.

    Args:
        service: the bridge.
        request: the request.
        scope: whose budget its bytes count to.

    Raises:
        Refused: PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT.
    """
    async with service.bodies.hold(scope, _announced(service, request)):
        yield await _read(service, request)


def _plain(text: str) -> str:
    """A text as it was typed: browsers send each newline as two characters."""
    return text.replace("\r\n", "\n")


@contextlib.asynccontextmanager
async def _parsed(service: Service, scope: str, content: bytes) -> AsyncIterator[Body]:
    limits = service.settings
    heavy = is_heavy(content)
    async with service.heavy_inputs.hold(scope, int(heavy)):
        async with service.turns.turn(scope, heavy):
            value = parse_json(content, limits.max_depth, max_values=limits.max_values)
        yield Body(value, heavy)


def _check_media_type(request: Request) -> None:
    kind, _, options = request.headers.get("content-type", "").lower().partition(";")
    kind = kind.strip()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Refused(
            "UNSUPPORTED_MEDIA_TYPE",
            "The body must be JSON (`Content-Type: application/json`), not "
            f"{kind[:100] or 'untyped'!r}.",
        )
    charset = _CHARSET.search(options)
    if charset is not None and charset[1] not in ("utf-8", "utf8", "us-ascii"):
        raise Refused("UNSUPPORTED_MEDIA_TYPE", f"JSON is UTF-8, not {charset[1][:100]!r}.")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise Refused(
            "UNSUPPORTED_MEDIA_TYPE",
            f"A compressed body ({encoding[:100]!r}) is not taken: send it as it is.",
        )


def _check_form_type(request: Request) -> None:
    kind = request.headers.get("content-type", "").lower().partition(";")[0].strip()
    if kind != "application/x-www-form-urlencoded":
        raise Refused(
            "UNSUPPORTED_MEDIA_TYPE",
            "A form is sent as application/x-www-form-urlencoded, not "
            f"{kind[:100] or 'untyped'!r}.",
        )


def _announced(service: Service, request: Request) -> int:
    """Bytes that the body may have; 0 where they are so few that a connection's buffers hold them.

    Raises:
        Refused: PAYLOAD_TOO_LARGE, it says itself that it has more.
    """
    limit = service.settings.max_body_bytes
    declared = request.headers.get("content-length", "")
    if not declared.isdecimal():
        return limit if "transfer-encoding" in request.headers else 0
    if (size := int(declared[:20])) > limit:
        raise _too_large(size, limit)
    return size if size > _BUFFERED else 0


async def _read(service: Service, request: Request) -> bytes:
    limit, seconds = service.settings.max_body_bytes, service.settings.body_timeout
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise _too_large(f"over {limit}", limit)
    except TimeoutError:
        raise beyond(
            "REQUEST_TIMEOUT", "the body", found=f"over {seconds}", limit=seconds, unit="seconds",
            setting="body_timeout",
        ) from None  # fmt: skip
    return bytes(body)


def _too_large(found: object, limit: int) -> Refused:
    return beyond(
        "PAYLOAD_TOO_LARGE", "the body", found=found, limit=limit, unit="bytes",
        setting="max_body_bytes",
    )  # fmt: skip
