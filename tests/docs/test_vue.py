"""docs/vue.md shows what the browser tests run."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "vue.md"
SOURCES = ROOT / "tests" / "e2e" / "tdesign" / "src"


def test_the_page_shows_the_component_that_is_tested_and_names_what_the_function_gives() -> None:
    text = PAGE.read_text(encoding="utf-8")
    [component] = re.findall(r"^```vue\n(.+?)^```$", text, re.MULTILINE | re.DOTALL)
    tested = (SOURCES / "useThread.ts").read_text(encoding="utf-8")
    [given] = re.findall(r"^  return \{ (.+) \};$", tested, re.MULTILINE)

    assert component == (SOURCES / "Approvals.vue").read_text(encoding="utf-8")
    assert [name for name in given.split(", ") if f"`{name}`" not in text] == []
