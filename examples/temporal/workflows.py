"""A workflow that orders what a message names, once a person has approved it.

It imports nothing of the bridge but `agui_bridge_temporal.workflow`: the rest is no part of it.
"""

import os
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.common import RetryPolicy

from agui_bridge_temporal.workflow import ConversationWorkflow


@activity.defn
def order(item: str) -> str:
    """Order it: here this is a line of a file."""
    with open(os.environ.get("ORDERS", "orders.txt"), "a", encoding="utf-8") as file:
        file.write(f"{item}\n")
    return f"{item} is ordered"


@workflow.defn
class OrderWorkflow(ConversationWorkflow):
    @workflow.run
    async def run(self, start: dict[str, Any]) -> str:
        self.tell(f"I look for {start['message']}. ")
        size = await self.ask("Which size?", {"enum": ["S", "M", "L"]})
        if not size.answered:
            return "nothing was ordered"
        item = f"{start['message']} in {size.payload}"
        decision = await self.approve("order", {"item": item})
        if not decision.approved:
            return "nothing was ordered"
        done = await workflow.execute_activity(
            order,
            decision.args["item"],
            start_to_close_timeout=timedelta(seconds=10),
            # One approval, one order: by default Temporal tries again what failed or took long.
            retry_policy=RetryPolicy(maximum_attempts=1),
        )
        self.result(decision, done)
        return done
