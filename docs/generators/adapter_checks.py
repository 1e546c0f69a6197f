"""The page of the adapter author's checks, from the checks themselves."""

from __future__ import annotations

from typing import Final

from agui_bridge.testing import CHECKS, Check
from docs.generators.reference import entries_of

_NAMES: Final = ("AdapterScenario", "AdapterSuite", "check_adapter", "run_check", "CheckResult")
_HEAD: Final = """\
# The checks of an adapter

Made from `agui_bridge.testing` by `make docs`. [Write an adapter](adapters.md#check-it) says how to
carry them out. Each is on the real engine and a SQLite file, with threads of its own; each has a
broken adapter in `tests/testing/mutants.py` that fails it and no other.

| check | what must hold | applies | if it fails |
|---|---|---|---|
"""


def checks_page() -> str:
    """The whole page, as Markdown."""
    table = "".join(_row(check) for check in CHECKS)
    entries = "\n".join(entries_of("agui_bridge.testing", _NAMES))
    return f"{_HEAD}{table}\n## What to import\n\n{entries.rstrip()}\n"


def _row(check: Check) -> str:
    needs = ["`approval` or `question`" if n == "pause" else f"`{n}`" for n in check.needs]
    if check.declared is not None:
        needs.append(f"declared `{check.declared}`")
    applies = f"with {' and '.join(needs)}" if needs else "always"
    return f"| `{check.id}` | {check.sentence} | {applies} | {check.hint} |\n"
