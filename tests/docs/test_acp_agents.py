"""docs/acp-agents.md: its bridge can be made, and it names every argument."""

from __future__ import annotations

import inspect
import re

from agui_bridge_acp import AcpAdapter
from tests.docs.pages import ROOT, run_page

PAGE = ROOT / "docs" / "acp-agents.md"


async def test_its_bridge_is_made() -> None:
    page = await run_page(PAGE)
    assert isinstance(page["bridge"].agents["coder"].adapter, AcpAdapter)
    await page["bridge"].aclose()


def test_the_table_names_every_argument() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ", PAGE.read_text(), re.MULTILINE)
    given = [name for name in inspect.signature(AcpAdapter).parameters if name != "self"]
    assert [name for name in given if name not in rows] == []
