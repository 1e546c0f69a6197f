"""The tables of docs/observability.md, whose text is the page's.

From `agui_bridge/otel/semantic_conventions.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from agui_bridge.otel.semantic_conventions import ATTRIBUTES, METRICS, SPANS


def observability_page(page: str) -> str:
    """The page with every table between its marks as the code has it.

    Raises:
        ValueError: the page lacks a table's marks.
    """
    tables = {"spans": _spans(), "metrics": _metrics(), "attributes": _attributes()}
    for name, table in tables.items():
        before, start, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        if not end:
            raise ValueError(f"docs/observability.md lacks the marks of its table {name!r}")
        page = before + start + table + end + after
    return page


def _spans() -> str:
    return _table(
        ("span", "parent", "attributes", "what it spans"),
        (
            (f"`{name}`", span.parent, _listed(span.attributes), span.about)
            for name, span in SPANS.items()
        ),
    )


def _metrics() -> str:
    return _table(
        ("metric", "kind", "unit", "attributes", "what it measures"),
        (
            (f"`{name}`", metric.kind, f"`{metric.unit}`", _listed(metric.attributes), metric.about)
            for name, metric in METRICS.items()
        ),
    )


def _attributes() -> str:
    return _table(
        ("attribute", "what it says"), ((f"`{name}`", about) for name, about in ATTRIBUTES.items())
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"
