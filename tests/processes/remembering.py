"""The approval target with approvals that may be remembered: once for `once…`, else for good."""

from __future__ import annotations

import argparse
from pathlib import Path

from agui_bridge import ApprovalRule, Bridge, Remember
from agui_bridge.approvals import Question
from agui_bridge.http.server import serve
from examples.approval_target import make_bridge

__all__ = ["main", "make_remembering"]


def make_remembering(store: str, effects: Path) -> Bridge:
    """The target's bridge, with a rule for its approvals."""
    bridge = make_bridge(store, effects)

    @bridge.approvals
    def rule(question: Question) -> ApprovalRule | None:
        to = str((question.args or {}).get("to", ""))
        most = 1 if to.startswith("once") else None
        return ApprovalRule("mail", remember=(Remember("scope", max_uses=most),))

    return bridge


def main() -> None:
    """Serve it until interrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--effects", type=Path)
    parser.add_argument("--lease")
    parser.add_argument("--store")
    options = parser.parse_args()
    bridge = make_remembering(options.store, options.effects)
    serve(bridge, "127.0.0.1", options.port, log_level="warning")
