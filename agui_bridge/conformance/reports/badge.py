"""A badge: how many checks passed, of those that apply."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape

from agui_bridge.conformance.runner import Report

__all__ = ["as_badge"]

_LABEL: Final = "AG-UI conformance"
_GREEN, _AMBER, _RED = "#2d7d3a", "#8a6100", "#b3261e"
_PER_LETTER: Final = 6.6
_PADDING: Final = 6.0


def as_badge(report: Report) -> str:
    """The badge of an endpoint as SVG, which needs nothing from elsewhere.

    Green is every check, amber is all that must pass, red is less.

    Args:
        report: of one endpoint.
    """
    said = f"{report.passed} of {report.applicable}"
    colour = _RED if report.failures() else _AMBER if report.failures(strict=True) else _GREEN
    left, right = (len(text) * _PER_LETTER + 2 * _PADDING for text in (_LABEL, said))
    title = escape(f"{report.name}: {said} checks of {_LABEL} passed")
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:.0f}" height="20" role="img">
  <title>{title}</title>
  <clipPath id="r"><rect width="{left + right:.0f}" height="20" rx="3"/></clipPath>
  <g clip-path="url(#r)">
    <rect width="{left:.0f}" height="20" fill="#444"/>
    <rect x="{left:.0f}" width="{right:.0f}" height="20" fill="{colour}"/>
  </g>
  <g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" text-anchor="middle">
    <text x="{left / 2:.0f}" y="14" textLength="{left - 2 * _PADDING:.0f}">{_LABEL}</text>
    <text x="{left + right / 2:.0f}" y="14" textLength="{right - 2 * _PADDING:.0f}">{said}</text>
  </g>
</svg>
"""
