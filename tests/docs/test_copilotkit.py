"""docs/copilotkit.md: its bridge serves what it says, and it names every route."""

import httpx

from agui_bridge.http.app.openapi import OPERATIONS
from tests.docs.pages import ROOT, run_page
from tests.support.server import serve

PAGE = ROOT / "docs" / "copilotkit.md"


async def test_the_bridge_of_the_page_is_what_its_frontend_asks_for() -> None:
    page = await run_page(PAGE)
    headers = {"origin": "https://app.example"}
    async with serve(page["bridge"].app(anonymous=True)) as base, httpx.AsyncClient() as http:
        answer = await http.get(f"{base}/copilotkit/info", headers=headers)

    assert list(answer.json()["agents"]) == ["ops"]
    assert answer.headers["access-control-allow-origin"] == "https://app.example"


def test_the_page_names_every_route() -> None:
    text = PAGE.read_text(encoding="utf-8")
    routes = [path for _, path in OPERATIONS if path.startswith("/copilotkit")]

    assert [path for path in routes if f"{path}`" not in text] == []
