"""A check that failed or could not judge, line by line."""

from __future__ import annotations

from agui_bridge.conformance.check import Result

__all__ = ["told_lines"]


def told_lines(result: Result) -> list[str]:
    """What was expected and seen, the events or requests in question, and how to mend it."""
    check = result.check
    lines = [f"expected  {result.expected or check.sentence}", f"seen      {result.detail}"]
    lines += [f"          {line}" for line in result.evidence]
    if result.status == "fail":  # Else it is not known that there is anything to mend.
        lines += [f"source    {check.source}", f"fix       {check.fix}"]
    return lines
