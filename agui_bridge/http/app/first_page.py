"""The page at `/`, for whoever opens the server in a browser: what is here, and how to use it.

It is made of the agents' names and of what is switched on. Where requests must say who asks, it is
off unless it is wanted, since it tells these names to everybody.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from pathlib import Path
from shlex import quote
from string import Template
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse

from agui_bridge import __version__
from agui_bridge.http.app.playground import PLAYGROUND
from agui_bridge.http.service import Service

__all__ = ["FirstPage"]

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
        "In a terminal": "pip install agui-bridge\n"
        f"agui-bridge chat {quote(base)} --agent {quote(name)}{told['shell']}",
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
