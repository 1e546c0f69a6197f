"""An agent that deletes tables, and a bridge that says who may let it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from agui_bridge import ApprovalRule, BearerTokens, Bridge, FunctionRun, Principal
from agui_bridge.approvals import Question

TOKENS = {
    "ann-0123456789abcdef": Principal("team", "ann"),
    "bob-0123456789abcdef": Principal("team", "bob", roles=frozenset({"dba"})),
    "cy-0123456789abcdef": Principal("team", "cy", roles=frozenset({"dba"})),
}
"""Who is who. Take tokens of your own from the environment; these are no secrets."""

bridge = Bridge(authenticate=BearerTokens(TOKENS))


@bridge.approvals
def who_decides(question: Question) -> ApprovalRule | None:
    """Deletions are for two administrators, neither of whom asked for them."""
    if (question.tool or "").startswith("delete_"):
        return ApprovalRule("deletions", ("role:dba",), quorum=2, self_approval=False)
    return None


@bridge.agent
async def ops(run: FunctionRun) -> AsyncIterator[str]:
    """Deletes the table that it is told of, once it may."""
    approval = await run.approve(
        "delete_table",
        {"table": run.text},
        message=f"Delete {run.text}?",
        parameters={
            "type": "object",
            "properties": {"table": {"type": "string"}},
            "required": ["table"],
        },
    )
    if not approval:
        yield f"{run.text} stays."
        return
    yield await run.tool(approval, lambda table: f"{table} is deleted.")
