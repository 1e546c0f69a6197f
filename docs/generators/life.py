"""The picture of a question's life, with what its class says of each status."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape
from typing import Any, Final

from agui_bridge.protocol.threads.records import InterruptStatus
from docs.generators.reference import module_of

S: Final = InterruptStatus
_WIDTH: Final = 800
_HEIGHT: Final = 400
_BOX: Final = (150, 74)
_PLACES: Final = {
    S.OPEN: (100, 180),
    S.ANSWERED: (320, 180),
    S.CLAIMED: (520, 180),
    S.RESOLVED: (715, 90),
    S.INDETERMINATE: (715, 270),
    S.CANCELLED: (320, 50),
    S.EXPIRED: (320, 310),
}
"""The middle of each status's box."""

_ARROWS: Final = (
    # The line, its words, and where these stand.
    ("M175 180 H241", "an answer", (210, 172)),
    ("M395 180 H441", "all are", (420, 172)),
    ("M560 143 V90 H636", "its run ends", (598, 82)),
    ("M560 217 V270 H636", "its run is lost", (598, 288)),
    ("M100 143 V50 H241", "a cancel, a stop", (172, 42)),
    ("M100 217 V310 H241", "its time is over", (172, 302)),
    ("M490 217 V372 H70 V221", "nothing reached the agent: asked again", (300, 366)),
)

_STYLE: Final = """
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .status { font-weight: 600; }
  .says { font-size: 11px; fill: #57606a; }
  .box { fill: #ddf4ff; stroke: #0969da; }
  .end { fill: #f6f8fa; stroke: #57606a; }
  .arrow { stroke: #0969da; stroke-width: 1.4; fill: none; marker-end: url(#head); }
  .word { font-style: italic; font-size: 12px; }
  #head path { fill: #0969da; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .says { fill: #9198a1; }
    .box { fill: #0c2d6b; stroke: #4493f8; }
    .end { fill: #21262d; stroke: #9198a1; }
    .arrow { stroke: #4493f8; }
    #head path { fill: #4493f8; }
  }
"""


def picture_of_a_life() -> str:
    """The picture as SVG.

    Raises:
        KeyError: a status has no place in the picture, or its class does not explain it.
    """
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        'aria-label="The statuses of a question, and what leads from one to the next">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 Z"/></marker></defs>',
    ]
    for line, word, (x, y) in _ARROWS:
        parts.append(f'<path class="arrow" d="{line}"/>')
        parts.append(f'<text class="word" x="{x}" y="{y}" text-anchor="middle">{word}</text>')
    said = _explained()
    for status in InterruptStatus:
        parts += _box(status, said[status.name])
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _explained() -> dict[str, str]:
    """What the class says of each of its members."""
    kind: Any = module_of("agui_bridge")["protocol.threads.records.InterruptStatus"]
    return {
        each.name: each.description
        for section in kind.docstring.parsed
        if section.kind.value == "attributes"
        for each in section.value
    }


def _box(status: InterruptStatus, says: str) -> Iterator[str]:
    (x, y), (width, height) = _PLACES[status], _BOX
    kind = "box" if status in (S.OPEN, S.ANSWERED, S.CLAIMED) else "end"
    left, top = x - width // 2, y - height // 2
    yield f'<rect class="{kind}" x="{left}" y="{top}" width="{width}" height="{height}" rx="6"/>'
    yield f'<text class="status" x="{x}" y="{top + 22}" text-anchor="middle">{status}</text>'
    for index, line in enumerate(textwrap.wrap(says, 25)):
        height_of = top + 40 + 14 * index
        yield (
            f'<text class="says" x="{x}" y="{height_of}" text-anchor="middle">{escape(line)}</text>'
        )
