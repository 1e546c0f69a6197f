"""Write what the site is built from, or judge a built one: `python -m docs.site [--built DIR]`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from docs.site.api import api_pages
from docs.site.built import complaints_about
from docs.site.navigation import nav_of, orphans_of
from docs.site.operations import operations_page
from docs.site.shapes import schema_page
from docs.site.sources import DeadLink, Sources, collect

ROOT: Final = Path(__file__).parents[2]
HERE: Final = Path(__file__).parent
TARGET: Final = ROOT / "build" / "site"


def site_sources() -> Sources:
    """All pages of the site, those of the repository and those that are made from the code.

    Raises:
        DeadLink: a link leads to a file that is not there.
    """
    sources = collect(ROOT)
    for path in sorted((ROOT / "schemas").glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        page = operations_page(schema) if path.stem == "openapi" else schema_page(path.stem, schema)
        sources.pages[f"schemas/{path.stem}.md"] = page
        sources.pictures[f"schemas/{path.name}"] = path
    sources.pages |= api_pages()
    return sources


def navigation(sources: Sources) -> list[dict[str, Any]]:
    """The navigation of these pages."""
    pages = sources.pages
    api = sorted(page for page in pages if page.startswith("api/") and page != "api/index.md")
    shapes = sorted(
        page
        for page in pages
        if page.startswith("schemas/") and page not in ("schemas/index.md", "schemas/openapi.md")
    )
    return nav_of(pages, {"api/index.md": api, "schemas/index.md": shapes})


def unlisted(sources: Sources) -> list[str]:
    """A sentence for each page that should be in the navigation and is not.

    What is only read when it is linked to needs no entry: files, single examples, single shapes.
    """
    folders = ("api/", "schemas/", "files/", "examples/", "tests/")
    pages = [page for page in sources.pages if not page.startswith(folders)]
    return orphans_of(pages)


def write_sources(sources: Sources, target: Path) -> None:
    """Write the pages, the pictures and the builder's configuration into a folder made anew."""
    shutil.rmtree(target, ignore_errors=True)
    for name, text in sources.pages.items():
        path = target / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name, picture in {**sources.pictures, "site.css": HERE / "site.css"}.items():
        path = target / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, path)
    options = (HERE / "zensical.toml").read_text(encoding="utf-8")
    # TOML's inline tables are JSON with another sign between name and value.
    listed = ",\n".join(f"  {_inline(section)}" for section in navigation(sources))
    (target / "zensical.toml").write_text(
        options.replace("nav = []", f"nav = [\n{listed},\n]"), encoding="utf-8"
    )


def _inline(entry: Any) -> str:
    if isinstance(entry, dict):
        pairs = ", ".join(f"{json.dumps(key)} = {_inline(value)}" for key, value in entry.items())
        return f"{{ {pairs} }}"
    if isinstance(entry, list):
        return f"[{', '.join(_inline(each) for each in entry)}]"
    return json.dumps(entry)


def main() -> None:
    """Write the sources, or with `--built FOLDER` judge the site there; 1 for faults."""
    if sys.argv[1:2] == ["--built"]:
        complaints = complaints_about(Path(sys.argv[2]))
        said = f"{len(list(Path(sys.argv[2]).rglob('*.html')))} pages, no dead link, no lost page"
    else:
        try:
            sources = site_sources()
        except DeadLink as dead:
            sys.exit(f"site: {dead}")
        complaints, said = unlisted(sources), f"{len(sources.pages)} pages written"
        write_sources(sources, TARGET)
    print("\n".join(f"site: {line}" for line in complaints or [said]))
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
