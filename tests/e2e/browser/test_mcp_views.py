"""Views of tools (MCP Apps) in the pages of CopilotKit and assistant-ui, by a real MCP server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect

from tests.e2e.browser.cards import button
from tests.e2e.browser.conftest import OpenTab
from tests.e2e.browser.demo import await_health
from tests.e2e.browser.pages import OpenPage, card, say, sees
from tests.e2e.browser.site import ASSISTANT_UI, ROOT, build, served
from tests.e2e.browser.tab import PATIENCE, Via
from tests.mcp.conftest import Shop
from tests.support.ports import free_port

SHIM: Final = """<!doctype html><script>
addEventListener("message", ({data, ports: [port]}) => {
  const html = new TextDecoder().decode(data.body);
  document.open(); document.write(html); document.close();
  port.postMessage({type: "msg"});
}, {once: true});
parent.postMessage({type: "ready"}, "*");
</script>"""
"""assistant-ui loads each view's frame from a host of its own, which no test may ask."""


@pytest.fixture(scope="module")
def served_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """An MCP server whose tools have a view."""
    one = Shop(tmp_path_factory.mktemp("shop"), module="tests.mcp.servers.views")
    yield one
    one.kill()


@pytest.fixture
def shop(served_shop: Shop) -> Shop:
    """It, when it has done nothing yet."""
    served_shop.effects_file.unlink(missing_ok=True)
    return served_shop


@pytest.fixture(scope="module")
def clerk(served_shop: Shop) -> Iterator[int]:
    """The port of a bridge whose agent has the shop's tools."""
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.browser.views_server", str(port), served_shop.url],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'adapters'}"},
    ) as process:
        try:
            await_health(port)
            yield port
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of assistant-ui's page."""
    folder: Path = tmp_path_factory.mktemp("assistant-ui")
    build(ASSISTANT_UI, folder)
    with served(folder) as found:
        yield found


def use(view: FrameLocator, cards: Locator, page: Page, shop: Shop) -> None:
    """Press what the view has: one call only reads, and people approve the other."""
    told = view.locator("#told")
    expect(told).to_contain_text("given 1 hat", timeout=PATIENCE)
    for times in (1, 2):
        view.get_by_role("button", name="Refresh").click()
        expect(told).to_have_text(re.compile("told .*2 hats.*" * times, re.DOTALL))
    view.get_by_role("button", name="Cancel").click()
    expect(cards).to_have_count(1, timeout=PATIENCE)
    expect(cards).to_contain_text("hat")
    assert shop.effects == ["listed", "refreshed", "refreshed"]
    button(cards, "Approve").click()
    expect(page.get_by_role("main")).to_contain_text("hat cancelled", timeout=PATIENCE)
    assert shop.effects == ["listed", "refreshed", "refreshed", "cancelled hat"]


@pytest.mark.feature("CopilotKit", "view")
def test_copilotkit_shows_a_view_whose_calls_are_approved_and_shows_it_after_a_reload(
    open_tab: OpenTab, via: Via, clerk: int, shop: Shop
) -> None:
    tab = open_tab(via, port=clerk, agent="clerk")
    tab.say("orders")
    tab.sees("There is 1 hat.")
    frames = tab.page.locator("main iframe")
    view = frames.content_frame.locator("iframe").content_frame
    use(view, tab.cards, tab.page, shop)
    expect(frames).to_have_count(1)
    # Which is why views are shown of trusted servers alone.
    assert view.locator("body").evaluate("() => top.document.title") == tab.page.title()
    if via != "direct":  # an agent's own URL can't show what was said before
        tab.reload()
        expect(view.locator("#told")).to_contain_text("given 1 hat", timeout=PATIENCE)
    assert len(shop.effects) == 4


@pytest.mark.feature("assistant-ui", "view")
def test_assistant_ui_shows_a_view_whose_calls_are_approved_and_shows_it_after_a_reload(
    open_page: OpenPage, clerk: int, shop: Shop
) -> None:
    page = open_page(url="about:blank")
    page.route(
        "https://*.scf.auiusercontent.com/**",
        lambda route: route.fulfill(body=SHIM, content_type="text/html"),
    )
    page.goto(page.url.replace("about%3Ablank", f"http://127.0.0.1:{clerk}/agents/clerk"))
    say(page, "orders")
    sees(page, "There is 1 hat.")
    frames = page.locator("main iframe")
    use(frames.content_frame, card(page), page, shop)
    expect(frames).to_have_count(1)
    page.reload()
    expect(frames.content_frame.locator("#told")).to_contain_text("given 1 hat", timeout=PATIENCE)
    assert len(shop.effects) == 4
