"""The dojo's specs, by framework: which are run, and what became of each."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["FOLDERS", "Result", "ported", "results", "table"]

FOLDERS: Final = {
    "langgraph": "langgraphFastAPITests",
    "pydantic-ai": "pydanticAITests",
    "adk": "adkMiddlewareTests",
    "agno": "agnoTests",
    "strands": "awsStrandsTests",
    "agent-framework": "microsoftAgentFrameworkPythonTests",
    "starter": "serverStarterTests",
    "starter-all": "serverStarterAllFeaturesTests",
}
"""Each framework's specs, below `e2e/tests`."""

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_PORTED: Final = ("agenticGenUI", "backendToolRenderingPage", "humanInTheLoopPage")
_PORTED_TOO: Final = ("sharedStatePage", "toolBasedGenUIPage")
_PORTED_TO: Final = "ported"


@dataclass(frozen=True)
class Result:
    """What became of one test.

    Attributes:
        file: the spec's.
        title: the test's.
        status: `passed`, `failed`, `skipped`.
        error: the first line of what failed, "" for none.
    """

    file: str
    title: str
    status: str
    error: str


def ported(e2e: Path) -> str:
    """Specs that the Agent Framework has none of: Pydantic AI's, with its pages' address.

    Args:
        e2e: the dojo's folder of that name.

    Returns:
        The folder below `tests`.
    """
    folder = e2e / "tests" / _PORTED_TO
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in (*_PORTED, *_PORTED_TOO):
        spec = (e2e / "tests" / FOLDERS["pydantic-ai"] / f"{name}.spec.ts").read_text()
        spec = spec.replace("/pydantic-ai/", "/microsoft-agent-framework-python/")
        (folder / f"{name}.spec.ts").write_text(spec)
    return _PORTED_TO


def results(report: Path) -> list[Result]:
    """All results of one of Playwright's reports in JSON."""
    return [one for suite in json.loads(report.read_text())["suites"] for one in _of(suite)]


def _of(suite: dict[str, Any]) -> Iterator[Result]:
    for inner in suite.get("suites") or ():
        yield from _of(inner)
    for spec in suite["specs"]:
        last = spec["tests"][-1]["results"][-1]
        status = {"timedOut": "failed", "interrupted": "failed"}.get(last["status"], last["status"])
        errors = [one.get("message", "") for one in last.get("errors") or ()]
        error = _COLOURS.sub("", errors[0].splitlines()[0]) if errors and errors[0] else ""
        yield Result(Path(spec["file"]).name, spec["title"], status, error)


def table(found: dict[str, list[Result]]) -> str:
    """The counts by folder, then each test that failed."""
    lines = [f"{'specs':38}{'tests':>6}{'passed':>8}{'failed':>8}{'skipped':>9}"]
    for folder, tests in found.items():
        counts = [sum(one.status == kind for one in tests) for kind in _KINDS]
        lines.append(f"{folder:38}{len(tests):6}{counts[0]:8}{counts[1]:8}{counts[2]:9}")
    for folder, tests in found.items():
        failed = [one for one in tests if one.status == "failed"]
        lines += [f"failed: {folder}/{one.file}: {one.title}: {one.error}" for one in failed]
    return "\n".join(lines)


_KINDS: Final = ("passed", "failed", "skipped")
