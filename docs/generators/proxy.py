"""The proxy's page: what the conformance kit sees of pydantic-ai alone, and behind the bridge.

    python -m docs.generators.proxy

It takes a minute and needs the environment of benchmarks/peers.txt (.venv-peers), so that
`make docs` leaves it out; tests/e2e/test_proxy_conformance.py holds the page to it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agui_bridge.conformance import Report, load, run_suite
from agui_bridge.conformance.reports import as_markdown

PAGE: Final = Path(__file__).parent.parent / "proxy.md"
FOLDER: Final = Path(__file__).parents[2] / "examples" / "proxy_pydantic_ai"
CONFIGURATIONS: Final = ("direct.toml", "behind.toml")

_BEGIN: Final = "<!-- Below: made by `python -m docs.generators.proxy`. -->\n"
_END: Final = "<!-- Above: made. -->\n"
_JUDGED: Final = re.compile(
    r"^\| `(?P<check>[\w.-]+)` \|.*\| (?P<alone>\S+) \| (?P<behind>\S+) \|$", re.MULTILINE
)
_ROW: Final = re.compile(
    r"^\| (?P<alone>[PFBf-]) \| (?P<behind>[PFBf-]) \| (?P<checks>.*) \|$", re.MULTILINE
)


async def judge() -> list[Report]:
    """Run the kit on the endpoint alone, then on it behind the bridge."""
    return [await run_suite(load(FOLDER / name)) for name in CONFIGURATIONS]


def marks(text: str) -> Mapping[str, tuple[str, str]]:
    """By check, the marks of the page's table: alone, and behind the bridge."""
    return {
        check: (row["alone"], row["behind"])
        for row in _ROW.finditer(text)
        for check in re.findall(r"`([\w.-]+)`", row["checks"])
    }


def proxy_page(text: str, reports: list[Report]) -> str:
    """The page with a new table of what applies to either: the checks by their marks."""
    own, _, rest = text.partition(_BEGIN)
    _, _, rest = rest.partition(_END)
    alike: dict[tuple[str, str], list[str]] = {}
    for row in _JUDGED.finditer(as_markdown(reports)):
        alike.setdefault((row["alone"], row["behind"]), []).append(f"`{row['check']}`")
    alike.pop(("-", "-"), None)
    passed = [f"{report.passed} of {report.applicable}" for report in reports]
    lines = [
        "| pydantic-ai | behind the bridge | checks |",
        "|---|---|---|",
        *(f"| {alone} | {behind} | {', '.join(of)} |" for (alone, behind), of in alike.items()),
        f"| {' | '.join(passed)} | **passed** of what applies |",
    ]
    return "\n".join([f"{own}{_BEGIN}", *lines, "", f"{_END}{rest}"])


def main() -> None:
    """Judge both, and write the page."""
    reports = asyncio.run(judge())
    PAGE.write_text(proxy_page(PAGE.read_text(encoding="utf-8"), reports), encoding="utf-8")


if __name__ == "__main__":
    main()
