"""Pages as somebody without a script sees them: texts, links, and forms that are filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urljoin

import httpx

__all__ = ["Page", "Person"]


@dataclass
class Button:
    """A button of a form."""

    value: str | None
    words: str = ""
    disabled: bool = False
    described_by: str = ""


@dataclass
class Form:
    """A form, with what its fields hold."""

    method: str = "get"
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[Button] = field(default_factory=list)


class Page(HTMLParser):
    """One page.

    Attributes:
        title: the window's.
        text: all that can be read, spaces joined.
        links: by their words.
        forms: in order.
        controls: attributes of fields, by name.
        texts: by id the words of the element.
        tags: every tag there is.
    """

    def __init__(self, response: httpx.Response) -> None:
        super().__init__()
        self.response = response
        self.status = response.status_code
        self.title = ""
        self.links: dict[str, str] = {}
        self.forms: list[Form] = []
        self.controls: dict[str, dict[str, Any]] = {}
        self.texts: dict[str, str] = {}
        self.tags: set[str] = set()
        self._words: list[str] = []
        self._open: list[tuple[str, dict[str, Any], int]] = []
        self._select: tuple[str, str | None] | None = None
        self.feed(response.text)
        self.text = " ".join("".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value if value is not None else "" for name, value in attrs}
        self.tags.add(tag)
        if tag == "form":
            self.forms.append(Form(given.get("method", "get")))
        if "name" in given and tag in ("input", "select", "textarea"):
            self.controls.setdefault(given["name"], given)
        if tag == "input" and self.forms and "name" in given:
            ticked = given.get("type") not in ("radio", "checkbox") or "checked" in given
            if ticked:
                self.forms[-1].fields.append((given["name"], given.get("value", "")))
        if tag == "select":
            self._select = (given["name"], None)
        if tag == "option" and self._select and ("selected" in given or self._select[1] is None):
            self._select = (self._select[0], given.get("value", ""))
        if tag not in ("input", "meta", "br"):
            self._open.append((tag, given, len(self._words)))

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            opened, given, start = self._open.pop()
            raw = "".join(self._words[start:])
            words = " ".join(raw.split())
            if "id" in given:
                self.texts[given["id"]] = words
            if opened == "title":
                self.title = words
            if opened == "a":
                self.links[words] = given.get("href", "")
            if opened == "textarea":
                self.forms[-1].fields.append((given["name"], raw.removeprefix("\n")))
            if opened == "select" and self._select:
                self.forms[-1].fields.append((self._select[0], self._select[1] or ""))
                self._select = None
            if opened == "button" and self.forms:
                self.forms[-1].buttons.append(
                    Button(
                        given.get("value"),
                        words,
                        "disabled" in given,
                        given.get("aria-describedby", ""),
                    )
                )
            if opened == tag:
                return

    def handle_data(self, data: str) -> None:
        if not (self._open and self._open[-1][0] == "style"):
            self._words.append(data)

    def button(self, words: str) -> Button:
        """The button with these words."""
        return next(b for form in self.forms for b in form.buttons if b.words == words)

    def sent(self, button: str | None, **values: Any) -> list[tuple[str, str]]:
        """What a browser sends of the form with a button; None sends it without one."""
        posts = [form for form in self.forms if form.method == "post"]
        form = next((f for f in posts if button in [b.words for b in f.buttons]), posts[0])
        changed = {name.replace("__", ":"): value for name, value in values.items()}
        fields = [(name, value) for name, value in form.fields if name not in changed]
        for name, value in changed.items():
            fields += [(name, one) for one in ([value] if isinstance(value, str) else value)]
        if button is not None:
            [pressed] = [b for b in form.buttons if b.words == button]
            fields.append(("decision", str(pressed.value)))
        return fields


class Person:
    """Somebody with a browser, whose cookies are their own.

    Args:
        base: the bridge's URL.
        actor: who they are, as tests.http.inbox.site knows them.
        headers: sent with each request.
    """

    def __init__(self, base: str, actor: str = "", **headers: str) -> None:
        sent = {"x-actor": actor} if actor else {}
        self.http = httpx.AsyncClient(
            base_url=base,
            headers={**sent, **headers},
            timeout=15,
            verify=False,  # there is no TLS, and to read all authorities takes 30 ms
            trust_env=False,
        )

    async def __aenter__(self) -> Person:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    async def look(self, path: str = "/inbox", **query: str) -> Page:
        """Open a page."""
        return Page(await self.http.get(path, params=query or None))

    async def follow(self, page: Page, words: str) -> Page:
        """Follow the link with these words."""
        return await self.look(urljoin(str(page.response.url), page.links[words]))

    async def press(
        self,
        page: Page,
        button: str | None,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> Page:
        """Fill in a form and press a button; `group__key` is the field `group:key`."""
        return Page(
            await self.http.post(
                page.response.url,
                content=urlencode(page.sent(button, **values)),
                headers={
                    "content-type": "application/x-www-form-urlencoded",
                    "sec-fetch-site": "same-origin",
                    **(headers or {}),
                },
            )
        )
