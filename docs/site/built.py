"""What is wrong with the site as it was built: dead links, lost pages, loads from elsewhere."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_LOADING: Final = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""The attribute by which an element has its reader's browser load something."""

_NOT_LOADED: Final = frozenset({"canonical", "next", "prev", "alternate"})


class _Page(HTMLParser):
    """The links, anchors and loads of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a" and (href := given.get("href")):
            self.links.append(href)
        load = given.get(_LOADING.get(tag, ""))
        if load and given.get("rel") not in _NOT_LOADED:
            self.loads.append(load)


def complaints_about(folder: Path) -> list[str]:
    """A sentence for each fault of the site in a folder."""
    pages = {
        path.relative_to(folder).as_posix(): _Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
        # It is served under any address, so its links begin at the root.
        if path.name != "404.html"
    }
    found: set[str] = {"index.html"}
    complaints = []
    for name, page in pages.items():
        complaints += [
            f"{name} loads {load} from elsewhere" for load in page.loads if _is_elsewhere(load)
        ]
        here = [each for each in [*page.links, *page.loads] if not _is_elsewhere(each)]
        for link in here:
            target, anchor = _target(name, link, folder)
            found |= {target} - {name}
            if not (folder / target).is_file():
                complaints.append(f"{name} links to {link}, which is not there")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                complaints.append(f"{name} links to {link}, and {target} has no such heading")
    complaints += [f"no page links to {name}" for name in pages if name not in found]
    return list(dict.fromkeys([*complaints, *_unfinished(folder, pages)]))


def _unfinished(folder: Path, pages: dict[str, _Page]) -> Iterator[str]:
    if len(pages) < 2:
        yield f"{folder} holds no site"


def _is_elsewhere(link: str) -> bool:
    parts = urlsplit(link)
    return bool(parts.scheme or parts.netloc)


def _target(page: str, link: str, folder: Path) -> tuple[str, str]:
    parts = urlsplit(link)
    if not parts.path:
        return page, unquote(parts.fragment)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))
    if (folder / path).is_dir():
        path = posixpath.normpath(f"{path}/index.html")
    return path, unquote(parts.fragment)
