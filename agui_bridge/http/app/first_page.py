"""The page at `/`, for whoever opens the server in a browser: what is here, and how to use it.

It is made of the agents' names and of what is switched on. Where requests must say who asks, it is
off unless it is wanted, since it tells these names to everybody.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from pathlib import Path
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
  -d '{{"threadId": "t1", "runId": "r1",
       "messages": [{{"id": "m1", "role": "user", "content": "Hello"}}]}}'"""


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
        base = f"{url.scheme}://{url.netloc}{request.scope.get('root_path', '').rstrip('/')}"
        text = self._template.substitute(
            style=self._style,
            version=__version__,
            summary=_summary(len(service.agents)),
            places=_places(service),
            agents=_agents(service, base),
            ways=_ways(service, base),
        )
        return HTMLResponse(text, headers=self._headers)


def _summary(count: int) -> str:
    number = "No agent is" if not count else "One agent is" if count == 1 else f"{count} agents are"
    return (
        f"{number} served here by AG-UI. When one of them asks, people approve, correct or "
        "decline, and nothing runs twice."
    )


def _places(service: Service) -> str:
    links = {"openapi.json": "API description", "agents": "Agents as JSON"}
    if service.inbox_page:
        links = {"inbox": "Inbox", **links}
    if service.playground:
        links = {PLAYGROUND[1:]: "Playground", **links}
    # They lead on from wherever a proxy shows this page.
    items = "".join(f'<li><a href="./{path}">{words}</a></li>' for path, words in links.items())
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
    name = next(iter(service.agents), "NAME")
    url = f"{base}/agents/{name}"
    signed = service.authenticate is not None
    ways = {
        "In a terminal": f"agui-bridge chat {base} --agent {name}",
        "With curl": _CURL.format(
            url=url, sign_in="  -H 'Authorization: Bearer YOUR_TOKEN' \\\n" if signed else ""
        ),
        "In JavaScript, with @ag-ui/client": f'new HttpAgent({{ url: "{url}" }})',
    }
    if service.copilotkit is not None:
        ways["On a page with CopilotKit"] = (
            f'<CopilotKit runtimeUrl="{base}{service.copilotkit}" agent="{name}">'
        )
    items = "".join(
        f"<dt>{words}</dt><dd><pre>{escape(line)}</pre></dd>" for words, line in ways.items()
    )
    return f"<dl>{items}</dl>"
