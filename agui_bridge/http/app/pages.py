"""What stands beside the routes: probes, the playground, and the first page."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Callable
from html import escape
from importlib.resources import files
from pathlib import Path
from shlex import quote
from string import Template
from typing import Final, Literal, NotRequired

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_bridge import __version__
from agui_bridge.errors import ConfigurationError, StoreUnavailable
from agui_bridge.http.endpoint import Endpoint, HostGuard, json_response
from agui_bridge.http.service import Service

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # the one of 3.11 tells pydantic too little
    from typing_extensions import TypedDict


class Health(TypedDict):
    """The process answers."""

    status: Literal["ok"]
    """Always ok."""
    version: str
    """The version of agui-bridge."""


class Readiness(TypedDict):
    """The store answers and takes writes, and new runs are taken."""

    status: Literal["ok"]
    """Always ok."""
    warnings: NotRequired[list[str]]
    """What an operator should know, and that keeps no request away: an older version works on the
    store. Absent where there is nothing."""


async def get_health(service: Service, request: Request) -> Response:
    """`GET /healthz`: the process answers."""
    health: Health = {"status": "ok", "version": __version__}
    return json_response(health)


async def get_readiness(service: Service, request: Request) -> Response:
    """`GET /readyz`: the store answers and takes writes, and new runs are taken."""
    engine = await service.open()
    if engine.closing:
        raise StoreUnavailable("shutting down")
    await engine.threads.writes.look()
    ready: Readiness = {"status": "ok"}
    if older := await service.older_servers():
        ready["warnings"] = list(older)
    return json_response(ready)


# --- the playground at `/playground`: a page on which to try the agents and see every event ---
#
# The page is `agui-inspector`'s; it is for developers, and off unless the bridge has
# `playground=True`. It holds no data but the agents' names, so that it needs no
# credentials: what it asks of the agents does, as from everywhere else.
#
# Its script reads JSON as browsers do, which hides characters and rounds numbers. So what an
# approval lets run stands in the question's own words, made here, and what the script makes of the
# call's arguments is not shown beside it.

PLAYGROUND: Final = "/playground"
"""Where the page stands."""

_STYLE: Final = files("agui_bridge.http.app").joinpath("playground.css").read_bytes()


def playground_routes(service: Service, guard: HostGuard) -> list[BaseRoute]:
    """The page's routes.

    Args:
        service: the bridge.
        guard: refuses requests by their host and origin.

    Raises:
        ConfigurationError: `agui-inspector` is not installed.
    """
    try:
        from agui_inspector import Agent, mount_inspector
    except ImportError as error:
        raise ConfigurationError(
            f"playground=True needs agui-inspector ({error.name or error} is missing). "
            'Install it: pip install "agui-bridge[playground]"'
        ) from error

    def make(root: str) -> Starlette:
        agents = [
            # The page finds them from the top of its origin, and so below where this is mounted.
            # It drops a question once an error follows, so a refusal is told in the question.
            Agent(name, f"{root}/agents/{name}?refusals=ask&tell=calls")
            for name in service.agents
        ]
        made = Starlette(middleware=[Middleware(_Styled)])
        mount_inspector(made, agents=agents, enabled=True, path=PLAYGROUND)
        return made

    endpoint = Endpoint(service, _Page(make), guard)
    return [
        Route(PLAYGROUND, endpoint, include_in_schema=False),
        Route(f"{PLAYGROUND}/{{asset:path}}", endpoint, include_in_schema=False),
    ]


class _Styled:
    """Adds rules to the page's own style, which is read whole or not at all."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                length = int(headers["content-length"]) + len(_STYLE)
                headers["content-length"] = str(length)
            elif not message.get("more_body"):
                message = {**message, "body": message.get("body", b"") + _STYLE}
            await send(message)

        is_style = scope["type"] == "http" and scope["path"].endswith("/app.css")
        await self._app(scope, receive, sent if is_style else send)


class _Page:
    """Gives the page as an app, made anew when the agents or the place of the mount change."""

    def __init__(self, make: Callable[[str], Starlette]) -> None:
        self._make = make
        self._known: tuple[str, tuple[str, ...]] | None = None
        self._app = Starlette()

    async def __call__(self, service: Service, request: Request) -> Starlette:
        root = request.scope.get("root_path", "").rstrip("/")
        known = (root, tuple(service.agents))
        if known != self._known:
            self._known, self._app = known, self._make(root)
        return self._app


# --- the page at `/`, for whoever opens the server in a browser ---
#
# What is here, and how to use it.
#
# It is made of the agents' names and of what is switched on. Where requests must say who asks, it
# is off unless it is wanted, since it tells these names to everybody.

_FOLDER: Final = Path(__file__).parent
_MOST_SHOWN: Final = 100

_CURL: Final = """\
curl -N {url} \\
{sign_in}  -H 'Content-Type: application/json' \\
  -d '{{"threadId": "t-'$(date +%s)'", "runId": "r1",
       "messages": [{{"id": "m1", "role": "user", "content": "Hello"}}]}}'"""

_SIGN_IN: Final = {
    "shell": " --header 'Authorization: Bearer YOUR_TOKEN'",
    "curl": "  -H 'Authorization: Bearer YOUR_TOKEN' \\\n",
    "script": ', headers: { Authorization: "Bearer YOUR_TOKEN" }',
    "element": ' headers={{ Authorization: "Bearer YOUR_TOKEN" }}',
}
"""What tells who asks, where the server wants to know, as each way writes it."""

_PREFIX: Final = re.compile(r"(/[A-Za-z0-9._~-]+)+")


class FirstPage:
    """Makes the page, anew for each request: agents may come later."""

    def __init__(self) -> None:
        self._template = Template((_FOLDER / "first_page.html").read_text(encoding="utf-8"))
        self._style = (_FOLDER / "first_page.css").read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(self._style.encode()).digest()).decode()
        self._headers = {
            "Content-Security-Policy": (
                f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
                "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
            ),
            # It shows the address that was asked for, which is no other reader's.
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }

    async def __call__(self, service: Service, request: Request) -> HTMLResponse:
        """The page, with the address that it was asked for."""
        url = request.url
        base = f"{url.scheme}://{url.netloc}{_prefix(request)}"
        text = self._template.substitute(
            style=self._style,
            version=__version__,
            summary=_summary(len(service.agents)),
            places=_places(service, _prefix(request)),
            agents=_agents(service, base),
            ways=_ways(service, base),
        )
        return HTMLResponse(text, headers=self._headers)


def _prefix(request: Request) -> str:
    """The path that the server's paths are below: a mount's, or a proxy's that takes it away."""
    root: str = request.scope.get("root_path", "").rstrip("/")
    told = request.headers.get("x-forwarded-prefix", "").rstrip("/")
    # Who runs the server may have given it as root path, too.
    if not _PREFIX.fullmatch(told) or f"{root}/".startswith(f"{told}/"):
        return root
    return told + root


def _summary(count: int) -> str:
    served = f"{count or 'No'} agents are served here by AG-UI. When one of them asks"
    if count == 1:
        served = "One agent is served here by AG-UI. When it asks"
    return f"{served}, people approve, correct or decline, and nothing runs twice."


def _places(service: Service, prefix: str) -> str:
    links = {"openapi.json": "API description", "agents": "Agents as JSON"}
    if service.inbox_page:
        links = {"inbox": "Inbox", **links}
    if service.playground:
        links = {PLAYGROUND[1:]: "Playground", **links}
    # Where a proxy tells no prefix, they lead on from the folder at which it shows this page.
    folder = prefix or "."
    items = "".join(
        f'<li><a href="{escape(folder)}/{path}">{words}</a></li>' for path, words in links.items()
    )
    return f'<ul class="places">{items}</ul>'


def _agents(service: Service, base: str) -> str:
    shown = list(service.agents.items())[:_MOST_SHOWN]
    items = "".join(
        f"<li><h3>{escape(name)}</h3>"
        + (f"<p>{escape(agent.description)}</p>" if agent.description else "")
        + f"<code>{escape(base)}<wbr>/agents/{escape(name)}</code></li>"
        for name, agent in shown
    )
    more = len(service.agents) - len(shown)
    rest = f"<p>And {more} more: see the agents as JSON.</p>" if more else ""
    return f'<ul class="agents">{items}</ul>{rest}' if items else "<p>There is none yet.</p>"


def _ways(service: Service, base: str) -> str:
    name = next(iter(service.agents), None)
    if name is None:
        return ""
    url = f"{base}/agents/{name}"
    signed = service.authenticate is not None
    told = _SIGN_IN if signed else dict.fromkeys(_SIGN_IN, "")
    ways = {
        "In a terminal": f"agui-bridge chat {quote(base)} --agent {quote(name)}{told['shell']}",
        "With curl": _CURL.format(url=quote(url), sign_in=told["curl"]),
        "In JavaScript, with @ag-ui/client": f'new HttpAgent({{ url: "{url}"{told["script"]} }})',
    }
    if service.copilotkit is not None:
        runtime = f"{base}{service.copilotkit}"
        ways["On a page with CopilotKit"] = (
            f'<CopilotKit runtimeUrl="{runtime}" agent="{name}"{told["element"]}>'
        )
    items = "".join(
        f"<dt>{words}</dt><dd><pre>{escape(line)}</pre></dd>" for words, line in ways.items()
    )
    answers = "the inbox or " if service.inbox_page else ""
    others = "Others go by their names. " if len(service.agents) > 1 else ""
    said = (
        f"These lines talk to {escape(name)}. {others}If it asks something, a run ends with the "
        f"question. Answer it in {answers}the terminal chat."
    )
    return f"<h2>Talk to one</h2><p>{said}</p><dl>{items}</dl>"
