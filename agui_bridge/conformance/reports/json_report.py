"""Everything about some endpoints, for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agui_bridge.conformance.check import Result
from agui_bridge.conformance.runner import Report

__all__ = ["as_json"]


def as_json(reports: Sequence[Report]) -> str:
    """Everything, as `{"endpoints": [...]}`.

    Each has its name, url, what was found out, how many passed, how many apply, and the results.
    """
    endpoints = [
        {
            "name": report.name,
            "url": report.url,
            "found": list(report.found),
            "passed": report.passed,
            "applicable": report.applicable,
            "results": [_plain(result) for result in report.results],
        }
        for report in reports
    ]
    return json.dumps({"endpoints": endpoints}, indent=2, ensure_ascii=False) + "\n"


def _plain(result: Result) -> dict[str, Any]:
    check = result.check
    return {
        "id": check.id,
        "status": result.status,
        "detail": result.detail,
        "seconds": round(result.seconds, 3),
        "sentence": check.sentence,
        "source": check.source,
        "severity": check.severity,
        "profile": check.profile,
        "fix": check.fix,
        "expected": result.expected,
        "evidence": list(result.evidence),
        "notes": list(result.notes),
    }
