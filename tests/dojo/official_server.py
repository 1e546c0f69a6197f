"""The example agents behind the frameworks' own AG-UI servers, at the paths of the bridge.

`python -m tests.dojo.official_server CHECKOUT PORT MOCK [FRAMEWORK …]`
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI, Request

from tests.dojo.examples import STATES, Example, environment, examples


def server(found: list[Example]) -> FastAPI:
    """A server with all of them, each as its framework's documentation serves it."""
    app = FastAPI()
    for example in found:
        _SERVED[example.framework](app, f"/agents/{example.name}", example)
    return app


def _langgraph(app: FastAPI, path: str, example: Example) -> None:
    from ag_ui_langgraph import add_langgraph_fastapi_endpoint

    add_langgraph_fastapi_endpoint(app=app, agent=example.agent, path=path)


def _pydantic_ai(app: FastAPI, path: str, example: Example) -> None:
    from pydantic_ai.ui import StateDeps
    from pydantic_ai.ui.ag_ui import AGUIAdapter

    state = STATES.get(example.feature)

    async def run(request: Request) -> Any:
        more: dict[str, Any] = (
            {"deps": StateDeps(getattr(example.module, state)())} if state else {}
        )
        return await AGUIAdapter.dispatch_request(request, agent=example.agent, **more)

    app.post(path)(run)


def _adk(app: FastAPI, path: str, example: Example) -> None:
    from ag_ui_adk import add_adk_fastapi_endpoint

    add_adk_fastapi_endpoint(app, example.agent, path=path)


def _agno(app: FastAPI, path: str, example: Example) -> None:
    app.mount(path, _BelowPath(example.module.app, "/agui"))


def _starter(app: FastAPI, path: str, example: Example) -> None:
    app.mount(path, _BelowPath(example.agent, "/"))


def _starter_all(app: FastAPI, path: str, example: Example) -> None:
    app.mount(path, _BelowPath(example.agent, f"/{example.feature}"))


def _strands(app: FastAPI, path: str, example: Example) -> None:
    from ag_ui_strands import add_strands_fastapi_endpoint

    add_strands_fastapi_endpoint(app, example.agent, path)


def _agent_framework(app: FastAPI, path: str, example: Example) -> None:
    from agent_framework_ag_ui import add_agent_framework_fastapi_endpoint

    add_agent_framework_fastapi_endpoint(app, example.agent, path, single_user=True)


_SERVED: Final[dict[str, Callable[[FastAPI, str, Example], None]]] = {
    "langgraph": _langgraph,
    "pydantic-ai": _pydantic_ai,
    "adk": _adk,
    "agno": _agno,
    "strands": _strands,
    "agent-framework": _agent_framework,
    "starter": _starter,
    "starter-all": _starter_all,
}


class _BelowPath:
    """An app that has its agent at a path of its own."""

    def __init__(self, app: Any, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(
        self, scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]
    ) -> None:
        if scope["type"] == "http":
            own = {"path": self._path, "raw_path": self._path.encode(), "root_path": ""}
            scope = {**scope, **own}
        await self._app(scope, receive, send)


class _WithoutSlash:
    """A mount wants the slash that the pages leave out."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def __call__(
        self, scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]
    ) -> None:
        mounted = ("/agents/agno-", "/agents/starter-")
        if scope["type"] == "http" and scope["path"].startswith(mounted):
            scope = {**scope, "path": scope["path"] + "/"}
        await self._app(scope, receive, send)


def main() -> None:
    """Serve them until the process is ended."""
    checkout, port, mock, *frameworks = sys.argv[1:]
    environment(mock)
    app = server(examples(Path(checkout), tuple(frameworks)))
    uvicorn.run(_WithoutSlash(app), host="127.0.0.1", port=int(port), log_level="warning")


if __name__ == "__main__":
    main()
