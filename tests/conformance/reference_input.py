"""What the reference agent refuses before a run begins."""

from __future__ import annotations

from typing import Any

from tests.conformance.reference_thread import Process

__all__ = ["input_fault"]


def input_fault(body: Any, process: Process) -> str | None:
    """What is wrong with an input; None if nothing is."""
    if not all(isinstance(body.get(key), str) for key in ("threadId", "runId")):
        return "threadId and runId must be strings"
    if not isinstance(body.get("messages"), list):
        return "messages must be a list"
    entries = body.get("resume") or []
    if not all({"interruptId", "status"} <= set(entry) for entry in entries):
        return "resume entries need interruptId and status"
    known = all(entry["status"] in ("resolved", "cancelled") for entry in entries)
    return None if known or process.has("any-status") else "unknown status"
