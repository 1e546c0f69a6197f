"""The pages for people who change the code name files that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tests.architecture.checkout import ROOT

NAMED: Final = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|ts))`")
FOLDERS: Final = ("adapters", "agui_bridge", "docs", "matrix", "tests")
UNWANTED: Final = {"utils.py"}
"""What there is none of, as a page says."""


def endings() -> Iterator[str]:
    """Every way to name a module: its path, and what is left of it in a folder that is known."""
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT).parts
            yield from ("/".join(parts[start:]) for start in range(len(parts)))


def test_the_pages_on_the_code_name_modules_that_are_there() -> None:
    known = {*endings(), *UNWANTED}

    missing = [
        f"{page}:{number}: {name}"
        for page in ("CONTRIBUTING.md", "docs/architecture.md")
        for number, line in enumerate((ROOT / page).read_text("utf-8").splitlines(), 1)
        for name in NAMED.findall(line)
        if "NAME" not in name and name not in known and not (ROOT / name).exists()
    ]

    assert missing == [], "\n".join(missing)
