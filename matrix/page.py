"""The page: a table of all peers, and a section for each, which stays until it is judged again."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from agui_bridge.conformance import Result
from matrix.judging import SETTINGS, Judged, unkept
from matrix.limits import LIMITS, Limit
from tests.servers.peers.peer import VARIANTS
from tests.servers.peers.record import measured_with

JUDGED: Final = tuple(name for name, variant in VARIANTS.items() if variant.asks)
"""The variants that the page tells of, in its order."""

_TABLE: Final = "<!-- Below: made by `make matrix`. -->\n"
_HEAD: Final = (
    "| peer | judged | "
    + " | ".join(setting.name for setting in SETTINGS)
    + " | calls executed twice, in each |\n"
    + "|---" * (3 + len(SETTINGS))
    + "|\n"
)
_ROW: Final = re.compile(r"^\| \[(?P<name>[\w-]+)\]\(#[\w-]+\) \|.*\n", re.MULTILINE)
_SECTION: Final = re.compile(r"^## (?P<name>[\w-]+)\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was seen of one peer.

    Attributes:
        name: of the variant.
        day: on which it was judged.
        judged: in each of the settings.
    """

    name: str
    day: date
    judged: Sequence[Judged]


def rows(text: str) -> Mapping[str, str]:
    """The table's rows, by peer."""
    return {row["name"]: row[0] for row in _ROW.finditer(text)}


def matrix_page(text: str, verdicts: Iterable[Verdict]) -> str:
    """The page with what was judged; all else stays as it was.

    Args:
        text: of the page so far.
        verdicts: of some peers.
    """
    own, _, made = text.partition(_TABLE)
    kept = {**rows(made)}
    sections = {found["name"]: found[0].strip() for found in _SECTION.finditer(made)}
    for verdict in verdicts:
        kept[verdict.name] = _row(verdict)
        sections[verdict.name] = _section(verdict)
    table = "".join(kept[name] for name in JUDGED if name in kept)
    told = [sections[name] for name in JUDGED if name in sections]
    return "\n".join([f"{own}{_TABLE}", f"{_HEAD}{table}", *(f"{one}\n" for one in told)])


def _row(verdict: Verdict) -> str:
    name = verdict.name
    sums = [f"{one.report.passed} of {one.report.applicable}" for one in verdict.judged]
    twice = ", ".join(str(one.twice) for one in verdict.judged)
    cells = [f"[{name}](#{name})", f"{verdict.day:%Y-%m-%d}", *sums, twice]
    return f"| {' | '.join(cells)} |\n"


def _section(verdict: Verdict) -> str:
    variant = VARIANTS[verdict.name]
    made_of = ", ".join(line.replace("==", " ") for line in measured_with(variant.module))
    profile = (
        "found out from its stream"
        if variant.peer == "auto"
        else f"told by `--peer {variant.peer}`"
    )
    lines = [
        f"## {verdict.name}",
        "",
        f"{made_of}. It asks by {variant.asks}. What it needs is {profile}.",
    ]
    limits = LIMITS.get(verdict.name, ())
    if limits:
        lines += ["", "What remains its own:", "", *(f"- {_told(limit)}" for limit in limits)]
    for setting, one in zip(SETTINGS, verdict.judged, strict=True):
        failed = unkept(one.report)
        if failed:
            lines += ["", f"{setting.name.capitalize()}, these fail:", "", *_reasons(failed)]
        else:
            lines += ["", f"{setting.name.capitalize()}, none fails."]
    return "\n".join(lines)


def _told(limit: Limit) -> str:
    checks = ", ".join(f"`{check}`" for check in limit.behind)
    return " ".join(
        filter(
            None,
            (
                limit.says,
                checks and f"Behind the bridge, too, it fails {checks}.",
                limit.issue and f"[Open there]({limit.issue}).",
            ),
        )
    )


def _reasons(failed: Sequence[Result]) -> list[str]:
    """What was seen, with the checks that saw it."""
    seen = defaultdict(list)
    for result in failed:
        seen[_same(result.detail)].append(result.check.id)
    return [f"- {', '.join(f'`{id}`' for id in ids)}: {why}" for why, ids in seen.items()]


_VARYING: Final = re.compile(r"""\[['"].*\]|\b(?:m|call_|adk-)[0-9a-f]{8,}[\w-]*""")
_LONGEST: Final = 160


def _same(detail: str) -> str:
    """What was seen, without the lists and ids that differ from run to run."""
    text = _VARYING.sub("…", " ".join(detail.split())).replace("([])", "(nothing)")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
