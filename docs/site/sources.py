"""The pages of the repository as the site's, with links that lead to pages of the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

_MOVED: Final[Mapping[str, str]] = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "license.md",
    "schemas": "schemas/index.md",
}
"""Where a file of the repository's root, or a folder, stands in the site."""

_PICTURES: Final = frozenset({".png", ".svg", ".webp"})
_LANGUAGES: Final[Mapping[str, str]] = {
    ".json": "json",
    ".py": "python",
    ".toml": "toml",
    ".ts": "ts",
    ".tsx": "tsx",
    ".yaml": "yaml",
    ".yml": "yaml",
}
_TOKEN: Final = re.compile(r"(?P<code>`+).*?(?P=code)|\]\((?P<target>[^)\s]+)\)")
_FENCE: Final = re.compile(r"^ *(```+|~~~+)")
_UNSEARCHED: Final = "---\nsearch:\n  exclude: true\n---\n\n"
"""What stands before a page that is only read when it is linked to."""


class DeadLink(Exception):
    """A link of a page leads to nothing in the repository; says which and where."""


class Sources:
    """What the site is made from: texts and pictures by their path in it."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        self.pictures: dict[str, Path] = {}


def collect(root: Path) -> Sources:
    """All pages of docs/, the README, and what these link to, to the end of the chain.

    Raises:
        DeadLink: a link leads to a file that is not there.
    """
    sources = Sources()
    outstanding = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "examples/README.md",
        "schemas/README.md",
        *(path.relative_to(root).as_posix() for path in sorted(root.glob("docs/**/*.md"))),
    ]
    seen = set(outstanding)

    while outstanding:
        origin = outstanding.pop()

        def linked(target: str, origin: str = origin) -> str:
            """The target of a link, as it is in the site; what it leads to is collected, too."""
            file, hash_sign, anchor = target.partition("#")
            found = posixpath.normpath(posixpath.join(posixpath.dirname(origin), file))
            if not (root / found).exists():
                raise DeadLink(f"{origin} links to {target}, and there is no {found}")
            found = _with_text(root, found)
            if found not in seen and not _is_shape(found):
                seen.add(found)
                outstanding.append(found)
            here = posixpath.dirname(place_of(origin)) or "."
            return posixpath.relpath(place_of(found), here) + hash_sign + anchor

        path = root / origin
        if path.suffix in _PICTURES:
            sources.pictures[place_of(origin)] = path
        else:
            sources.pages[place_of(origin)] = _page(path, origin, linked)
    return sources


def place_of(path: str) -> str:
    """Where a file or folder of the repository stands in the site."""
    if path in _MOVED:
        return _MOVED[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if _is_shape(path):
        return path.removesuffix(".json") + ".md"
    if path.endswith("/README.md"):
        return path.removesuffix("README.md") + "index.md"
    return f"files/{path}" if Path(path).suffix in _PICTURES else f"files/{path}.md"


def _is_shape(path: str) -> bool:
    """Whether a page of its own is made from it elsewhere."""
    return path == "schemas" or (path.startswith("schemas/") and path.endswith(".json"))


def _with_text(root: Path, found: str) -> str:
    """Of a folder its README, where it has one."""
    readme = f"{found}/README.md"
    return readme if found != "schemas" and (root / readme).exists() else found


def _page(path: Path, origin: str, linked: Callable[[str], str]) -> str:
    if path.is_dir():
        names = sorted(each.name for each in path.iterdir() if not each.name.startswith(("_", ".")))
        listed = "\n".join(f"- `{name}`" for name in names)
        return f"{_UNSEARCHED}# {origin}\n\nA folder of the repository, with\n\n{listed}\n"
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return _relinked(text, linked)
    language = _LANGUAGES.get(path.suffix, "text")
    return f"{_UNSEARCHED}# {origin}\n\n````{language}\n{text.rstrip()}\n````\n"


def _relinked(text: str, linked: Callable[[str], str]) -> str:
    """A page with other targets of its links; code stays as it is."""

    def replaced(match: re.Match[str]) -> str:
        target = match["target"]
        if target is None or re.match(r"[a-z]+:|#", target):
            return match[0]
        return f"]({linked(target)})"

    lines, fence = [], ""
    for line in text.splitlines():
        opened = _FENCE.match(line)
        if opened:
            fence = opened[1] if not fence else "" if opened[1].startswith(fence) else fence
        lines.append(line if fence or opened else _TOKEN.sub(replaced, line))
    return "\n".join(lines) + "\n"
