"""The page on the architecture: a picture of who imports whom, and what each folder holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Final

from docs.generators.imports import arrows_between, modules_in

ROOT: Final = Path(__file__).parents[2]
ADAPTERS: Final = "adapters/"
"""Stands for the packages in that folder, which import alike."""

BOX: Final = (118, 30)
GAP: Final = (14, 44)
MARGIN: Final = 12

_PASSES: Final = "|"
"""How the name of a place begins where an arrow passes a row."""
_SWEEPS: Final = 12

_STYLE: Final = """
  text { font: 13px system-ui, sans-serif; fill: #24292f; text-anchor: middle; }
  .box { fill: #ddf4ff; stroke: #0969da; }
  .pure { fill: #dafbe1; stroke: #1a7f37; }
  .arrow { stroke: #8c959f; stroke-width: 1.2; fill: none; }
  .head { fill: #8c959f; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .box { fill: #0c2d6b; stroke: #4493f8; }
    .pure { fill: #033a16; stroke: #3fb950; }
    .arrow { stroke: #6e7681; }
    .head { fill: #6e7681; }
  }
"""

Graph = Mapping[str, frozenset[str]]
"""What each part imports."""


def picture_of_the_house() -> str:
    """The picture as SVG: each part of the package once, above all that it imports.

    An arrow that a longer way says already is left out.
    """
    graph = _without_shortcuts(_parts())
    rows, ways = _rows(graph)
    places = _places(rows)
    width = max(x for x, _ in places.values()) + BOX[0] / 2 + MARGIN
    height = len(rows) * (BOX[1] + GAP[1]) - GAP[1] + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img">',
        "<title>Which part of agui-bridge imports which</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
    ]
    lines += [_arrow([places[stop] for stop in way]) for way in ways]
    for part in sorted(graph):
        x, y = places[part]
        kind = "pure" if part in ("protocol", "errors.py", "policy.py") else "box"
        lines.append(
            f'<rect class="{kind}" x="{x - BOX[0] / 2:g}" y="{y:g}" width="{BOX[0]}" '
            f'height="{BOX[1]}" rx="6"/><text x="{x:g}" y="{y + 20:g}">{escape(part)}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def architecture_page(path: Path) -> str:
    """The page as it is, with the table of folders as it should be.

    Raises:
        ValueError: the page has no place for it, marked by two comments.
    """
    before, begin, rest = path.read_text(encoding="utf-8").partition("<!-- folders -->\n")
    _, end, after = rest.partition("<!-- /folders -->")
    if not begin or not end:
        raise ValueError(f"{path.name} lacks <!-- folders --> … <!-- /folders -->")
    rows = "".join(f"| `{folder}` | {what} | {names} |\n" for folder, what, names in _folders())
    head = "| folder | what it holds | its modules |\n|---|---|---|\n"
    return f"{before}{begin}{head}{rows}{end}{after}"


@cache
def _parts() -> Graph:
    """The children of the package and what they import of each other; its door is left out."""
    graph: dict[str, set[str]] = {}
    for module, target in arrows_between(ROOT):
        here, there = _part(module), _part(target)
        if here and there and here != there:
            graph.setdefault(here, set()).add(there)
            graph.setdefault(there, set())
    return {part: frozenset(targets) for part, targets in graph.items()}


def _part(module: str) -> str:
    top, _, below = module.partition(".")
    part = below.split(".")[0]
    if top != "agui_bridge":
        return ADAPTERS
    if part == "__main__":
        return ""
    return part if (ROOT / top / part).is_dir() else f"{part}.py" * bool(part)


def _rows(graph: Graph) -> tuple[list[list[str]], list[list[str]]]:
    """The parts in rows, each above all that it imports, and the ways of the arrows.

    Where an arrow passes a row it has a place there, like a part: so that it crosses no box.
    """

    @cache
    def height(part: str) -> int:
        return 1 + max((height(target) for target in graph[part]), default=-1)

    last = max(map(height, graph))
    rows: list[list[str]] = [[] for _ in range(last + 1)]
    for part in sorted(graph):
        rows[last - height(part)].append(part)
    ways = []
    for upper, lower in sorted((part, target) for part in graph for target in graph[part]):
        passed = range(last - height(upper) + 1, last - height(lower))
        stops = [f"{_PASSES}{upper} {lower} {number}" for number in passed]
        for number, stop in zip(passed, stops, strict=True):
            rows[number].append(stop)
        ways.append([upper, *stops, lower])
    near: dict[str, list[str]] = {}
    for way in ways:
        for one, other in pairwise(way):
            near.setdefault(one, []).append(other)
            near.setdefault(other, []).append(one)
    for _ in range(_SWEEPS):
        for row in (*rows, *reversed(rows)):
            x = {stop: place[0] for stop, place in _places(rows).items()}
            middle = {stop: fmean(x[other] for other in near[stop]) for stop in row}
            row.sort(key=middle.__getitem__)
    return rows, ways


def _places(rows: list[list[str]]) -> dict[str, tuple[float, float]]:
    """The middle of the upper edge of each box, or of an arrow's place."""
    widths = [[0 if stop.startswith(_PASSES) else BOX[0] for stop in row] for row in rows]
    whole = max(sum(row) + GAP[0] * (len(row) - 1) for row in widths)
    found: dict[str, tuple[float, float]] = {}
    for number, (row, wide) in enumerate(zip(rows, widths, strict=True)):
        x = MARGIN + (whole - sum(wide) - GAP[0] * (len(row) - 1)) / 2
        for stop, width in zip(row, wide, strict=True):
            found[stop] = (x + width / 2, MARGIN + number * (BOX[1] + GAP[1]))
            x += width + GAP[0]
    return found


def _without_shortcuts(graph: Graph) -> Graph:
    """Only the arrows that no longer way says."""

    @cache
    def reached(part: str) -> frozenset[str]:
        return frozenset(graph[part].union(*(reached(target) for target in graph[part])))

    return {
        part: frozenset(t for t in targets if not any(t in reached(o) for o in targets))
        for part, targets in graph.items()
    }


def _arrow(stops: Sequence[tuple[float, float]]) -> str:
    """A curve from the lower edge of the first stop to the upper edge of the last."""
    path = f"M{stops[0][0]:g} {stops[0][1] + BOX[1]:g}"
    for (x1, y1), (x2, y2) in pairwise(stops):
        bend, down = GAP[1] * 0.6, y1 + BOX[1]
        path += f" C{x1:g} {down + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2 - 1:g}"
        if (x2, y2) != stops[-1]:
            path += f" V{y2 + BOX[1]:g}"
    return f'<path class="arrow" d="{path}" marker-end="url(#head)"/>'


def _folders() -> Iterator[tuple[str, str, str]]:
    """Every folder of the package: its path, the first line of its docstring, its modules."""
    modules = modules_in(ROOT)
    for name, path in modules.items():
        if path.name != "__init__.py" or not name.startswith("agui_bridge."):
            continue
        what = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]
        inside = sorted(p.stem for p in path.parent.glob("*.py") if p.stem[0] != "_")
        folders = sorted(p.parent.name + "/" for p in path.parent.glob("*/__init__.py"))
        yield name.replace(".", "/"), what, ", ".join(f"`{one}`" for one in [*folders, *inside])
