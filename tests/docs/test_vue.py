"""docs/vue.md shows what the browser tests run."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "vue.md"
SOURCES = ROOT / "tests" / "e2e" / "tdesign" / "src"


def test_the_page_shows_the_code_that_is_tested() -> None:
    text = PAGE.read_text(encoding="utf-8")
    function, _entry = re.findall(r"^```ts\n(.+?)^```$", text, re.MULTILINE | re.DOTALL)
    [component] = re.findall(r"^```vue\n(.+?)^```$", text, re.MULTILINE | re.DOTALL)
    tested = (SOURCES / "useThread.ts").read_text(encoding="utf-8")

    assert function == tested
    assert component == (SOURCES / "Approvals.vue").read_text(encoding="utf-8")
