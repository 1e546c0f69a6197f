"""The inbox in a browser without JavaScript: people, what they are asked, and axe."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
from playwright.sync_api import Browser, BrowserContext, Page

from agui_bridge.inbox.reference import Reference, References
from agui_bridge.protocol.threads.records import ThreadKey
from tests.e2e.browser.demo import await_health
from tests.e2e.browser.inbox_server import KEY
from tests.support import unavailable
from tests.support.ports import free_port

__all__ = ["InboxSite", "inbox_site"]

ROOT: Final = Path(__file__).parents[3]
AXE: Final = ROOT / "tests" / "e2e" / "node_modules" / "axe-core" / "axe.min.js"
LINKS_END: Final = 4e9


class InboxSite:
    """A served bridge with an inbox, and browsers of people who use it.

    Attributes:
        url: where it is.
        complaints: what browsers said of a page that broke its own rules.
    """

    def __init__(self, url: str, browser: Browser) -> None:
        self.url = url
        self.complaints: list[str] = []
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._http = httpx.Client(base_url=url, timeout=15, trust_env=False)

    def person(self, actor: str | None = "ann", **context: Any) -> Page:
        """Somebody's tab, in a window of its own; None is nobody who is known."""
        headers = {"x-actor": actor} if actor is not None else {}
        given = {"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", **context}
        made = self._browser.new_context(
            java_script_enabled=False, base_url=self.url, extra_http_headers=headers, **given
        )
        self._contexts.append(made)
        page = made.new_page()
        page.on("console", self._hear)
        return page

    def ask(
        self,
        agent: str,
        actor: str = "carl",
        thread: str | None = None,
        text: str = "Clean up what nobody uses, please.",
    ) -> str:
        """Have an agent ask; gives its thread."""
        thread = thread or f"thread-{uuid.uuid4()}"
        message = {"id": "m", "role": "user", "content": text}
        body = {"threadId": thread, "runId": "r", "messages": [message], "tools": [], "context": []}
        answer = self._http.post(f"/agents/{agent}", json=body, headers={"x-actor": actor})
        assert answer.status_code == 200, answer.text
        return thread

    def asked(self, agent: str, thread: str) -> dict[str, Any]:
        """The only question of a thread, as the API tells it."""
        path = f"/agents/{agent}/threads/{thread}/interrupts"
        [found] = self._http.get(path, headers={"x-actor": "ann"}).json()["interrupts"]
        return dict(found)

    def path(self, agent: str, thread: str, **link: Any) -> str:
        """The path of a question; `actor` makes it a link."""
        key = ThreadKey("team", agent, thread)
        if link:
            link = {"expires_at": LINKS_END, **link}
        reference = Reference(key, self.asked(agent, thread)["id"], **link)
        return f"/{'d' if link else 'inbox'}/{References([KEY]).write(reference)}"

    def scan(self, path: str) -> None:
        """Open a link as a scanner of mails does, and send its form without a button."""
        for method in ("GET", "HEAD", "GET", "HEAD"):
            assert self._http.request(method, path).status_code == 200
        form = {"content-type": "application/x-www-form-urlencoded"}
        assert self._http.post(path, content="reason=", headers=form).status_code in (400, 403)

    def faults(self, page: Page) -> list[str]:
        """What axe finds wrong with a page, each with where."""
        if not AXE.exists():
            unavailable("axe-core", "`make e2e` installs it, or npm ci in tests/e2e does")
        # axe is a script: it judges the page as it stands, in a window that runs scripts.
        dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        judge = self._browser.new_page(
            viewport=page.viewport_size, color_scheme="dark" if dark else "light"
        )
        judge.set_content(page.content())
        judge.evaluate(AXE.read_text(encoding="utf-8"))
        found = judge.evaluate("axe.run({resultTypes: ['violations']})")
        judge.close()
        assert found["testEngine"]["name"] == "axe-core"
        return [
            f"{fault['id']}: {node['target']}"
            for fault in found["violations"]
            for node in fault["nodes"]
        ]

    def close(self) -> None:
        """Close all tabs."""
        for context in self._contexts:
            context.close()
        self._http.close()

    def _hear(self, message: Any) -> None:
        if "Content Security Policy" in message.text:
            self.complaints.append(message.text)


@contextlib.contextmanager
def inbox_site(browser: Browser) -> Iterator[InboxSite]:
    """Serve a bridge with an inbox in a process of its own."""
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.browser.inbox_server", str(port)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'adapters'}"},
    ) as process:
        try:
            await_health(port)
            site = InboxSite(f"http://127.0.0.1:{port}", browser)
            yield site
            site.close()
        finally:
            process.terminate()
