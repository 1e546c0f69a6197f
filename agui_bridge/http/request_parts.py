"""The parts of a request: its query, its caller, what it names, and its body within the limits."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request

from agui_bridge.engine.input.submission import Agent
from agui_bridge.errors import Refused
from agui_bridge.hooks import HookThreads
from agui_bridge.http.auth import BearerTokens
from agui_bridge.http.service import Service
from agui_bridge.protocol.json_values import beyond, find_forbidden
from agui_bridge.protocol.threads.records import Json, Principal, ThreadKey
from agui_bridge.surfaces.reading import check_text_id, is_heavy, parse_json

# --- the parameters of a query ---

_WHOLE: Final = re.compile("[0-9]{1,9}")
_POSITION: Final = re.compile("[0-9]{1,19}")
_SECONDS: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,20})?(e-[0-9]{1,3})?")


def whole(request: Request, name: str, default: int, most: int) -> int:
    """A whole number from 1.

    Raises:
        Refused: INVALID_INPUT.
    """
    value = request.query_params.get(name)
    if value is None:
        return default
    if not (_WHOLE.fullmatch(value) and 1 <= int(value) <= most):
        raise Refused("INVALID_INPUT", f"{name}: must be a whole number from 1 to {most}.")
    return int(value)


def position(request: Request, name: str) -> int | None:
    """A position in a thread, as an answer before gave it, if it is there.

    Raises:
        Refused: INVALID_INPUT.
    """
    value = request.query_params.get(name)
    if value is None:
        return None
    if not (_POSITION.fullmatch(value) and int(value) < 2**63):
        raise Refused("INVALID_INPUT", f"{name}: must be what `earlier` of an answer says.")
    return int(value)


def seconds(request: Request, name: str) -> float | None:
    """A time, or a length of time, if it is there.

    Raises:
        Refused: INVALID_INPUT.
    """
    value = request.query_params.get(name)
    if value is None:
        return None
    if not _SECONDS.fullmatch(value):
        raise Refused("INVALID_INPUT", f"{name}: must be a number of seconds.")
    return float(value)


def flag(request: Request, name: str) -> bool:
    """Whether something is switched on; by default it is not.

    Raises:
        Refused: INVALID_INPUT.
    """
    value = request.query_params.get(name, "false")
    if value not in ("true", "1", "false", "0"):
        raise Refused("INVALID_INPUT", f"{name}: must be true or false.")
    return value in ("true", "1")


# --- who asks, and which agent and thread a request is about ---

_OF_CREDENTIALS: Final[Mapping[int, str]] = {
    400: "UNAUTHENTICATED",
    401: "UNAUTHENTICATED",
    403: "FORBIDDEN",
}
"""The codes of what an `authenticate` hook may raise as an HTTPException, by its status."""

_SIGN_IN: Final = HookThreads("sign-in")


async def principal_of(service: Service, request: Request) -> Principal:
    """Who asks; without an `authenticate` hook everybody is the same principal.

    Raises:
        Refused: the hook lets nobody in.
        HTTPException: it failed with a status that says nothing of the credentials.
        TypeError: it gave something other than a Principal.
    """
    if service.authenticate is None:
        return Principal()
    try:
        found: object
        if isinstance(service.authenticate, BearerTokens):
            # It only looks a digest up, sooner than a thread would begin.
            found = service.authenticate(request)
        else:
            found = await _SIGN_IN.call(service.authenticate, request)
    except HTTPException as error:
        # What a dependency of the host's own app raises. Only what says that the credentials are
        # bad may look so: at a 401 a client throws them away.
        code = _OF_CREDENTIALS.get(error.status_code)
        if code is None:
            raise
        raise Refused(code, str(error.detail)) from error
    if not isinstance(found, Principal):
        raise TypeError(f"authenticate should return a Principal, not {type(found).__name__}")
    return found


def agent_of(service: Service, request: Request) -> Agent:
    """The agent that the path names.

    Raises:
        Refused: AGENT_NOT_FOUND.
    """
    return find_agent(service, request.path_params["agent"])


def find_agent(service: Service, name: str) -> Agent:
    """The agent of a name.

    Raises:
        Refused: AGENT_NOT_FOUND.
    """
    agent = service.agents.get(name)
    if agent is None:
        known = ", ".join(sorted(service.agents)) or "none"
        raise Refused("AGENT_NOT_FOUND", f"There is no agent {name[:100]!r}; there are: {known}.")
    return agent


async def asked_of(service: Service, request: Request) -> tuple[Principal, Agent, ThreadKey]:
    """The caller, and the agent and the thread that the path names, in the caller's scope.

    Raises:
        Refused: as above; INVALID_INPUT for an id that no thread can have.
    """
    principal = await principal_of(service, request)
    agent = agent_of(service, request)
    return principal, agent, key_of(service, principal, agent, request.path_params["thread"])


def key_of(service: Service, principal: Principal, agent: Agent, thread: str) -> ThreadKey:
    """The key of a thread that a request names outside of an input.

    Raises:
        Refused: INVALID_INPUT for an id that no thread can have.
    """
    check_text_id("thread", thread, service.settings.max_id_bytes)
    return ThreadKey(principal.scope, agent.name, thread)


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
async def raw_body(
    service: Service, request: Request, scope: str, most: int | None = None
) -> AsyncIterator[bytes]:
    """Read a body as it is, to check its signature, within the limits.

    Args:
        service: the bridge.
        request: the request.
        scope: whose budget its bytes count to.
        most: bytes that it may have, where that is less than any body may have.

    Raises:
        Refused: PAYLOAD_TOO_LARGE, REQUEST_TIMEOUT.
    """
    async with service.bodies.hold(scope, _announced(service, request, most)):
        yield await _read(service, request, most)


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


def _announced(service: Service, request: Request, most: int | None = None) -> int:
    """Bytes that the body may have; 0 where they are so few that a connection's buffers hold them.

    Raises:
        Refused: PAYLOAD_TOO_LARGE, it says itself that it has more.
    """
    limit = _limit(service, most)
    declared = request.headers.get("content-length", "")
    if not declared.isdecimal():
        return limit if "transfer-encoding" in request.headers else 0
    if (size := int(declared[:20])) > limit:
        raise _too_large(size, limit, most)
    return size if size > _BUFFERED else 0


async def _read(service: Service, request: Request, most: int | None = None) -> bytes:
    limit, seconds = _limit(service, most), service.settings.body_timeout
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise _too_large(f"over {limit}", limit, most)
    except TimeoutError:
        raise beyond(
            "REQUEST_TIMEOUT", "the body", found=f"over {seconds}", limit=seconds, unit="seconds",
            setting="body_timeout",
        ) from None  # fmt: skip
    return bytes(body)


def _limit(service: Service, most: int | None) -> int:
    limit = service.settings.max_body_bytes
    return limit if most is None else min(most, limit)


def _too_large(found: object, limit: int, most: int | None) -> Refused:
    if limit == most:
        # No setting makes it more.
        text = f"the body: {found} bytes; at most {limit} are allowed here."
        return Refused("PAYLOAD_TOO_LARGE", text)
    return beyond(
        "PAYLOAD_TOO_LARGE", "the body", found=found, limit=limit, unit="bytes",
        setting="max_body_bytes",
    )  # fmt: skip
