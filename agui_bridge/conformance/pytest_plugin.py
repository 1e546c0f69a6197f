"""Runs the checks as tests: every `*.conformance.toml` is collected, one test a check.

Switch it on with `-p agui_bridge.conformance.pytest_plugin`, or in the topmost `conftest.py`
with `pytest_plugins = ["agui_bridge.conformance.pytest_plugin"]`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.conformance.check import Check, Result
from agui_bridge.conformance.checks import CHECKS
from agui_bridge.conformance.config import load
from agui_bridge.conformance.reports import told_lines
from agui_bridge.conformance.runner import open_lab, run_checks
from agui_bridge.errors import ConfigurationError

__all__ = ["ConformanceFile", "ConformanceItem"]

SUFFIX = ".conformance.toml"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("conformance", "conformance of AG-UI endpoints")
    group.addoption("--agui-url", default="", help="the endpoint; goes before the url of the file")
    group.addoption("--agui-strict", action="store_true", help="a `should` that fails is a failure")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Collect configuration files of the kit."""
    if not file_path.name.endswith(SUFFIX):
        return None
    file: pytest.File = ConformanceFile.from_parent(parent, path=file_path)
    return file


class ConformanceFile(pytest.File):
    """One endpoint. Its checks are carried out together, when the first one is asked for."""

    _results: dict[str, Result] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """One item a check."""
        for check in CHECKS:
            yield ConformanceItem.from_parent(self, name=check.id, check=check)

    def result_of(self, check: Check, chosen: Iterable[Check]) -> Result:
        """The result of a check; the first call judges the endpoint by all that are chosen.

        Raises:
            ConfigurationError: the file is wrong, or nothing answers.
        """
        if self._results is None:
            found = asyncio.run(self._judge(tuple(chosen)))
            self._results = {result.check.id: result for result in found}
        return self._results[check.id]

    async def _judge(self, checks: tuple[Check, ...]) -> tuple[Result, ...]:
        async with open_lab(load(self.path), self.config.getoption("--agui-url")) as lab:
            return await run_checks(lab, checks)


class ConformanceItem(pytest.Item):
    """One check of one endpoint.

    Args:
        check: which one.
        **members: as for `pytest.Item`.
    """

    def __init__(self, *, check: Check, **members: Any) -> None:
        super().__init__(**members)
        self.check = check

    def runtest(self) -> None:
        """Fail, skip or pass as the check did.

        Raises:
            NotConformant: it failed or was blocked.
            ConfigurationError: the file is wrong, or nothing answers.
        """
        file = self.parent
        assert isinstance(file, ConformanceFile)
        # All of the file's that are selected: `-k` and node ids leave the others alone.
        chosen = [
            item.check
            for item in self.session.items
            if isinstance(item, ConformanceItem) and item.parent is file
        ]
        result = file.result_of(self.check, chosen)
        strict = self.config.getoption("--agui-strict")
        if result.status == "skip":
            # The kit's verdict "does not apply", with its reason; what could not be judged fails.
            pytest.skip(result.detail)
        if result.status == "pass":
            for note in result.notes:
                self.add_report_section("call", "note", note)
                self.warn(ConformanceNote(f"{self.check.id}: {note}"))
            return
        if self.check.severity == "should" and not strict:
            pytest.xfail(f"should: {result.detail}")
        raise NotConformant(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """What was seen, and what to do about it."""
        if isinstance(excinfo.value, NotConformant | ConfigurationError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where it stands in reports."""
        return self.path, None, f"{self.check.id}: {self.check.sentence}"


class ConformanceNote(pytest.PytestWarning):
    """What the rule allows and clients may stumble over."""


class NotConformant(Exception):
    """A check failed or was blocked."""

    def __init__(self, result: Result) -> None:
        check = result.check
        super().__init__(
            f"{check.id} {result.status}: {check.sentence}\n" + "\n".join(told_lines(result))
        )
