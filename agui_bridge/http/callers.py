"""Who asks, and which agent and thread a request is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request

from agui_bridge.engine.input.agent import Agent
from agui_bridge.errors import Refused
from agui_bridge.hooks import HookThreads
from agui_bridge.http.auth import BearerTokens
from agui_bridge.http.service import Service
from agui_bridge.protocol.threads.records import Principal, ThreadKey
from agui_bridge.surfaces.ids import check_text_id

__all__ = ["agent_of", "asked_of", "check_addressable", "find_agent", "key_of", "principal_of"]

_NO_ENDINGS = ("/connect", "/interrupts", "/stop")
"""What stands below a thread in the paths of `app.routes.ROUTES`."""

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


def check_addressable(field: str, thread: str) -> None:
    """Check that a thread can have paths of its own.

    `a/stop` would be the stop of `a`; `.` and `..` are removed from a path by every client, also
    where they are escaped.

    Raises:
        Refused: INVALID_INPUT.
    """
    if thread in (".", ".."):
        raise Refused(
            "INVALID_INPUT",
            f"{field}: {thread!r} can't be an id: paths have another meaning for it.",
            {"field": field},
        )
    for ending in _NO_ENDINGS:
        if thread.endswith(ending):
            raise Refused(
                "INVALID_INPUT",
                f"{field}: an id may not end in {ending!r}, a path below another thread's.",
                {"field": field},
            )
