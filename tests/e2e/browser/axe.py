"""What axe finds wrong with a page that runs scripts."""

from pathlib import Path
from typing import Final

from playwright.sync_api import Page

from tests.support import unavailable

__all__ = ["axe_faults"]

AXE: Final = Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"

JUDGE: Final = """async (within) => {
  const ending = ({ effect }) => effect.getComputedTiming().endTime !== Infinity;
  await Promise.allSettled(document.getAnimations().filter(ending).map(({ finished }) => finished));
  return axe.run(within, { resultTypes: ["violations"] });
}"""
"""Judges once what fades in has its colours."""


def axe_faults(page: Page, within: str = "html") -> list[str]:
    """Judge what is shown within an element; each fault with where it is."""
    if not AXE.exists():
        unavailable("axe-core", "`make e2e` installs it, or npm ci in tests/e2e does")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(JUDGE, within)
    assert found["testEngine"]["name"] == "axe-core"
    return [
        f"{fault['id']}: {node['target']} {node['failureSummary']}"
        for fault in found["violations"]
        for node in fault["nodes"]
    ]
