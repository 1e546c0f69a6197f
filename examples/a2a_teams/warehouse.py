"""The warehouse's team: its agent is reached over A2A, and ships nothing that nobody approved.

python -m examples.a2a_teams.warehouse --port 8788
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

from pydantic import BaseModel, Field

from agui_bridge import Bridge, FunctionRun
from examples.guide import Say, serve_with_guide

shipped: Counter[str] = Counter()

bridge = Bridge("memory:", a2a=True)


class Order(BaseModel):
    """What somebody orders."""

    pieces: int = Field(ge=1, le=100)


def ship(goods: str, pieces: int) -> str:
    """Ship goods, here into a counter."""
    shipped[goods] += pieces
    return f"{pieces} {goods} are on their way."


@bridge.agent("warehouse", description="Ships goods, once somebody has approved it.")
async def warehouse(run: FunctionRun) -> AsyncIterator[str]:
    """Ask how many of the goods in the message are to be shipped, and whether."""
    order = await run.ask(f"How many pieces of {run.text!r}?", schema=Order)
    if order is None:
        yield "Then nothing is shipped."
        return
    args = {"goods": run.text, "pieces": order.pieces}
    approval = await run.approve("ship", args, fn=ship)
    if approval.approved:
        yield await run.tool(approval, ship)
    else:
        yield "Nothing was shipped."


def main() -> None:
    """Serve the warehouse, and print how to talk to it without A2A."""
    serve_with_guide(bridge, "warehouse", Say("It asks how many.", "hats"))


if __name__ == "__main__":
    main()
