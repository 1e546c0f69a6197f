"""A page for each public package besides `agui_bridge`, whose own is docs/reference.md."""

from __future__ import annotations

from docs.generators.public import PACKAGES
from docs.generators.reference import entries_of, module_of


def api_pages() -> dict[str, str]:
    """The pages by their path, each with signatures, types and defaults of what is public.

    Raises:
        KeyError: a package of `PACKAGES` is gone, or a name of its `__all__`.
    """
    pages, rows = {}, []
    for package in PACKAGES[1:]:
        module = module_of(package)
        doc = module.docstring.value.strip()
        head = f"# {package}\n\n{_prose(doc)}\n"
        pages[f"api/{package}.md"] = "\n".join([head, *entries_of(package, module.exports)])
        rows.append(f"| [`{package}`]({package}.md) | {doc.partition(chr(10))[0]} |\n")
    top = (
        "# Other packages\n\nWhat `agui_bridge` itself exports is [a page of its own]"
        "(../reference.md). What is kept stable, and how: [What is public](../public.md).\n\n"
        "| import from | what it is |\n|---|---|\n"
    )
    return {"api/index.md": top + "".join(rows), **pages}


def _prose(doc: str) -> str:
    """A module's docstring as Markdown: what is indented after `::` is code by itself."""
    return doc.replace("::\n", ":\n")
