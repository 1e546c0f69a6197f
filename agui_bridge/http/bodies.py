"""Reading a request's body within the limits."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from starlette.requests import Request

from agui_bridge.errors import Refused
from agui_bridge.http.service import Service
from agui_bridge.protocol.input_limits import beyond
from agui_bridge.protocol.threads.records import Json
from agui_bridge.surfaces.json_text import parse_json

__all__ = ["read_json", "read_json_if_any"]

_LARGE: Final = 256 * 1024
"""Bytes of a body that takes noticeable time."""

_CHARSET: Final = re.compile(r'charset\s*=\s*"?([^\s;"]+)')


async def read_json(service: Service, request: Request) -> Json:
    """Read a JSON body within the limits.

    Raises:
        Refused: UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT, INVALID_INPUT.
    """
    _check_media_type(request)
    return await _parsed(service, await _body(service, request))


async def read_json_if_any(service: Service, request: Request) -> Json:
    """The same; a body without a byte, of whatever type, is an empty object."""
    body = await _body(service, request)
    if not body:
        return {}
    _check_media_type(request)
    return await _parsed(service, body)


async def _parsed(service: Service, body: bytes) -> Json:
    limits = service.settings
    parsed = parse_json(body, limits.max_depth, max_values=limits.max_values)
    if len(body) > _LARGE:
        # What is done with it takes as long again: others have their turn before.
        await asyncio.sleep(0)
    return parsed


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


async def _body(service: Service, request: Request) -> bytes:
    limit, seconds = service.settings.max_body_bytes, service.settings.body_timeout
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise _too_large(int(declared[:20]), limit)
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
