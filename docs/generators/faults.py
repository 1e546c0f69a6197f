"""The page of faults, from the table that tests/faults holds the bridge to.

Faults of a group of which the same was seen share a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.faults.expected import GROUPS, Group
from tests.faults.seen import Seen

_BEGIN: Final = "<!-- Below: made from tests/faults/expected.py by `make docs`. -->\n"
_COLUMNS: Final = (
    "fault",
    "on",
    "its client gets",
    "the same answer, later elsewhere",
    "interrupt",
    "executed",
)
_NAMES: Final = {"sqlite": "SQLite", "postgres": "PostgreSQL", "redis": "Redis"}


def faults_page(page: Path) -> str:
    """The whole page: its own text, then the tables."""
    own, _, _ = page.read_text(encoding="utf-8").partition(_BEGIN)
    return own + _BEGIN + "".join(_table(group) for group in GROUPS.values())


def _table(group: Group) -> str:
    lines = [
        f"\n## {group.title}\n",
        f"| {' | '.join(_COLUMNS)} |",
        "|---|---|---|---|---|---|",
    ]
    seen = {store: group.on(store) for store in group.stores}
    alike: dict[tuple[tuple[str, ...], Seen], list[str]] = {}
    for name in group.seen:
        for one in dict.fromkeys(seen[store][name] for store in group.stores):
            on = tuple(store for store in group.stores if seen[store][name] == one)
            alike.setdefault((on, one), []).append(name)
    lines += [_row(names, stores, one) for (stores, one), names in alike.items()]
    return "\n".join(lines) + "\n"


def _row(faults: Iterable[str], stores: Iterable[str], seen: Seen) -> str:
    names = ", ".join(_NAMES[store] for store in stores)
    cells = ("; ".join(faults), names, seen.client, seen.again, seen.stored, str(seen.executed))
    return f"| {' | '.join(cells)} |"
